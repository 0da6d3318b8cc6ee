"""Tables kept between runs: a file for each system, under a name that says all that the tables depend on."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rota.explore.cache import files, folder, snapshot
from rota.explore.cache.sources import Sources, Unknowable, origins, sources
from rota.explore.tables.system import Tables
from rota.kernel import System
from rota.kernel.decoding import DecodeError, Decoder

FORMAT = 1
"""Of what is in a file. What learns the tables counts by its text like the system itself."""


class NotKept(ValueError):
    """Tables of a system are not kept, or those that are kept are not used; the message says why."""


@dataclass(frozen=True)
class Identity:
    """What makes a system this one. parts: by name, what it depends on; modules: of its sources."""

    parts: Mapping[str, str]
    modules: tuple[str, ...]

    @property
    def key(self) -> str:
        """All of it as one name."""
        text = "\n".join(f"{name}: {part}" for name, part in self.parts.items())
        return blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def _sources(roots: frozenset[str]) -> Sources:
    """Once in a process: systems of one scope are made of the same."""
    return sources(roots)


def identity_of(system: System) -> Identity:
    """What a system is: how it is built, the text of all that builds it, and by which Python.

    Errors: NotKept where the text cannot be read, or is another one than what was loaded.
    """
    try:
        found = _sources(frozenset(named(system)))
        if not roots(system) <= set(found.modules):
            found = _sources(frozenset(roots(system)))
    except Unknowable as error:
        raise NotKept(str(error)) from error
    if not found.settled:
        raise NotKept(f"the sources of {system.name} were changed since this process began")
    return Identity(parts_of(system, found), found.modules)


def parts_of(system: System, found: Sources) -> dict[str, str]:
    """What a system depends on, by name, for a person to be told which differs."""
    ref = system.ref
    settings = repr(ref and (ref.factory, ref.settings))
    if " at 0x" in settings:
        raise NotKept(f"the settings of {system.name} cannot be written down")
    return {
        "format": str(FORMAT),
        "python": f"{platform.python_implementation()} {sys.version} {sys.flags.optimize}",
        "system": system.name,
        "settings": settings,
        "machines": repr([(one.role, one.name) for one in system.machines]),
        "properties": repr([(one.kind.value, one.name) for one in system.properties]),
        "sources": found.code,
    }


def named(system: System) -> set[str]:
    """The module that a system's factory is in, and those that learn its tables."""
    return {snapshot.__name__} | ({system.ref.factory.partition(":")[0]} if system.ref else set())


def roots(system: System) -> set[str]:
    """`named`, and the modules that machines and properties are of; most often the factory leads to them."""
    return origins(system) | named(system)


class Store:
    """The file of one system's tables.

    Parameters: place, the folder; system; symmetry, whether one state of each orbit is visited: such a run
    meets less, and says how often it judged. Errors: NotKept where a system has none.
    """

    def __init__(self, place: Path, system: System, symmetry: bool = False) -> None:
        if system.ref is None:
            raise NotKept(f"nobody could tell how {system.name} is built")
        self._system, self._identity = system, identity_of(system)
        of_orbits = "-orbits" if symmetry else ""
        self._path = place / f"{self._identity.key}{of_orbits}{folder.SUFFIX}"
        self._kinds: set[type] = set()
        """What values are made of that were read from the file."""

    def load(self) -> Tables | None:
        """The tables that are kept, None if there are none. Errors: NotKept for a file that is of no use."""
        try:
            raw = self._path.read_bytes()
        except OSError:
            return None
        try:
            about, parts = files.unpacked(raw)
            kinds = self._named(about["kinds"])
            tables = Tables(self._system)
            snapshot.recalled(tables, parts, Decoder(kinds))
        except Exception as error:  # what is in a file may break in any way
            raise NotKept(f"{self._path} is of no use ({error})") from error
        self._kinds = kinds
        with suppress(OSError):  # it only tells that the file was used
            os.utime(self._path)
        return tables

    def save(self, tables: Tables) -> None:
        """Keep tables. Errors: NotKept."""
        try:
            kinds = self._kinds | snapshot.kinds(tables)
            named = sorted([kind.__module__, kind.__qualname__] for kind in kinds)
            if self._named(named) != kinds:
                raise DecodeError("two types have one name")
            content = files.packed({"kinds": named}, snapshot.taken(tables))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            folder.write(self._path, content)
            folder.make_room(self._path.parent)
        except DecodeError as error:
            raise NotKept(f"the tables of {self._system.name} cannot be kept: {error}") from error
        except OSError as error:
            raise NotKept(f"{self._path.parent} cannot be written ({error})") from error

    def forget(self) -> None:
        """Delete the file."""
        with suppress(OSError):  # then it is wrong next time too
            self._path.unlink(missing_ok=True)
        self._kinds = set()

    def _named(self, names: Iterable[list[str]]) -> set[type]:
        return {kind_named(module, name, self._identity.modules) for module, name in names}


def kind_named(module: str, name: str, modules: Iterable[str]) -> type:
    """A dataclass or enum of one of some modules, which somebody else has loaded.

    Errors: DecodeError for whatever is none.
    """
    found: Any = sys.modules.get(module) if module in modules else None
    for part in name.split("."):
        found = vars(found).get(part) if found is not None else None
    is_one = isinstance(found, type) and (issubclass(found, Enum) or hasattr(found, "__dataclass_fields__"))
    if not is_one or (found.__module__, found.__qualname__) != (module, name):
        raise DecodeError(f"{module}.{name} is no type of values of this system")
    return found  # type: ignore[no-any-return]  # vars() does not tell what is in a module
