"""Mistakes in a system: what its own functions raise or return that no engine can go on with.

The functions of machines, properties and assumptions are called by what is here (see `rota.kernel.guarded`),
so that a mistake of theirs is told from one of an engine: it names the machine or property, what it did, the
value and where in its file that is.
"""

from __future__ import annotations

import inspect
import re
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from rota.kernel.transition import State, Transition

SHORT = 120
"""Characters of a value in a message."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""What differs from process to process."""

_OURS = str(Path(__file__).parent)
_LIBRARY = sysconfig.get_path("stdlib")


class UserError(Exception):
    """A mistake in a system.

    Parameters: where, the machine or property; what it did, with the value; source, `file:line` of the
    system's own code, empty where it is not known; start and path, a shortest run to it, None where nobody
    has looked for one (path: its transitions; start: the initial state, None where it is no mistake of
    a state).
    """

    def __init__(
        self,
        where: str,
        what: str,
        source: str = "",
        start: State | None = None,
        path: tuple[Transition, ...] | None = None,
    ) -> None:
        super().__init__(where, what, source, start, path)
        self.where, self.what, self.source, self.start, self.path = where, what, source, start, path

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + f", at {self.source}" * bool(self.source)

    def found(self, start: State | None, path: tuple[Transition, ...]) -> UserError:
        """The same mistake with a run to it."""
        return UserError(self.where, self.what, self.source, start, path)


@dataclass(frozen=True)
class Call:
    """A function of a system. where: whose; name: as people know it."""

    where: str
    name: str
    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """What it answers. Errors: UserError for whatever it raises."""
        try:
            return self.function(*arguments)
        except BaseException as error:
            raise self.raised(arguments, error) from error

    def raised(self, arguments: Sequence[Any], error: BaseException) -> UserError:
        """The mistake of having raised something. Errors: what was raised, where it is none of the system's.

        A SystemExit is a mistake, too: it would end the check as if that had come to its end.
        """
        if isinstance(error, UserError | MemoryError) or not isinstance(error, Exception | SystemExit):
            raise error
        place = place_in(error.__traceback__) or place_of(self.function)
        return UserError(self.where, f"{self._text(arguments)} raised {said(error)}", place)

    def wrong(self, arguments: Sequence[Any], what: str) -> UserError:
        """The mistake of having answered something. what: `returned 1, which ...`."""
        return UserError(self.where, f"{self._text(arguments)} {what}", place_of(self.function))

    def _text(self, arguments: Sequence[Any]) -> str:
        return f"{self.name}({', '.join(map(shortened, arguments))})"


def said(error: BaseException) -> str:
    """An error as people write it."""
    return _cut(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def shortened(value: Any) -> str:
    """A value as people write it, not too long."""
    try:
        return _cut(repr(value))
    except Exception:  # a __repr__ is the system's, too
        return f"<{type(value).__name__} without a repr>"


def _cut(text: str) -> str:
    line = " ".join(_ADDRESS.sub("", text).split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 4]} ..."


def place_in(trace: TracebackType | None) -> str:
    """Where an error arose: `file:line` of the innermost call that is no library's and not the kernel's."""
    place = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_OURS, _LIBRARY, "<")) and "site-packages" not in file:
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def place_of(function: Any) -> str:
    """Where a function is written: `file:line`; empty where that cannot be told."""
    while hasattr(function, "func"):  # some arguments were given in advance
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""
