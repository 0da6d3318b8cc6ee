"""A judge's findings in words."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from rota.linearise.ids import MARK
from rota.spec import Timer

_ERROR = re.compile(r"<ErrorCode\.(\w+): -?\d+>")
"""An error code within another value, as Python shows it."""


def in_words(value: Any) -> str:
    """A value of an answer as people read it: error codes by name, and who has an id that nobody has seen."""
    if isinstance(value, Enum):
        return value.name
    said = repr(value).replace(repr(MARK)[1:-1], "the id given to request ")
    return _ERROR.sub(r"\1", said)


def timer_in_words(timer: Timer) -> str:
    """A timer's name."""
    whose = timer.member_id.replace(MARK, "the member of request ")
    return f"timer {timer.name} of {whose}" if whose else f"timer {timer.name}"
