"""Fenced blocks of a page, and what their first line says about the commands in them.

    ```console quick exit=1        commands after `$ `, below each what it prints
    ```sh long                     a command a line, after ` # ` what it does; `exit 1` there is its code
    ```sh elsewhere (a cluster)    not run by any test; why stands in parentheses
    ```python quick                a script; ```text output: what it prints
    ```python file=two_phase.py    a piece of a file beside the page

On a site that hosts code the first word chooses the colours and the rest is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

LEFT_OUT = "…"
"""Stands for lines, or for the rest of a line, that a page does not show."""


class Mark(Enum):
    """Where the commands of a block are run."""

    QUICK = "quick"
    LONG = "long"
    ELSEWHERE = "elsewhere"


class BlockError(ValueError):
    """A block that cannot be read; the message says where and how to write it."""


@dataclass(frozen=True)
class Command:
    """A command, the lines that the page shows of what it prints (none: it shows nothing), its exit code."""

    text: str
    shown: tuple[str, ...] = ()
    exit_code: int = 0


@dataclass(frozen=True)
class Block:
    """A fenced block. line: of its fence, from 1; why: of `elsewhere`; file: it is a piece of; exit_code: of
    what it runs; output: it is what the script before it prints.
    """

    line: int
    language: str
    body: tuple[str, ...]
    mark: Mark | None = None
    why: str = ""
    file: str = ""
    exit_code: int = 0
    output: bool = False

    @property
    def commands(self) -> tuple[Command, ...]:
        """What a reader would type. Errors: BlockError for output that no command is above."""
        if self.language == "console":
            return tuple(_session(self))
        if self.language == "sh":
            return tuple(_typed(self.body))
        return ()


_FENCE = re.compile(r"^( *)(`{3,})(.*)$")
_INFO = re.compile(
    r"(?P<language>[\w{}.-]+)"
    r"(?: (?P<mark>quick|long|elsewhere))?"
    r"(?: \((?P<why>[^()]+)\))?"
    r"(?: exit=(?P<exit>\d+))?"
    r"(?: file=(?P<file>[\w./-]+))?"
    r"(?: (?P<output>output))?"
)
_DATA = ("text", "yaml", "toml", "json", "mermaid")
"""Languages of blocks in which nothing is typed, whatever it looks like."""
_LOOKS_TYPED = re.compile(r"^\s*(?:\$ |(?:rota|make|pip|python3?|spark-submit|\.venv/bin/\w+) )")


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page. Errors: BlockError for a first line that says what there is not."""
    for line, info, body in _fenced(page.splitlines()):
        yield read_block(line, info, body)


def read_block(line: int, info: str, body: tuple[str, ...]) -> Block:
    """A block from its first line and its body. Errors: BlockError."""
    if not info:
        return Block(line, "", body)
    found = _INFO.fullmatch(info)
    if found is None:
        raise BlockError(f"line {line}: ```{info} is not LANGUAGE [MARK] [(WHY)] [exit=N] [file=NAME]")
    mark = Mark(found["mark"]) if found["mark"] else None
    if (mark is Mark.ELSEWHERE) != bool(found["why"]):
        raise BlockError(f"line {line}: `elsewhere`, and nothing else, says why in parentheses")
    return Block(
        line,
        found["language"],
        body,
        mark,
        found["why"] or "",
        found["file"] or "",
        int(found["exit"] or 0),
        bool(found["output"]),
    )


def unmarked(page: str) -> Iterator[str]:
    """Blocks with commands that no mark says of where they are run, each with the remedy."""
    fenced: set[int] = set()
    for line, info, body in _fenced(page.splitlines()):
        fenced |= set(range(line, line + len(body) + 2))
        block = read_block(line, info, body)
        typed = any(_LOOKS_TYPED.match(one) for one in body) or block.language in ("console", "sh", "python")
        if typed and block.mark is None and not block.file and block.language not in _DATA:
            yield f"line {line}: say ```{block.language or 'sh'} quick, long or elsewhere (WHY)"
    for number, line_text in enumerate(page.splitlines(), 1):
        if number not in fenced and line_text.startswith("    ") and _LOOKS_TYPED.match(line_text):
            yield f"line {number}: an indented command; fence it, with a mark"


def _fenced(lines: list[str]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """(line of the fence, what stands behind it, the lines within)."""
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        if opened is None:
            number += 1
            continue
        start, indent, fence = number, opened[1], opened[2]
        number += 1
        while number < len(lines) and lines[number].strip() != fence:
            number += 1
        if number == len(lines):
            raise BlockError(f"line {start + 1}: the block has no end")
        body = tuple(line.removeprefix(indent) for line in lines[start + 1 : number])
        yield start + 1, opened[3].strip(), body
        number += 1


def _session(block: Block) -> Iterator[Command]:
    """Commands after `$ `, longer ones after a backslash and `> `, and what is shown below each."""
    text, shown = "", list[str]()
    for line in block.body:
        if text.endswith("\\"):
            text = text.removesuffix("\\") + line.removeprefix("> ").strip()
        elif line.startswith("$ "):
            if text:
                yield Command(text, tuple(shown), _code(text, block.exit_code))
            text, shown = line.removeprefix("$ "), []
        elif text:
            shown.append(line)
        elif line.strip():
            raise BlockError(f"line {block.line}: output above the first command; begin it with `$ `")
    if text:
        yield Command(text, tuple(shown), _code(text, block.exit_code))


def _typed(body: tuple[str, ...]) -> Iterator[Command]:
    """The commands of a block that shows no output: continued lines joined, comments read for exit codes."""
    held = ""
    for line in body:
        text, _, comment = line.partition(" # ")
        text = "" if text.startswith("# ") else held + text.strip()
        held = text.removesuffix("\\") if text.endswith("\\") else ""
        if text and not held:
            yield Command(text, exit_code=_code(f" # {comment}", 0))


def _code(text: str, usual: int) -> int:
    """The exit code that a comment speaks of."""
    code = re.search(r" # .*\bexit (\d+)\b", text)
    return int(code[1]) if code else usual
