"""How reports write: broken lines, colours, numbers, words in the plural."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import Any

WIDTH, NARROWEST = 110, 60
"""Columns, where no terminal has fewer, and the fewest that a terminal is taken to have."""

ROOM, FURTHER = 30, 10
"""Columns that words have at least beside their head; how far they are indented below it, else."""

COLOURS = {"holds": "green", "violated": "red", "undecided": "yellow", "known": "cyan"}
"""Verdict -> its colour."""

_COLOUR = re.compile("\x1b\\[[0-9]*m")


def width() -> int:
    """The columns of a line: as many as the terminal has, within bounds; without one always `WIDTH`."""
    if not sys.stdout.isatty():
        return WIDTH
    return max(NARROWEST, min(WIDTH, get_terminal_size((WIDTH, 0)).columns))


def coloured(text: str, verdict: str) -> str:
    """The text in the verdict's colour; click takes it out again where stdout is no terminal."""
    return text if os.environ.get("NO_COLOR") else _styled(text, fg=COLOURS[verdict])


def _styled(text: str, fg: str | None = None) -> str:
    import click  # workers of Spark, who have none, write nothing in colour

    return click.style(text, fg=fg, bold=True)


def shown_length(text: str) -> int:
    """How many columns of the terminal a text takes: colours take none."""
    return len(_COLOUR.sub("", text))


def emphasised(text: str) -> str:
    """A heading; click takes the emphasis out again where stdout is no terminal."""
    return text if os.environ.get("NO_COLOR") else _styled(text)


def wrapped(head: str, words: str, columns: int | None = None) -> str:
    """A head and words after it, broken into lines that are indented below the first word.

    columns: of a line, those that `width` says if they are not given.
    """
    columns = columns or width()
    indent = shown_length(head)
    room = max(ROOM, *map(len, words.split()), 0)
    if indent > FURTHER and indent + room > columns and indent + len(words) > columns:
        first = f"{head.rstrip()}\n" if head.strip() else ""
        return first + wrapped(" " * FURTHER, words, columns)
    text = textwrap.fill(
        words,
        width=columns,
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return head + text[indent:]


def reflowed(indent: str, text: str) -> Iterator[str]:
    """A text of paragraphs, line by line; those with a line that is too long are broken anew."""
    for paragraph in text.split("\n\n"):
        lines = [f"{indent}{line}".rstrip() for line in paragraph.splitlines()]
        if max(map(len, lines), default=0) > width():
            lines = wrapped(indent, " ".join(paragraph.split())).splitlines()
        yield from (*lines, "")


def counted(number: int, word: str, plural: str = "") -> str:
    """A number and its word, in the plural where it is not one; plural: if it does not end in s."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def number(value: Any) -> str:
    """A number with separators, a float with two digits after the point; anything else as it is."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


FEW = 4
"""So many names are told at most before it is said how many more there are."""


def named_first(names: Sequence[str], few: int = FEW) -> str:
    """Names, the first of them where they are many."""
    if len(names) <= few:
        return ", ".join(names)
    return f"{', '.join(names[: few - 1])} and {len(names) - few + 1} more"
