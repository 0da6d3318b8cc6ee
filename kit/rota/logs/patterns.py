"""Sentences that programs print, with names where something is told, and tables of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rota.history import Kind

_PLACE = re.compile(r"\{([a-z_]+)\}")

_NUMBERS = """
bytes epoch generation members milliseconds number offsets partition rebalance_ms records session_ms static
"""

WHOLE_NUMBERS = frozenset(_NUMBERS.split())
"""Names that are read as integers."""

WORDS = frozenset({"state", "api"})
"""Names that are one word."""


@dataclass(frozen=True)
class Pattern:
    """A sentence of a program's log.

    text: the program's words, `{name}` where something stands; a name that begins with _ is not told. kind:
    of its event, None where it tells nothing that an account would need. by: the class that prints it.
    versions: of Kafka (or what else it is of) that do. also: what the sentence means without saying it.
    """

    text: str
    kind: Kind | None
    by: str
    versions: str
    also: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        """What it tells."""
        return frozenset(name for name in _PLACE.findall(self.text) if not name.startswith("_"))

    @cached_property
    def prefix(self) -> str:
        """The words before the first place."""
        found = _PLACE.search(self.text)
        return self.text if found is None else self.text[: found.start()]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        parts, end = [], 0
        for found in _PLACE.finditer(self.text):
            parts += [re.escape(self.text[end : found.start()]), _place(found[1])]
            end = found.end()
        return re.compile("".join((*parts, re.escape(self.text[end:]))), re.DOTALL)

    def values(self, sentence: str) -> dict[str, Any] | None:
        """What a sentence tells, None if it is another."""
        if not sentence.startswith(self.prefix):
            return None
        found = self._regex.fullmatch(sentence)
        if found is None:
            return None
        return {
            name: int(value) if name in WHOLE_NUMBERS else value for name, value in found.groupdict().items()
        }


def _place(name: str) -> str:
    if name.startswith("_"):
        return r".*?"
    if name in WHOLE_NUMBERS:
        return rf"(?P<{name}>[+-]?\d+)"
    return rf"(?P<{name}>\w+)" if name in WORDS else rf"(?P<{name}>.*?)"


Sentences = Mapping[str, Kind | tuple[Kind, Mapping[str, Any]] | None]
"""Text → the kind of its event, None for none; or the kind and what else the sentence means."""

_OF_GROUP = re.compile(r"\[(?P<mark>GroupId|Group)[ =].*?\] (?P<word>\S+)", re.DOTALL)


def _word(sentence: str) -> str:
    """The first word of a sentence; behind the group, where Kafka puts that before it in brackets."""
    if sentence.startswith("[") and (found := _OF_GROUP.match(sentence)) is not None:
        return f"{found['mark']} {found['word']}"
    return sentence.partition(" ")[0]


class Table:
    """Patterns by the first word of their sentence."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self._by_word: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            word = _word(pattern.text)
            if "{" in word:
                raise ValueError(f"the first word of a sentence is to stand fast: {pattern.text}")
            self._by_word.setdefault(word, []).append(pattern)

    def find(self, sentence: str) -> tuple[Pattern, dict[str, Any]] | None:
        """The first pattern that a sentence is of, and what it tells; None where it is unknown."""
        for pattern in self._by_word.get(_word(sentence), ()):
            values = pattern.values(sentence)
            if values is not None:
                return pattern, values
        return None


def sentences(by: str, versions: str, kinds: Sentences) -> Iterator[Pattern]:
    """Patterns of one class."""
    for text, kind in kinds.items():
        meant, also = kind if isinstance(kind, tuple) else (kind, {})
        yield Pattern(text, meant, by, versions, also)
