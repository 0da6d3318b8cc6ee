"""Names of the classic protocol: the states of a group, its timers, and why its records are written."""

from rota.kernel import Word
from rota.spec.effects import Timer


class GroupState(Word):
    """The states of a classic group. Source: upstream `ClassicGroupState`.

    A Dead group is not kept: where there is no group, DescribeGroups says Dead.
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class TimerKind(Word):
    """The timers of a group; all but the first three are per member."""

    INITIAL_JOIN = "initial_join"
    JOIN = "join"
    SYNC = "sync"
    SESSION = "session"
    NEW_MEMBER = "new_member"
    PENDING = "pending"


TIMER_KINDS = {kind.value: kind for kind in TimerKind}


def kind_of(timer: Timer) -> TimerKind:
    """Which kind of timer it is, by its name."""
    return TIMER_KINDS[timer.name]


class RecordKind(Word):
    """Why a group record is written, which decides what its answer does."""

    CREATION = "creation"
    ASSIGNMENT = "assignment"
    EMPTIED = "emptied"
    REPLACEMENT = "replacement"
    DELETION = "deletion"
    """The group is gone, a record without content: nothing is loaded after it."""
