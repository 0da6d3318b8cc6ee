"""Known weaknesses: sentences that one would wish to hold, and what in a configuration breaks them.

Each is the strong form of a property that does hold. Where nothing of what it takes is in a configuration it
is a property like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment.consumer.coordinator import Coordinator
from rota.environment.consumer.state import Consumer
from rota.environment.consumer.world import chosen_from
from rota.invariants.consumer.commits import is_accepted, is_held, is_not_stale, uses_it_still
from rota.invariants.consumer.liveness import USES_ITS_PART
from rota.invariants.consumer.safety import KIP, apart, believes, nothing_of_others, uses_its_own
from rota.invariants.consumer.views import CLIENT, RECORDS, Records, unwatched
from rota.kernel import Kind, Liveness, Property, View
from rota.spec.consumer.vocabulary import ErrorCode

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Weakness:
    """A sentence, and whether a configuration breaks it: None where nothing is said of it there."""

    sentence: Property | Liveness
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
    """A new assignment comes, or the member's epoch goes on, while the client applies what it was told.

    With three clients the third that joins is enough: the second's target changes before it has applied it.
    """
    happens = _may(chosen, "late", "break", "append", "failover", "fault", "change", "return")
    more = chosen["grown"] or chosen["late_names"] or chosen["clients"] > 2
    return chosen["clients"] > 1 and bool(more or happens)


def _a_late_join_arrives(chosen: Settings) -> bool:
    """A request that a connection or a process has left behind is taken when its member has gone on.

    Or the answer that led a member on was lost with the coordinator that moved: if the member applies then
    what an older statement of its gave up, it says at its former epoch that it owns more than it has.
    """
    overtaken = chosen["clients"] > 1 and chosen["grown"] and _may(chosen, "failover")
    return bool(overtaken or _may(chosen, "break", "fault", "return"))


def _an_answer_is_missed(chosen: Settings) -> bool:
    """What a request left behind was granted nobody hears of: the member says at its former epoch what it
    owns, and is told the new one and no assignment.
    """
    return bool(_may(chosen, "break", "fault") and (chosen["grown"] or chosen["clients"] > 1))


def _what_is_committed_is_freed(chosen: Settings) -> bool | None:
    """What a client uses and commits was freed, since an older statement of it was taken for giving it up."""
    return _something_overtakes(chosen) if chosen["commits"] else None


def leave_may_fail(chosen: Settings) -> bool:
    """The log refuses the batch of a leave: the member is there again, and its session's timer is not."""
    return bool(_may(chosen, "leave") and _may(chosen, "append", "fault"))


def _is_watched(one: Coordinator) -> bool:
    return not unwatched(one)


def _commits_wait(chosen: Settings) -> bool | None:
    """A commit takes its epoch when it is sent, and the client has given up and been led on meanwhile."""
    return chosen["clients"] > 1 if chosen["commits"] else None


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
    Weakness(
        Property(
            "weakness.consumer-commits-what-it-gave-up",
            Kind.SAFETY,
            "What a member commits is its own by the records.",
            (CLIENT,),
            is_held,
            given=is_accepted,
            source="KIP-1251; upstream ConsumerGroup#validateOffsetCommit",
            rules=("offsets.commit",),
        ),
        _commits_wait,
    ),
    Weakness(
        Property(
            "weakness.consumer-commit-of-what-it-uses",
            Kind.SAFETY,
            "Who commits what it has used all the while is not told that its epoch is stale.",
            (CLIENT,),
            is_not_stale,
            given=uses_it_still,
            source="KIP-1251",
            rules=("offsets.commit-stale", "membership.led"),
        ),
        _what_is_committed_is_freed,
    ),
    Weakness(
        Property(
            "weakness.consumer-is-watched",
            Kind.SHAPE,
            "Every member is watched: if it falls silent, a timer will remove it.",
            (View("coordinator", lambda one: one),),
            _is_watched,
            source="upstream GroupMetadataManager#scheduleConsumerGroupSessionTimeout",
            rules=("leave.removal", "timers.session", "persistence.failed", "timers.loaded"),
        ),
        leave_may_fail,
    ),
    Weakness(USES_ITS_PART, _an_answer_is_missed),
)
