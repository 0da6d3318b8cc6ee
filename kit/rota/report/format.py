"""How reports write: broken lines, colours, numbers, words in the plural."""

from __future__ import annotations

import os
import textwrap
from typing import Any

import click

WIDTH = 110
"""Columns."""

COLOURS = {"holds": "green", "violated": "red", "undecided": "yellow", "known": "cyan"}
"""Verdict -> its colour."""


def coloured(text: str, verdict: str) -> str:
    """The text in the verdict's colour; click takes it out again where stdout is no terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=COLOURS[verdict], bold=True)


def wrapped(head: str, words: str) -> str:
    """A head and words after it, broken into lines that are indented below the first word."""
    return textwrap.fill(
        words,
        width=WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def counted(number: int, word: str, plural: str = "") -> str:
    """A number and its word, in the plural where it is not one; plural: if it does not end in s."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def number(value: Any) -> str:
    """A number with separators, a float with two digits after the point; anything else as it is."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
