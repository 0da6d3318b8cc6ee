"""The consumer protocol (KIP-848): a group machine with rules of its own, in `handlers.CONSUMER_RULES`.

Its worlds are those of `rota.environment.consumer`. Its rules are not in the table of `rota.spec.RULES`, and
no profile speaks it.
"""

from rota.spec.consumer.reconcile import TABLE, reconcile, steps
from rota.spec.consumer.state import (
    Holding,
    Member,
    MemberState,
    Partition,
    Question,
    Target,
)

__all__ = [
    "TABLE",
    "Holding",
    "Member",
    "MemberState",
    "Partition",
    "Question",
    "Target",
    "reconcile",
    "steps",
]
