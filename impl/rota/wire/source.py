"""Source text in the making: what the two program writers share."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any
from uuid import UUID

from rota.wire.runtime import NAMESPACE
from rota.wire.schema import FIXED, NONE, Field

ELEMENTS_AT_ONCE = 8
"""Elements of an array that sliced programs read or write before they yield again."""


class Source:
    """Lines of a function, its globals, and fresh names for its variables."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {**NAMESPACE, "UUID": UUID}
        self.names |= {"pack": struct.pack, "unpack_from": struct.unpack_from}
        self._indent = 0
        self._fresh = 0

    def add(self, *lines: str) -> None:
        self.lines += [" " * self._indent + line for line in lines]

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        self.add(opening)
        self._indent += 1
        yield
        self._indent -= 1

    def fresh(self, stem: str) -> str:
        """A variable that nothing else uses."""
        self._fresh += 1
        return f"{stem}{self._fresh}"

    def constant(self, stem: str, value: Any) -> str:
        """The name of a global with this value; packers of one format share one."""
        self.names.setdefault(stem, value)
        return stem

    def compile(self, name: str, label: str) -> Any:
        """The function `name` of these lines; `label` stands for the file name in a traceback."""
        exec(compile("\n".join(self.lines), f"<{label}>", "exec"), self.names)
        return self.names[name]


def present(fields: Sequence[Field], version: int) -> list[Field]:
    """The ordinary (untagged) fields of that version, in order."""
    return [field for field in fields if version in field.versions and field.tag is None]


def tagged(fields: Sequence[Field], version: int) -> list[Field]:
    """The fields of that version that travel as tagged fields."""
    return [field for field in fields if version in field.versions and field.tag is not None]


def runs(fields: Sequence[Field]) -> Iterator[tuple[str, list[Field]]]:
    """Neighbours of fixed size with their joint format, for one pack or unpack; others alone with ""."""
    for fixed, group in groupby(fields, lambda field: not field.array and field.type in FIXED):
        together = list(group)
        if fixed:
            yield "".join(FIXED[field.type] for field in together), together
        else:
            yield from (("", [field]) for field in together)


def absent(field: Field, version: int) -> Any:
    """What a body without the field means, as a decoded body has it."""
    if field.array and field.default == ():
        return []
    if field.type == "struct" and not field.array and field.default is not None:
        members = (member for member in field.fields if version in member.versions)
        return {member.name: absent(member, version) for member in members}
    return field.default


def element_of(field: Field) -> Field:
    """One element of an array of plain values, as a field of its own; Kafka has no null elements."""
    return replace(field, array=False, nullable=NONE, tag=None)
