"""Mends: where Kafka harms its users, and rota's own coordinator does better. And all profiles.

A mend is a switch of `Profile`. It may give an answer where Kafka gives none, or spare another member or the
broker a harm; whoever asks is told by the same code as by Kafka, for polite clients branch on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from rota.spec.profiles import KAFKA_2_1, KAFKA_3, KAFKA_4, Profile

ROTA = replace(
    KAFKA_4,
    name="rota",
    title="rota's own coordinator: Kafka 4.x with all mends",
    refusal_completes_phase=True,
    pending_leave_rebalances=False,
    answers_replaced=True,
    answers_removed=True,
    replaced_owes_sync=False,
    late_failure_undoes=False,
    newcomer_mark_stays=False,
)

PROFILES = {profile.name: profile for profile in (KAFKA_4, KAFKA_3, KAFKA_2_1, ROTA)}


def _differs(name: str) -> bool:
    return name not in ("name", "title") and getattr(ROTA, name) != getattr(KAFKA_4, name)


MENDS: Mapping[str, object] = {
    one.name: getattr(ROTA, one.name) for one in fields(Profile) if _differs(one.name)
}
"""The switches that are mends, each as it stands in rota."""
