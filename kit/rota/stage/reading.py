"""A dialogue's text, read: what it is about, on which broker, and its steps, the first line of each an input.

What else a step says (answers, timers, the group) is what came of it; whoever plays the inputs compares it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rota.spec import PROFILES, BrokerConfig
from rota.stage.text import CONTINUED, MARGIN


class DialogueError(ValueError):
    """A text that is no dialogue. line: where, from 1; cause: what is wrong there, and the remedy."""

    def __init__(self, line: int, cause: str) -> None:
        super().__init__(f"line {line}: {cause}")
        self.line, self.cause = line, cause


@dataclass(frozen=True)
class Block:
    """A step. line: where it is; now: the time in milliseconds; what: the input; told: what came of it."""

    line: int
    now: int
    what: str
    told: tuple[str, ...]


@dataclass(frozen=True)
class Script:
    """A dialogue as it is written. marks: headings, each before which step."""

    title: str
    point: str
    source: str
    profile: str
    config: BrokerConfig
    clients: tuple[str, ...]
    blocks: tuple[Block, ...]
    marks: tuple[tuple[int, str], ...]

    @property
    def given(self) -> int:
        """How many steps are the way to what it is about."""
        begun = self.marks and self.marks[0][0] == 0 and self.marks[0][1].startswith("given: ")
        return self.marks[1][0] if begun and len(self.marks) > 1 else 0


_STEP = re.compile(r" *([\d,]+) ms  (.*)")
_MARK = re.compile(r"-- (.*) --")


def read(text: str) -> Script:
    """Read a dialogue. Errors: DialogueError."""
    lines = text.split("\n")
    starts = (at for at, line in enumerate(lines) if line.startswith("-- ") or _STEP.fullmatch(line))
    begin = next(starts, None)
    if begin is None:
        raise DialogueError(1, "no step is here; a step begins with its time, such as `0 ms  A → r1  ...`")
    head = _Head(lines[:begin])
    profile, config = head.broker()
    marks, blocks = _steps(lines, begin)
    return Script(
        title=lines[0],
        point=head.point(),
        source=head.fact("source"),
        profile=profile,
        config=config,
        clients=head.clients(),
        blocks=blocks,
        marks=marks,
    )


class _Head:
    """What stands above the steps."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def point(self) -> str:
        """The paragraph below the title."""
        paragraph: list[str] = []
        for line in self._lines[2:]:
            if not line or line.startswith(("source   ", "broker   ")):
                break
            paragraph.append(line)
        return " ".join(paragraph)

    def _at(self, name: str) -> int:
        for at, line in enumerate(self._lines):
            if line.startswith(f"{name:<9}"):
                return at
        raise DialogueError(1, f"the line `{name}` is missing above the steps")

    def fact(self, name: str) -> str:
        """What follows a name, in several lines if they are indented."""
        at = self._at(name)
        told = [self._lines[at][9:]]
        for line in self._lines[at + 1 :]:
            if not line.startswith(" " * 9):
                break
            told.append(line.strip())
        return " ".join(told)

    def broker(self) -> tuple[str, BrokerConfig]:
        """Profile and settings. Errors: DialogueError."""
        line = self._at("broker") + 1
        profile, *settings = self.fact("broker").split(", ")
        if profile not in PROFILES:
            raise DialogueError(line, f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
        if settings == ["settings as Kafka has them"]:
            return profile, BrokerConfig()
        known = {one.name for one in fields(BrokerConfig)}
        changed: dict[str, Any] = {}
        for one in settings:
            name, equals, value = one.partition(" = ")
            if not equals or name not in known or not value.replace(",", "").lstrip("-").isdigit():
                raise DialogueError(line, f"{one!r} is no setting; write NAME = NUMBER, NAME one of {known}")
            changed[name] = int(value.replace(",", ""))
        return profile, BrokerConfig(**changed)

    def clients(self) -> tuple[str, ...]:
        """The names of those who ask."""
        return tuple(self.fact("clients").partition(";")[0].split(", "))


def _steps(lines: Sequence[str], begin: int) -> tuple[tuple[tuple[int, str], ...], tuple[Block, ...]]:
    marks: list[tuple[int, str]] = []
    blocks: list[Block] = []
    told: list[str] = []
    for number, line in _unfolded(lines, begin):
        if found := _MARK.fullmatch(line):
            marks.append((len(blocks), found[1]))
        elif found := _STEP.fullmatch(line):
            told = []
            blocks.append(Block(number, int(found[1].replace(",", "")), found[2], ()))
        elif not line.startswith(MARGIN) or not blocks:
            raise DialogueError(number, "neither a step, which begins with its time, nor what came of one")
        else:
            told.append(line.strip())
            last = blocks.pop()
            blocks.append(Block(last.line, last.now, last.what, tuple(told)))
    return tuple(marks), tuple(blocks)


def _unfolded(lines: Sequence[str], begin: int) -> Iterator[tuple[int, str]]:
    """The lines that say something, with those that go on further down put behind them."""
    number, whole = 0, ""
    for at, line in enumerate(lines[begin:], begin + 1):
        if line.startswith(CONTINUED) and whole:
            whole += f" {line.removeprefix(CONTINUED)}"
            continue
        if whole:
            yield number, whole
        number, whole = at, line
    if whole:
        yield number, whole
