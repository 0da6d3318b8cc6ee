"""A judge's findings in words."""

from __future__ import annotations

from rota.linearise.ids import MARK
from rota.spec import Timer


def in_words(text: str) -> str:
    """A text with ids that nobody has seen as people read them."""
    return text.replace(MARK, "the id given to request ")


def timer_in_words(timer: Timer) -> str:
    """A timer's name."""
    return in_words(f"timer {timer.name} of {timer.member_id}" if timer.member_id else f"timer {timer.name}")
