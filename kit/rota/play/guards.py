"""Where the guard of a rule refused: the condition in its source under which it returned nothing."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from rota.kernel import Attempt


@dataclass(frozen=True)
class Guard:
    """A condition that refused. place: `file.py:line` of what was returned then; text: the condition."""

    place: str
    text: str


@dataclass
class Noted:
    """The returns of functions, in the order in which they were. seen: (slug, line, whether it was empty)."""

    functions: Mapping[str, Callable[..., Any]]
    seen: list[tuple[str, int, bool]] = field(default_factory=list)

    def guards(self, attempts: Sequence[Attempt]) -> Iterator[Guard | None]:
        """For each attempt that was noted, in the same order, the guard that refused; None if it fired."""
        rest = iter(self.seen)
        for one in attempts:
            if one.fired:
                yield None
                continue
            line = next((line for slug, line, empty in rest if slug == one.rule and empty), None)
            yield None if line is None else condition(self.functions[one.rule], line)


@contextmanager
def noting(functions: Mapping[str, Callable[..., Any]]) -> Iterator[Noted]:
    """Within, the returns of these functions, by their slugs, are noted. It slows all of the thread down."""
    noted = Noted(functions)
    slugs: dict[CodeType, str] = {}
    for slug, function in functions.items():
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            slugs[code] = slug

    def called(frame: FrameType, event: str, _: Any) -> Any:
        return returned if frame.f_code in slugs else None

    def returned(frame: FrameType, event: str, value: Any) -> Any:
        if event == "return":
            noted.seen.append((slugs[frame.f_code], frame.f_lineno, value == ()))
        return returned

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield noted
    finally:
        sys.settrace(before)


def condition(function: Callable[..., Any], line: int) -> Guard | None:
    """The condition of the innermost `if` around a line, None where there is none or no source."""
    function = inspect.unwrap(function)
    parsed = _parsed(function)
    if parsed is None:
        return None
    tree, file, first = parsed
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            for block, text in ((node.body, "{}"), (node.orelse, "not ({})")):
                if block and _covers(block, line - first + 1):
                    found = text.format(ast.unparse(node.test))
    return None if found is None else Guard(f"{Path(file).name}:{line}", found)


def _covers(block: Sequence[ast.stmt], line: int) -> bool:
    return block[0].lineno <= line <= (block[-1].end_lineno or block[-1].lineno)


@cache
def _parsed(function: Callable[..., Any]) -> tuple[ast.Module, str, int] | None:
    """A function's source, the name of its file, and its first line there."""
    try:
        lines, first = inspect.getsourcelines(function)
        return ast.parse(textwrap.dedent("".join(lines))), inspect.getfile(function), first
    except (OSError, TypeError, SyntaxError):
        return None
