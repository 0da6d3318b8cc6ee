"""The consumer protocol (KIP-848): so far how a member is led from what it has to what it shall have.

No system uses it yet: it has no rules in the table of rules, and no profile speaks it.
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
