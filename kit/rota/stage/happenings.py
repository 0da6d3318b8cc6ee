"""What happens on a stage: the inputs that are no requests, and a step with all that it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.spec import GroupRecord, Step, Timer
from rota.spec.offset_state import InLine, Offsets, TransactionEnd
from rota.spec.vocabulary import AppendError
from rota.stage.clients import Asked

Waiting = GroupRecord | InLine
"""What waits for the log."""

Answered = tuple[Waiting, AppendError | None]


@dataclass(frozen=True)
class GivenUp:
    """The broker is the coordinator no more. unanswered: appends in flight."""

    unanswered: tuple[GroupRecord, ...]


@dataclass(frozen=True)
class Loaded:
    """The next coordinator has read the log. record: the group's last one."""

    record: GroupRecord | None


@dataclass(frozen=True)
class LookForExpired:
    """The broker looks what has expired. since_ms: when the group came into its state."""

    since_ms: int


@dataclass(frozen=True)
class Unused:
    """The offsets need the group no more."""


@dataclass(frozen=True)
class Found:
    """There are offsets, and no group that they are of."""


@dataclass(frozen=True)
class Happening:
    """One step.

    allowed: all outcomes that it might have had, `step` among them;
    timers: delay in milliseconds, None where stopped; armed: when what is armed is due; line: what about
    offsets waits for the log from now on; offsets: those stored and pending.
    """

    now: int
    what: Asked | Timer | Answered | TransactionEnd | GivenUp | Loaded | LookForExpired | Unused | Found
    step: Step
    allowed: tuple[Step, ...]
    rules: tuple[str, ...]
    answers: tuple[tuple[Asked, Any], ...]
    timers: Mapping[Timer, int | None]
    armed: Mapping[Timer, int]
    line: tuple[InLine, ...]
    offsets: Offsets
