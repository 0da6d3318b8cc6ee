"""What ends a run from outside: Ctrl-C, SIGTERM, a terminal that goes away. All end it as Ctrl-C does."""

from __future__ import annotations

import signal
import sys
from contextlib import AbstractContextManager
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a run to end; partial results are kept."""


class Interrupted(KeyboardInterrupt):
    """The run was asked to end. Its words name the signal, unless it is the one of Ctrl-C."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__("" if number == signal.SIGINT else f"by {name}")


class _Waiting:
    """Signals that have come while something must not be cut short."""

    depth = 0
    come: int | None = None


def listen() -> None:
    """From now on these signals raise `Interrupted`; one that is ignored, as under nohup, stays so."""
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _raise)


def deaf() -> None:
    """From now on these signals do nothing: all is done, and the process ends with the code that it has.

    What was only half made when a signal came may not complain either, as it is thrown away.
    """
    for number in ENDING:
        if signal.getsignal(number) is _raise:
            signal.signal(number, signal.SIG_IGN)
            sys.unraisablehook = _ignored


class _Held:
    """A signal within it counts at its end. A class, since it is entered for each line of what is read."""

    def __enter__(self) -> None:
        _Waiting.depth += 1

    def __exit__(self, *_: object) -> None:
        _Waiting.depth -= 1
        if not _Waiting.depth and _Waiting.come is not None:
            number, _Waiting.come = _Waiting.come, None
            raise Interrupted(number)


_HELD = _Held()


def held() -> AbstractContextManager[None]:
    """What must not be cut short, as writing what was found; a signal meanwhile counts afterwards."""
    return _HELD


def _ignored(_: object) -> None:
    pass


def _raise(number: int, _frame: FrameType | None) -> None:
    if _Waiting.depth:
        _Waiting.come = number
        return
    raise Interrupted(number)
