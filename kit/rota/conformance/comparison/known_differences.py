"""Where rota's server differs from Apache Kafka 4.4.0, and what each difference is: a table that is checked.

A difference that is not in it, and one in it that is seen no more, fail the test that plays both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rota.conformance.dialogues.script import Script


class DifferenceKind(StrEnum):
    """What a difference is."""

    NOT_MODELLED = "not modelled yet"
    OPEN = "choice that the protocol leaves open"
    DELIBERATE = "rota deviates on purpose"
    KAFKA_BUG = "Kafka bug"


@dataclass(frozen=True)
class KnownDifference:
    """A known difference in one case or probe.

    `varies` marks what is random on one of the two, so that a run may see it or not.
    """

    id: str
    kind: DifferenceKind
    why: str
    varies: bool = False

    def covers(self, script: Script) -> bool:
        """Whether the difference is one in this dialogue."""
        return script.id == self.id


_TIE = "Kafka takes the name that comes first in the order of java.util.HashMap, rota the first by alphabet."
_ORDER = "Kafka goes by the hash order of the ids, rota by alphabet."

_TOPICS_GONE = "rota's server keeps topics in memory: partitions of topics that are gone are taken back."

KNOWN_DIFFERENCES: Sequence[KnownDifference] = (
    KnownDifference("voting.tie.range-or-sticky", DifferenceKind.OPEN, _TIE),
    KnownDifference("voting.tie.range-or-cooperative-sticky", DifferenceKind.OPEN, _TIE),
    KnownDifference("voting.tie.roundrobin-or-sticky", DifferenceKind.OPEN, _TIE),
    *(
        KnownDifference(f"voting.tally.tie.{voters}", DifferenceKind.OPEN, _TIE)
        for voters in ("of-three", "of-four-members", "third-is-greatest")
    ),
    *(
        KnownDifference(f"consumer.{name}-after-{signal}", DifferenceKind.NOT_MODELLED, _TOPICS_GONE)
        for name in ("timers.loaded.goes-on", "persistence.written.all-that-was-told")
        for signal in ("sigterm", "sigkill")
    ),
    *(
        KnownDifference(
            f"hosting.loading.before-it-knows-after-{signal}",
            DifferenceKind.OPEN,
            "How long a server reads its log after a restart, and so who is asked to wait.",
            varies=True,
        )
        for signal in ("sigterm", "sigkill")
    ),
    *(
        KnownDifference(
            f"leave.{case}",
            DifferenceKind.OPEN,
            f"Who leads after the leader has left: {_ORDER}",
            varies=True,
        )
        for case in (
            "remove-member.leader-replaced",
            "remove-member.leader-while-completing",
            "by-instance-id.everyone.called-two-static-again.leader",
            "member.everyone.called-two-static-again.leader",
            *(
                f"member.everyone.{situation}-three-mixed.leader"
                for situation in ("called", "rejoining", "completing", "syncing", "stable")
            ),
        )
    ),
    KnownDifference(
        "timers.join-timeout.not-prolonged",
        DifferenceKind.OPEN,
        f"Who leads when a join phase ends without its leader: {_ORDER}",
        varies=True,
    ),
    *(
        KnownDifference(id, DifferenceKind.DELIBERATE, f"Mended: `{switch}`.")
        for id, switch in (
            ("join.group-max-size-reached.last-missing", "refusal_completes_phase"),
            ("join.group-max-size-reached.last-pending", "refusal_completes_phase"),
            ("join.while-preparing.replaced-request", "answers_replaced"),
            ("sync.follower-waits.replaced-request", "answers_replaced"),
            ("leave.remove-member.waiting-sync", "answers_removed"),
            ("leave.pending-member.disturbs-the-group", "pending_leave_rebalances"),
            ("static.replaced.haunted", "replaced_owes_sync"),
            ("timers.initial-delay-extended.by-one-long-gone", "newcomer_mark_stays"),
        )
    ),
    KnownDifference(
        "voting.candidates.repeated-name",
        DifferenceKind.KAFKA_BUG,
        "Kafka counts a protocol that a member lists twice as two members' and cannot end the join phase.",
    ),
    KnownDifference(
        "voting.supports.repeated-name",
        DifferenceKind.KAFKA_BUG,
        "Kafka counts a protocol that a member lists twice as two members' and so takes it for unsupported.",
    ),
)
"""Every known difference between kafka-4.4.0 and rota."""


def unknown_differences(differing: Sequence[Script]) -> list[str]:
    """The ids of dialogues that differ although nothing is known about them."""
    return [script.id for script in differing if not any(known.covers(script) for known in KNOWN_DIFFERENCES)]


def no_longer_seen(played: Sequence[Script], differing: Sequence[Script]) -> dict[str, list[str]]:
    """Known difference -> the ids of dialogues that it covers and that were played and do not differ."""
    seen = {script.id for script in differing}
    found: Mapping[str, list[str]] = {
        known.id: [script.id for script in played if known.covers(script) and script.id not in seen]
        for known in KNOWN_DIFFERENCES
        if not known.varies
    }
    return {known: ids for known, ids in found.items() if ids}
