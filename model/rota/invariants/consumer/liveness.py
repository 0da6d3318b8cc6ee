"""Liveness of the consumer protocol: what happens in the end, and what must go on for that.

Faults are never owed, nor is what a client wishes: what is charged to the budget is in no class.
"""

from __future__ import annotations

from rota.environment.consumer.state import ALIVE, Consumer
from rota.environment.messages import Charge
from rota.invariants.consumer.views import CLIENT, RECORDS, Records
from rota.invariants.consumer.witnesses import in_place, is_led
from rota.kernel import Fairness, Liveness, LivenessKind, Transition

CALLBACKS = ("begins to apply", "ends its callback", "learns the names")
LATE = ("late heartbeat", "leave arrives")


def _class_of(transition: Transition) -> tuple[str, ...]:
    """Which machine does what kind of thing; nothing where the budget pays for it."""
    first = transition.local_steps[0]
    if any(isinstance(one.message, Charge) for one in transition.local_steps):
        return ()
    if first.machine == "coordinator":
        owed = first.label.endswith("is due") or first.label == "a batch is stored"
        return (first.label,) if owed else ()
    what = first.label.partition(" ")[2]
    kind = "callbacks" if what.startswith(CALLBACKS) else "late" if what.startswith(LATE) else "heartbeats"
    return (f"{first.machine} {kind}",)


GOING_ON = Fairness(
    "everybody goes on",
    "Clients heartbeat and end callbacks, requests arrive, batches are stored, timers of the dead are due.",
    _class_of,
)


def _is_unaware(records: Records, client: Consumer) -> bool:
    return client.phase in ALIVE and client.epoch > 0 and client.member_id not in records.epochs


def _is_aware(records: Records, client: Consumer) -> bool:
    return not _is_unaware(records, client)


USES_ITS_PART = Liveness(
    "weakness.consumer-uses-its-part",
    LivenessKind.EVENTUALLY_ALWAYS,
    "In the end every client has left for good, or uses its part of a target of all for good.",
    (RECORDS, CLIENT),
    in_place,
    fairness=(GOING_ON,),
    source="KIP-848",
    rules=("epochs.behind", "membership.told", "membership.led"),
)
"""The strong form of the first of `LIVENESS`."""

LIVENESS = (
    Liveness(
        "consumer.settles",
        LivenessKind.EVENTUALLY_ALWAYS,
        "In the end every client has left for good, or is led to a target of all and applies what it heard.",
        (RECORDS, CLIENT),
        is_led,
        fairness=(GOING_ON,),
        source="KIP-848",
        rules=("membership.led", "target.computed", "timers.session"),
    ),
    Liveness(
        "consumer.removed-hears-of-it",
        LivenessKind.LEADS_TO,
        "Who was removed and does not know hears of it.",
        (RECORDS, CLIENT),
        _is_aware,
        fairness=(GOING_ON,),
        given=_is_unaware,
        source="KIP-848",
        rules=("membership.unknown-member",),
    ),
)
