"""The consumer protocol on targets that do not serve it: its cases are left out at once, not one by one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from rota.conformance.connections.connection import Closed, Connection, Garbage, NotListening
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import advertised
from rota.conformance.dialogues.script import Case
from rota.conformance.results import NotChecked
from rota.conformance.rules import CONSUMER
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Target
from rota.wire import api

ASKED = ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
"""What a target has to serve: without the second nobody can tell what a group is."""

NOT_SERVED = "the target does not serve "
"""What the reason begins with why none of these cases is played."""


def without_unserved(
    cases: Sequence[Case], target: Target, patience: float
) -> tuple[list[Case], list[NotChecked]]:
    """The cases without those about the consumer protocol where the target says that it has it not.

    Where it cannot be asked they are played, and each meets what is wrong.
    """
    own = [case for case in cases if case.part == CONSUMER]
    missing = _missing(target, patience) if own else []
    if not missing:
        return list(cases), []
    why = f"{NOT_SERVED}{' and '.join(missing)} (KIP-848)"
    return [case for case in cases if case.part != CONSUMER], [NotChecked(case, why) for case in own]


def _missing(target: Target, patience: float) -> list[str]:
    """The requests that the target does not advertise; none where it cannot be asked."""
    try:
        running = target.start({})
    except NotStarted:
        return []
    try:
        with closing(Connection(running.address, "rota-conform")) as connection:
            ranges = advertised(connection, patience)
        return [name for name in ASKED if api(name).key not in ranges]
    except (Undecidable, Deviation, Closed, Garbage, NotListening):
        return []
    finally:
        running.stop()
