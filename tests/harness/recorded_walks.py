"""Walks with a planted bug, recorded: where it shows in answers, and what `rota validate` says of that.

Beside the server with the bug stands the spec in lockstep. What it sees diverge inside of the coordinator
shows in the recording where an answer, or its moment, is another one than that of a sound server to which the
same was said until then. Ids count by the order in which they are handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from harness.judged_frames import judged
from harness.recorded_frames import BEGAN, frames_of
from rota import coordinator as core
from rota.generate import virtual
from rota.generate.hunt import Grounds, Trial, trial
from rota.generate.player import Message, Played
from rota.generate.settings import broker_config
from rota.generate.shown import Shown, first_shown
from rota.generate.virtual import LATE
from rota.linearise import History, Restarted
from rota.linearise.times import Span
from rota.mutants.core import BESIDE_MEMBERS, CoreBug, place, planted
from rota.oracle.report import Divergence
from rota.oracle.shadow import Shadow
from rota.oracle.translate import spec_timer
from rota.spec import PROFILES
from rota.validate.account import Account
from rota.validate.terms import LIMITS, Start, Terms, looks_every

WALKS = 200
"""Of a seed, that are played until a bug has shown often enough."""


class Beside(Shadow):
    """The spec in lockstep with a coordinator that goes on where they part: what it does is sent."""

    def fire(self, timer_id: core.TimerId) -> core.Effects:
        """As of the core, whether it is armed or not."""
        followed = self.follow(timer_id.group_id)
        if spec_timer(timer_id) not in followed.armed and followed.divergence is None:
            self._recorded(followed.broken("a timer fires that is not armed"))
        return super().fire(timer_id)

    def appended(self, append_id: int, error_code: int = 0) -> core.Effects:
        """As of the core; of a group that has parted nobody knows what the log was given."""
        group_id = self._appends.get(append_id)
        if group_id is not None and self.follow(group_id).divergence is not None:
            del self._appends[append_id]
        return super().appended(append_id, error_code)

    def _take(self, *inputs: Any) -> None:
        with suppress(Divergence):
            super()._take(*inputs)

    def _check_unchanged(self, *inputs: Any) -> None:
        with suppress(Divergence):
            super()._check_unchanged(*inputs)


@dataclass(frozen=True)
class Recording:
    """A walk with a bug in whose answers it shows.

    plan: its number; played; shown; parted: what the lockstep saw first, "" where it does not follow the part
    of the protocol that the bug is in.
    """

    plan: int
    played: Played
    shown: Shown
    parted: str

    def judged(self, grounds: Grounds, fresh: bool) -> Account:
        """What `rota validate` says of it, which is told what whoever runs the broker knows of it."""
        return judged(frames_of(self.played), terms_of(grounds, self.played.history, fresh))


def terms_of(grounds: Grounds, history: History, fresh: bool = True) -> Terms:
    """By what whoever runs the broker has a recording judged: with what it ran, when it was started, and that
    nothing is later there than timers in virtual time are."""
    config = broker_config(grounds.settings)
    return Terms(
        PROFILES[grounds.profile],
        config,
        replace(LIMITS, forgives=0.0, grace=0.0, grain=LATE, prompt=True),
        lateness=LATE,
        fresh=fresh,
        durable=fresh,
        starts=starts_of(history),
        looks_every=looks_every(grounds.settings),
    )


def starts_of(history: History) -> tuple[Start, ...]:
    """When the server was started and by what it ran then, as its log tells."""
    config, found = history.config, []
    if history.started is not None:
        found.append(Start(_of_the_clock(history.started), config))
    for one in history.events:
        if isinstance(one, Restarted):
            config = one.config or config
            found.append(Start(_of_the_clock(one.started), config))
    return tuple(found)


def _of_the_clock(span: Span) -> Span:
    """A span of virtual time, as recordings have it."""
    return Span(BEGAN + span.earliest, BEGAN + span.latest)


def recordings(bug: CoreBug, grounds: Grounds, walks: int = WALKS) -> Iterator[Recording]:
    """Those of the first walks of a seed in which a bug shows, in their order."""
    for number in range(walks):
        found = shown_in(bug, grounds, number)
        if found is not None:
            yield found


def shown_in(bug: CoreBug, grounds: Grounds, number: int) -> Recording | None:
    """A walk with a bug, if it shows there."""
    sound = grounds.sound(number)
    if place(bug) not in sound.called:
        return None
    with planted(bug):
        found = trial(grounds.plan(number), grounds.settings, grounds.profile)
    if found.print == sound.print:
        return None
    shown = first_shown(_messages(grounds, number), found.played.messages)
    if shown is None:
        return None
    if bug.rule.startswith(BESIDE_MEMBERS):
        return Recording(number, found.played, shown, "")
    with planted(bug):
        again, parted = beside_a_lockstep(grounds, number)
    if again.print != found.print:
        assert raises_first(found.played.messages, again.played.messages), "the lockstep has changed answers"
        return None
    return Recording(number, found.played, shown, parted) if parted else None


def raises_first(alone: Sequence[Message], beside: Sequence[Message]) -> bool:
    """Whether the coordinator raises beside the lockstep, and a connection ends, where alone it answers: the
    one that is watched is stopped by a mistake before its effects are taken.
    """
    for one, two in zip(alone, beside, strict=False):
        if (one.at, one.api, one.data) != (two.at, two.api, two.data):
            return not two.api
    return False


def beside_a_lockstep(grounds: Grounds, number: int) -> tuple[Trial, str]:
    """A plan is played, and what the spec beside the first coordinator sees diverge."""
    shadows: list[Beside] = []

    def made(config: core.CoordinatorConfig, choices: core.Choices) -> Shadow | core.GroupCoordinator:
        if shadows:  # after a restart: what it reads from its log no shadow knows
            return core.GroupCoordinator(config, choices)
        shadows.append(Beside(config, choices))
        return shadows[0]

    with patch.object(virtual, "GroupCoordinator", made):
        found = trial(grounds.plan(number), grounds.settings, grounds.profile)
    divergences = shadows[0].divergences
    return found, divergences[0].headline if divergences else ""


@lru_cache(maxsize=400)
def _messages(grounds: Grounds, number: int) -> tuple[Message, ...]:
    return trial(grounds.plan(number), grounds.settings, grounds.profile).played.messages
