"""The lists in an answer. What is missing in one is the target's doing, and is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.conformance.dialogues.failures import Deviation


class Entries(list[Any]):
    """A list in an answer; reading an entry that it does not have is a `Deviation`."""

    def __init__(self, name: str, entries: list[Any]) -> None:
        super().__init__(entries)
        self._name = name

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError:
            wanted = f"{self._name} with an entry of number {index}"
            raise Deviation(wanted, f"{self._name} of {_entries(len(self))}") from None

    def only(self) -> Any:
        """The one entry that there is; a `Deviation` where there are none or several."""
        if len(self) != 1:
            raise Deviation(f"{self._name} of one entry", f"{self._name} of {_entries(len(self))}")
        return self[0]


def checked(body: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The body of an answer with its lists, and those within, as `Entries`. where: which answer it is."""
    return {name: _checked(value, f"{where}: {name}") for name, value in body.items()}


def _checked(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return Entries(name, [_checked(entry, f"{name}[{at}]") for at, entry in enumerate(value)])
    if isinstance(value, dict):
        return {field: _checked(inner, f"{name}.{field}") for field, inner in value.items()}
    return value


def _entries(number: int) -> str:
    return {0: "no entries", 1: "one entry"}.get(number, f"{number} entries")
