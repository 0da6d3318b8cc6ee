"""What a system is made of: the text of every module that building it needs, found by reading imports.

What happens to be loaded plays no part: a module counts because another one that counts imports it, wherever
in it, or has its name in a text. Of a package all files count, those too that nobody is seen to import
(tables of functions by name, data beside the code); of a module that is in no package its whole folder.
Distributions in site-packages count by the versions of all that is installed there; the standard library by
Python's.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rota.kernel import Liveness, Property, System

Locate = Callable[[str], Path | None]
"""Where a package of rota or a module of the top level is: its file, or its folder if it is a package."""

MOST_FILES, MOST_BYTES = 5_000, 64 << 20
"""More than that is no package of a model but a folder in which one happens to lie."""

OURS = "rota"
"""The namespace whose packages stand for themselves, wherever they are installed."""

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_IMPORT = re.compile(
    r"(?:^|[:;])[ \t]*(?:import[ \t]+(?P<plain>(?:\\\n|[^\n#;])+)"
    r"|from[ \t]+(?P<whence>[\w.]+)[ \t]+import[ \t]*(?P<what>\([^)]*\)|(?:\\\n|[^\n#;])*))",
    re.MULTILINE,
)
_NAMED = re.compile(r"""["']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?::[\w.]+)?["']""")


def _process_began() -> float:
    """When this process did, in seconds since the epoch; now, where the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.time()


BEGAN = _process_began()
"""What was changed later may have been loaded before."""


class Unknowable(ValueError):
    """What a system is made of cannot be told; the message says why."""


@dataclass(frozen=True)
class Sources:
    """modules: those that count, in order of name; code: a hash of all that counts; newest: when the latest
    change to any of it was made, in seconds since the epoch."""

    modules: tuple[str, ...]
    code: str
    newest: float

    @property
    def settled(self) -> bool:
        """Whether what is loaded is what was read: nothing was changed since this process began."""
        return self.newest < BEGAN


def unit_of(module: str) -> str:
    """What a module is part of: a package of rota, or what is at the top level."""
    first, _, rest = module.partition(".")
    return f"{OURS}.{rest.partition('.')[0]}" if first == OURS and rest else first


@cache
def installed(unit: str) -> Path | None:
    """`Locate` for what can be imported here. Nothing of it is."""
    if unit == OURS or unit.partition(".")[0] in sys.stdlib_module_names:
        return None
    try:
        spec = find_spec(unit)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.has_location and spec.origin else None


def origins(system: System) -> set[str]:
    """The modules that a system's factory, machines and properties are of; mostly the first leads to all."""
    parts: list[Any] = [type(machine) for machine in system.machines]
    claims: tuple[Property | Liveness, ...] = (*system.properties, *system.liveness)
    for prop in claims:
        parts += [prop.test, *filter(None, [prop.given]), *(view.of for view in prop.views)]
    found = {getattr(_itself(part), "__module__", None) or "" for part in parts}
    if system.ref:
        found.add(system.ref.factory.partition(":")[0])
    return {name for name in found if name.partition(".")[0] not in sys.stdlib_module_names}


def _itself(part: Any) -> Any:
    """What is called, where some of its arguments were given in advance."""
    while isinstance(part, partial):
        part = part.func
    return part


def sources(roots: Iterable[str], locate: Locate = installed) -> Sources:
    """What modules are made of, with all that they need. Errors: Unknowable."""
    wanted, finder = frozenset(roots), _Finder(locate)
    for module in sorted(wanted):
        if finder.file_of(module) is None:
            raise Unknowable(f"module {module} is in no file")
    followed = _followed(wanted, finder)
    named = {unit_of(module) for module in wanted}
    hashed, newest = blake2b(digest_size=16), 0.0
    for unit in sorted({unit_of(module) for module in followed}):
        place = locate(unit)
        assert place is not None
        # what somebody asks for by name counts by its text, wherever it lies
        version = versions(place) if _is_foreign(unit, place) and unit not in named else None
        code, changed = contents(place) if version is None else (version, 0.0)
        hashed.update(f"{unit} {code}\n".encode())
        newest = max(newest, changed)
    return Sources(tuple(sorted(followed)), hashed.hexdigest(), newest)


class _Finder:
    """Finds the files of modules; looks once into each folder, and once for each name."""

    def __init__(self, locate: Locate) -> None:
        self._place = cache(locate)
        self._archive = cache(_archive)
        self._names = cache(_names)
        self.module = cache(self._module)

    def file_of(self, module: str) -> Path | None:
        """The file of a module, None where there is no such module."""
        unit = unit_of(module)
        place = self._place(unit)
        if place is None:
            return None
        rest = module.removeprefix(unit).strip(".").replace(".", os.sep)
        path = os.path.join(place, rest) if rest else str(place)
        if self._archive(place) is not None:
            return Path(f"{path}.py" if rest else os.path.join(path, "__init__.py"))
        candidates = [os.path.join(path, "__init__.py"), path]
        if rest:  # mostly what is named is in a module and no file
            folder, _, name = path.rpartition(os.sep)
            there = self._names(folder)
            candidates = [f"{path}.py"] * (f"{name}.py" in there) + candidates * (name in there)
        return next((Path(one) for one in candidates if os.path.isfile(one)), None)

    def _module(self, name: str) -> tuple[str, Path | None]:
        """The module that a name is of, or that it is in, with its file; None where there is none."""
        if not name or name == OURS:
            return name, None
        path = self.file_of(name)
        return (name, path) if path is not None else self.module(name.rpartition(".")[0])


def _names(folder: str) -> frozenset[str]:
    """What a folder holds; nothing, where it is none."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _followed(roots: frozenset[str], finder: _Finder) -> dict[str, Path]:
    """The modules that roots need, each with its file; of what is installed only that it is needed."""
    found: dict[str, Path] = {}
    waiting = set(roots)
    while waiting:
        name = waiting.pop()
        module, path = finder.module(name)
        if path is None or module in found:
            continue
        found[module] = path
        waiting |= set(_packages(module)) - found.keys()
        if module not in roots and _is_foreign(unit_of(module), path):
            continue
        needed = _needed(module, path)
        # what rota itself needs from elsewhere is for its engines
        ours = module.startswith(f"{OURS}.")
        waiting |= {one for one in needed if one.startswith(f"{OURS}.")} if ours else needed
    return found


def _packages(module: str) -> Iterator[str]:
    """Those that a module is in; they are loaded before it."""
    name = module.rpartition(".")[0]
    while name and name != OURS:
        yield name
        name = name.rpartition(".")[0]


def _needed(module: str, path: Path) -> frozenset[str]:
    """Names of modules that a module speaks of, and of what is in them."""
    try:
        status = path.stat()
    except OSError:
        return frozenset()
    return _spoken_of(module, path, status.st_mtime_ns, status.st_size)


@cache
def _spoken_of(module: str, path: Path, *_version: int) -> frozenset[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return frozenset(_names_in(text, package))


def _names_in(text: str, package: str) -> Iterator[str]:
    for found in _IMPORT.finditer(text):
        if found["plain"]:
            names = found["plain"].replace("\\\n", " ").split(",")
            yield from (name.split()[0] for name in names if name.split())
        else:
            whence = _absolute(found["whence"], package)
            yield whence
            yield from (f"{whence}.{name}" for name in re.findall(r"\w+", found["what"]))
    yield from (found[1] for found in _NAMED.finditer(text))


def _absolute(name: str, package: str) -> str:
    """The full name of what may be named from within a package."""
    rest = name.lstrip(".")
    up = len(name) - len(rest)
    if not up:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - up + 1], *([rest] if rest else [])])


def _is_foreign(unit: str, place: Path) -> bool:
    return not unit.startswith(f"{OURS}.") and not _INSTALLED.isdisjoint(place.parts)


@cache
def versions(place: Path) -> str:
    """The names of all distributions that are installed where something is."""
    folder = next(above for above in place.parents if above.name in _INSTALLED)
    return " ".join(sorted(path.name for path in folder.glob("*.dist-info")))


def _archive(place: Path) -> Path | None:
    """The file that a place is within, None where it is a place on disk."""
    if place.exists():
        return None
    return next((above for above in place.parents if above.is_file()), None)


@cache
def contents(place: Path) -> tuple[str, float]:
    """A hash of all files of a package, or of the modules beside a module, and when one was last changed."""
    try:
        paths = sorted(_files(_archive(place) or place), key=lambda path: path.split(os.sep))
        base = f"{place if place.is_dir() else place.parent}{os.sep}"
        hashed, size, newest = blake2b(digest_size=16), 0, 0.0
        for path in paths:
            status = os.stat(path)
            size, newest = size + status.st_size, max(newest, status.st_mtime)
            if size > MOST_BYTES or len(paths) > MOST_FILES:
                raise Unknowable(f"{base.rstrip(os.sep)} holds too much to be read each time")
            name = path.removeprefix(base) if path.startswith(base) else os.path.basename(path)
            hashed.update(f"{name} {status.st_size}\n".encode() + Path(path).read_bytes())
    except OSError as error:
        raise Unknowable(f"{place} cannot be read ({error})") from error
    return hashed.hexdigest(), newest


def _files(place: Path) -> Iterator[str]:
    if place.is_dir():
        for folder, below, names in os.walk(place):
            below[:] = [one for one in below if one != "__pycache__"]
            yield from (path for name in names if os.path.isfile(path := os.path.join(folder, name)))
    elif place.suffix == ".py":
        yield from map(str, place.parent.glob("*.py"))
    else:
        yield str(place)
