"""The same steps with other answers, or timers of other lengths: what many mistakes come down to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rota.spec import Arm, ErrorCode, HeartbeatReply, JoinGroupReply, Reply, Step, SyncGroupReply
from rota.spec.classic.step import Steps
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.messages import ReplyMessage


def retold(steps: Steps, change: Callable[[ReplyMessage], ReplyMessage | None]) -> Steps:
    """The steps with each answer changed; None: it is not given."""
    return tuple(_with(step, change) for step in steps)


def _with(step: Step, change: Callable[[ReplyMessage], ReplyMessage | None]) -> Step:
    pairs = ((one, change(one.message)) for one in step.replies)
    return replace(step, replies=tuple(Reply(one.to, new) for one, new in pairs if new is not None))


def lasting(step: Step, kind: TimerKind, delay_ms: int) -> Step:
    """The step with all timers of a kind armed for so long."""
    timers = tuple(
        replace(one, delay_ms=delay_ms) if isinstance(one, Arm) and one.timer.name == kind.value else one
        for one in step.timers
    )
    return replace(step, timers=timers)


def untold(message: ReplyMessage) -> None:
    """No answer at all."""


def unknown(message: ReplyMessage) -> ReplyMessage:
    """UNKNOWN_MEMBER_ID, whatever the error was."""
    if not isinstance(message, JoinGroupReply | SyncGroupReply | HeartbeatReply):
        raise TypeError(f"no answer to a member: {message!r}")
    return replace(message, error_code=ErrorCode.UNKNOWN_MEMBER_ID)
