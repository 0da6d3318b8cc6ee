"""What tells one situation of a group from another: its phase, what its members are, who asks."""

from __future__ import annotations

from enum import Enum, StrEnum


class State(StrEnum):
    """The states of a group, by their names on the wire; a group that is Dead is not there."""

    NO_GROUP = "no group"
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class Phase(Enum):
    """Where a group is: its slug, the state that it is in, and what is to be said of its {members}."""

    NEVER = "no-group", State.NO_GROUP, "of this name"
    DELETED = "deleted", State.NO_GROUP, "any more, it was deleted and had {members}"
    HANDED_OUT = "handed-out", State.EMPTY, "only an id was handed out"
    EMPTIED = "emptied", State.EMPTY, "{members} left"
    FIRST = "first-phase", State.PREPARING, "{members} in the first join phase"
    CALLED = "called", State.PREPARING, "a newcomer waits for {members}"
    REJOINING = "rejoining", State.PREPARING, "of {members} only the leader has joined again"
    COMPLETING = "completing", State.COMPLETING, "{members}, nobody has synced"
    SYNCING = "syncing", State.COMPLETING, "{members}, the followers wait in SyncGroup"
    STABLE = "stable", State.STABLE, "{members}"

    def __init__(self, slug: str, state: State, words: str) -> None:
        self.slug = slug
        self.state = state
        self.words = words

    @property
    def has_members(self) -> bool:
        """Whether there are members that have been in a generation."""
        return self.state in (State.COMPLETING, State.STABLE) or self in (Phase.CALLED, Phase.REJOINING)


class Kind(StrEnum):
    """What the members of a group are; of mixed ones the first is static, the second dynamic, and so on."""

    DYNAMIC = "dynamic"
    STATIC = "static"
    MIXED = "mixed"

    def has_static(self, place: int) -> bool:
        """Whether the member at this place is static."""
        return self is Kind.STATIC or (self is Kind.MIXED and place % 2 == 0)


class Role(StrEnum):
    """Who asks.

    A stranger has an id that was never handed out, a pending member one that was and has not joined with it;
    a former member has left; a newcomer waits in JoinGroup for its first generation; somebody new has sent
    nothing yet.
    """

    LEADER = "leader"
    FOLLOWER = "follower"
    NEWCOMER = "newcomer"
    STRANGER = "stranger"
    PENDING = "pending"
    FORMER = "former"
    NEW = "new"


MEMBERS = (Role.LEADER, Role.FOLLOWER)
"""Those who have been in a generation and have not left."""

OUTSIDERS = (Role.STRANGER, Role.FORMER)
"""Those who are no members; who is pending asks for itself, for not every target hands out ids."""
