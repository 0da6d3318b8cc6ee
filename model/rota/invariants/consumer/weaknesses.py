"""Known weaknesses: sentences that one would wish to hold, and what in a configuration breaks them.

Each is the strong form of a property that does hold. Where nothing of what it takes is in a configuration it
is a property like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment.consumer.state import Consumer
from rota.environment.consumer.world import chosen_from
from rota.invariants.consumer.safety import KIP, apart, believes, nothing_of_others, uses_its_own
from rota.invariants.consumer.views import CLIENT, RECORDS, Records
from rota.kernel import Kind, Property
from rota.spec.consumer.vocabulary import ErrorCode

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Weakness:
    """A sentence, and whether a configuration breaks it: None where nothing is said of it there."""

    sentence: Property
    cause: Callable[[Settings], bool | None]

    def broken_in(self, settings: Settings) -> bool | None:
        """What its cause says of settings of `rota.environment.consumer.world`."""
        return self.cause(chosen_from(settings))


def _both_use(one: Consumer, other: Consumer) -> bool:
    return bool(one.uses and other.uses)


def _is_at_target(records: Records, client: Consumer) -> bool:
    return believes(records, client) and client.epoch == records.target_epoch


def _hears_that_it_is_fenced(records: Records, client: Consumer) -> bool:
    return client.answer is not None and client.answer.error_code is ErrorCode.FENCED_MEMBER_EPOCH


def _is_removed(records: Records, client: Consumer) -> bool:
    return client.member_id not in records.epochs


def _may(chosen: Settings, *kinds: str) -> int:
    budget = dict(chosen["budget"])
    return sum(budget.get(kind, 0) for kind in kinds)


def _something_overtakes(chosen: Settings) -> bool:
    """A new assignment comes, or the member's epoch goes on, while the client applies what it was told."""
    return bool(chosen["grown"] or _may(chosen, "late", "break", "append", "failover", "fault"))


def _a_late_join_arrives(chosen: Settings) -> bool:
    """A join that a broken connection has left behind is taken when its member has gone on."""
    return bool(_may(chosen, "break", "fault"))


WEAKNESSES = (
    Weakness(
        Property(
            "weakness.consumer-uses-what-it-gave-up",
            Kind.SAFETY,
            "What a client uses that believes to be a member, and is one, is its own by the records.",
            (RECORDS, CLIENT),
            uses_its_own,
            given=believes,
            source=KIP,
            rules=("membership.led",),
        ),
        _something_overtakes,
    ),
    Weakness(
        Property(
            "weakness.consumer-two-users",
            Kind.SAFETY,
            "No two clients use the same partition.",
            (CLIENT, CLIENT),
            apart,
            given=_both_use,
            source=KIP,
            rules=("membership.led", "timers.rebalance", "timers.session"),
        ),
        _something_overtakes,
    ),
    Weakness(
        Property(
            "weakness.consumer-uses-the-targets-of-others",
            Kind.SAFETY,
            "A client at the target's epoch uses nothing that the target gives to another.",
            (RECORDS, CLIENT),
            nothing_of_others,
            given=_is_at_target,
            source=KIP,
            rules=("membership.led",),
        ),
        _something_overtakes,
    ),
    Weakness(
        Property(
            "weakness.consumer-innocent-is-fenced",
            Kind.SAFETY,
            "Only who was removed is answered FENCED_MEMBER_EPOCH: lost answers can be caught up.",
            (RECORDS, CLIENT),
            _is_removed,
            given=_hears_that_it_is_fenced,
            source=KIP,
            rules=("epochs.behind", "epochs.ahead"),
        ),
        _a_late_join_arrives,
    ),
)
