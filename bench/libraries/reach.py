"""Which of a Go package's tests speak to a broker: those that reach, by whatever function, what names it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_FUNCTION = re.compile(r"^func (?:\([^)]*\) )?(\w+)[^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)

_TEST = re.compile("Test(?!Main$)")


def functions(files: Iterable[Path]) -> dict[str, str]:
    """The text of each function of these files by its name; of equal names, as methods may have, all."""
    found: dict[str, str] = {}
    for file in sorted(files):
        for name, body in _FUNCTION.findall(file.read_text(encoding="utf-8")):
            found[name] = found.get(name, "") + body
    return found


def reaching(files: Iterable[Path], marker: str) -> list[str]:
    """The tests, in the order of the files, whose text or that of a function they name has the marker."""
    texts = functions(files)
    reach = {name for name, text in texts.items() if marker in text}
    while True:
        named = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(reach)))})\b") if reach else None
        more = {name for name, text in texts.items() if name not in reach and named and named.search(text)}
        if not more:
            return [
                name for name in texts if name.startswith("Test") and name in reach and name != "TestMain"
            ]
        reach |= more
