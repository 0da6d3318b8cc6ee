"""A page for every package that others import: what it exports, with signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any

from rota.report.reference.markdown import table
from rota.report.site.writing import file_of, plain, prose, toctree

PACKAGES = (
    *("rota.kernel", "rota.spec", "rota.environment", "rota.invariants", "rota.designs", "rota.mutants"),
    *("rota.explore", "rota.explore.reference", "rota.explore.fast", "rota.explore.liveness"),
    *("rota.trace", "rota.scopes", "rota.server", "rota.coordinator", "rota.wire"),
    *("rota.conformance", "rota.conformance.targets", "rota.proofs", "rota.history", "rota.reading"),
)
"""What is meant to be imported from outside, from the inside out."""


def pages() -> Iterator[tuple[str, str]]:
    """(path below the reference, text) of each package, and their index."""
    modules = {name: import_module(name) for name in PACKAGES}
    for name, module in modules.items():
        yield f"api/{name}.md", "\n".join(_package(name, module))
    yield "api/index.md", "\n".join(_index(modules))


def _index(modules: dict[str, ModuleType]) -> Iterator[str]:
    yield from ("# Python API", "", "What is exported, package by package; all of it is typed.", "")
    yield from table(
        ("package", "is"), ((f"[{name}]({name}.md)", plain(_title(one))) for name, one in modules.items())
    )
    yield ""
    yield from toctree(modules, hidden="")


def _title(what: object) -> str:
    first, _, _ = (inspect.getdoc(what) or "").partition("\n\n")
    return " ".join(first.split())


def _package(name: str, module: ModuleType) -> Iterator[str]:
    yield from (f"# {name}", "", f"`{file_of(module)}`", "")
    yield from prose(inspect.getdoc(module) or "")
    for exported in exported_by(module):
        yield from _entry(exported, getattr(module, exported))


def exported_by(module: ModuleType) -> list[str]:
    """The names in `__all__`; without one what the module itself defines and does not hide."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return list(getattr(module, "__all__", own))


def _entry(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield from (f"## {name}", "", plain(_title(value)), "")
    elif inspect.isclass(value):
        yield from _class(name, value)
    elif callable(value):
        yield from _function("##", name, value)
    else:
        kind = f"a {type(value).__name__}. {getattr(value, 'meaning', '')}".rstrip(". ")
        shown = plain(str(value) if isinstance(value, str | int) else kind)
        yield from (f"## {name}", "", f"A constant: {shown}.", "")


def _class(name: str, value: type) -> Iterator[str]:
    yield from (f"## {name}", "", "```python", f"class {name}{_signature(value)}", "```", "")
    yield from prose(_own_doc(value))
    if issubclass(value, Enum):
        yield from table(("member", "value"), ((f"`{one.name}`", plain(str(one.value))) for one in value))
        yield ""
    for member, what in vars(value).items():
        if member.startswith("_"):
            continue
        if isinstance(what, property):
            yield from (f"`{member}`", f": {plain(_title(what)) or 'a value'}", "")
        elif inspect.isfunction(what) or isinstance(what, classmethod | staticmethod):
            yield from _function("###", f"{name}.{member}", getattr(value, member))


def _function(heading: str, name: str, value: Any) -> Iterator[str]:
    yield from (f"{heading} {name}", "", "```python", f"{name}{_signature(value)}", "```", "")
    yield from prose(inspect.getdoc(value) or "")


def _own_doc(value: type) -> str:
    """The docstring of a class, not that of its base, nor the signature that `dataclass` puts there."""
    text = inspect.cleandoc(value.__dict__.get("__doc__") or "")
    return "" if text.startswith(f"{value.__name__}(") else text


def _signature(value: Any) -> str:
    """As it would be written, without the addresses of default values."""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    return re.sub(
        r"<(?:function |class )?[\w.]*?(\w+)(?: at 0x[0-9a-f]+)?>|'(\w[\w.\[\], |]*)'", r"\1\2", text
    )
