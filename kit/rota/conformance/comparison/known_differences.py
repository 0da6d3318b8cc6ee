"""Where rota's server differs from Apache Kafka 4.4.0, and what each difference is: a table that is checked.

A difference that is not in it, and one in it that is seen no more, fail the test that plays both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rota.conformance.dialogues.script import Script


class Class(StrEnum):
    """What a difference is."""

    NOT_MODELLED = "not modelled yet"
    OPEN = "choice that the protocol leaves open"
    DELIBERATE = "rota deviates on purpose"
    KAFKA_BUG = "Kafka bug"


@dataclass(frozen=True)
class Triaged:
    """A known difference in one case or probe.

    `lots` marks what is drawn by lot on one of the two, so that a run may see it or not.
    """

    id: str
    kind: Class
    why: str
    lots: bool = False

    def covers(self, script: Script) -> bool:
        """Whether the difference is one in this dialogue."""
        return script.id == self.id


_TIE = "Kafka takes the name that comes first in the order of java.util.HashMap, rota the first by alphabet."
_ORDER = "Kafka goes by the hash order of the ids, rota by alphabet."

DIFFERENCES: Sequence[Triaged] = (
    Triaged("voting.tie.range-or-sticky", Class.OPEN, _TIE),
    Triaged("voting.tie.range-or-cooperative-sticky", Class.OPEN, _TIE),
    Triaged("voting.tie.roundrobin-or-sticky", Class.OPEN, _TIE),
    Triaged(
        "leave.remove-member.leader-replaced",
        Class.OPEN,
        f"Who leads after the leader has left: {_ORDER}",
        lots=True,
    ),
    Triaged(
        "timers.join-timeout.not-prolonged",
        Class.OPEN,
        f"Who leads when a join phase ends without its leader: {_ORDER}",
        lots=True,
    ),
    Triaged(
        "voting.candidates.repeated-name",
        Class.KAFKA_BUG,
        "Kafka counts a protocol that a member lists twice as two members' and cannot end the join phase.",
    ),
    Triaged(
        "voting.supports.repeated-name",
        Class.KAFKA_BUG,
        "Kafka counts a protocol that a member lists twice as two members' and so takes it for unsupported.",
    ),
)
"""Every known difference between kafka-4.4.0 and rota."""


def untriaged(differing: Sequence[Script]) -> list[str]:
    """The ids of dialogues that differ although nothing is known about them."""
    return [script.id for script in differing if not any(known.covers(script) for known in DIFFERENCES)]


def gone(played: Sequence[Script], differing: Sequence[Script]) -> dict[str, list[str]]:
    """Known difference -> the ids of dialogues that it covers and that were played and do not differ."""
    seen = {script.id for script in differing}
    found: Mapping[str, list[str]] = {
        known.id: [script.id for script in played if known.covers(script) and script.id not in seen]
        for known in DIFFERENCES
        if not known.lots
    }
    return {known: ids for known, ids in found.items() if ids}
