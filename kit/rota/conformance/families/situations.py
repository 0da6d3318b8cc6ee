"""Situations of a group: made from the phase, what the members are, how many, and which generation it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.families.axes import Kind, Phase, Role, State
from rota.conformance.families.reaching import Plan, reach
from rota.conformance.families.scene import Scene
from rota.conformance.steps.version_ranges import DELETE, HANDSHAKE, STATIC

NUMBERS = {0: "no", 1: "one", 2: "two", 3: "three"}
"""So many members, in words."""

_HAVE_NO_MEMBERS = (Phase.NEVER, Phase.HANDED_OUT)
_NEED_A_FOLLOWER = (Phase.REJOINING, Phase.SYNCING)


@dataclass(frozen=True)
class Situation:
    """A group in a phase, of `number` members, after a rebalance if `again`.

    Raises ValueError for what cannot be: no members where the phase has some, followers that are not there.
    """

    phase: Phase
    number: int = 0
    kind: Kind = Kind.DYNAMIC
    again: bool = False

    def __post_init__(self) -> None:
        least = 0 if self.phase in _HAVE_NO_MEMBERS else 2 if self.phase in _NEED_A_FOLLOWER else 1
        most = 0 if self.phase in _HAVE_NO_MEMBERS else 3
        if not least <= self.number <= most:
            raise ValueError(f"{self.phase.slug} needs {least} to {most} members, not {self.number}")
        if self.phase is Phase.FIRST and (self.again or self.kind is not Kind.DYNAMIC):
            raise ValueError("a first join phase is no second one, and only handed-out ids are known in it")
        if not self.number and (self.again or self.kind is not Kind.DYNAMIC):
            raise ValueError(f"{self.phase.slug} has no members that could be static or come again")

    @cached_property
    def slug(self) -> str:
        """As in an id: stable-two-static-again."""
        words = [self.phase.slug]
        if self.number:
            words += [NUMBERS[self.number], self.kind.value]
        return "-".join([*words, "again"] if self.again else words)

    @cached_property
    def sentence(self) -> str:
        """In words: Stable, two static members, second generation."""
        noun = "member" if self.number == 1 else "members"
        told = self.phase.words.format(members=f"{NUMBERS[self.number]} {self.kind} {noun}")
        joint = " " if self.state is State.NO_GROUP else ", "
        return f"{self.state}{joint}{told}{', second generation' if self.again else ''}"

    @property
    def state(self) -> State:
        """The group's."""
        return self.phase.state

    @property
    def needs(self) -> Mapping[str, tuple[int, int]]:
        """The versions that it takes to get there."""
        needs: dict[str, tuple[int, int]] = {}
        if self.phase in (Phase.FIRST, Phase.HANDED_OUT):
            needs |= HANDSHAKE
        if self.phase is Phase.DELETED:
            needs |= DELETE
        return needs if self.kind is Kind.DYNAMIC else {**needs, **STATIC}

    def has(self, role: Role) -> bool:
        """Whether there is somebody who is this."""
        if role is Role.LEADER:
            return self.phase.has_members
        if role is Role.FOLLOWER:
            return self.phase.has_members and self.number > 1
        if role is Role.NEWCOMER:
            return self.phase in (Phase.FIRST, Phase.CALLED) and self.kind is not Kind.STATIC
        if role is Role.FORMER:
            return self.again or self.phase in (Phase.EMPTIED, Phase.DELETED)
        return role in (Role.STRANGER, Role.NEW) or self.state is not State.NO_GROUP

    def spare(self, askers: Sequence[Role], least: int = 1) -> int:
        """So many members can be done without: one of these is left to ask, so many at least in all, and the
        phase is the same.

        Who leaves before a second generation is one of them, unless it is to ask.
        """
        if not self.phase.has_members or set(askers) == {Role.FORMER}:
            return 0
        needs_two = self.phase in _NEED_A_FOLLOWER or set(askers) == {Role.FOLLOWER}
        return self.number + self.again - max(least, 2 if needs_two else 1)

    def reach(self, d: Dialogue) -> Scene:
        """Bring the dialogue there. Errors: SetupFailed."""
        return reach(d, Plan(self.phase, self.kind, self.number, self.again, self.sentence))


def having(situations: Iterable[Situation], *phases: Phase) -> tuple[Situation, ...]:
    """Those of the situations that are in one of the phases."""
    return tuple(situation for situation in situations if situation.phase in phases)


def _chosen(phase: Phase, *members: tuple[int, Kind, bool]) -> tuple[Situation, ...]:
    return tuple(Situation(phase, number, kind, again) for number, kind, again in members)


_ONE = (1, Kind.DYNAMIC, False)
_PAIR = (2, Kind.DYNAMIC, True)
_STATIC = (2, Kind.STATIC, True)
_THREE = (3, Kind.MIXED, False)

EVERYWHERE = (
    Situation(Phase.NEVER),
    *_chosen(Phase.DELETED, _ONE),
    Situation(Phase.HANDED_OUT),
    *_chosen(Phase.EMPTIED, _ONE, _STATIC),
    *_chosen(Phase.FIRST, _ONE),
    *_chosen(Phase.CALLED, _ONE, _STATIC, _THREE),
    *_chosen(Phase.REJOINING, _PAIR, (2, Kind.STATIC, False), _THREE),
    *_chosen(Phase.COMPLETING, _ONE, (2, Kind.DYNAMIC, False), _STATIC, _THREE),
    *_chosen(Phase.SYNCING, _PAIR, (2, Kind.STATIC, False), _THREE),
    *_chosen(Phase.STABLE, _ONE, _PAIR, _STATIC, _THREE),
)
"""Every phase with one member and several, dynamic, static and mixed, before and after a rebalance.

Not every combination, but each value of each axis with each phase that it can be with.
"""

WITH_MEMBERS = tuple(situation for situation in EVERYWHERE if situation.phase.has_members)
"""Those of a group that has members."""

PREPARING = having(WITH_MEMBERS, Phase.CALLED, Phase.REJOINING)
COMPLETING = having(WITH_MEMBERS, Phase.COMPLETING, Phase.SYNCING)
STABLE = having(WITH_MEMBERS, Phase.STABLE)

WITH_FOLLOWERS = tuple(situation for situation in WITH_MEMBERS if situation.number > 1)
"""Those with members of which not all lead."""

STATIC_LEADERS = tuple(s for s in WITH_MEMBERS if s.kind is not Kind.DYNAMIC)
"""Those whose leader is static, among others who are, too, and among others of whom some are not."""

IN_EACH_PHASE = (
    *_chosen(Phase.CALLED, _ONE),
    *_chosen(Phase.REJOINING, _PAIR),
    *_chosen(Phase.COMPLETING, _ONE, _THREE),
    *_chosen(Phase.SYNCING, _PAIR),
    *_chosen(Phase.STABLE, _ONE, _STATIC),
)
"""A group with members in each phase, mostly once."""

STATIC_IN_EACH_PHASE = (
    *_chosen(Phase.CALLED, _STATIC),
    *_chosen(Phase.REJOINING, _THREE),
    *_chosen(Phase.COMPLETING, _STATIC),
    *_chosen(Phase.SYNCING, _THREE),
    *_chosen(Phase.STABLE, (1, Kind.STATIC, False), _STATIC),
)
"""A group with a static leader in each phase, mostly once."""

WITH_PENDING = (
    Situation(Phase.HANDED_OUT),
    *_chosen(Phase.EMPTIED, _ONE),
    *_chosen(Phase.CALLED, _ONE),
    *_chosen(Phase.COMPLETING, _THREE),
    *_chosen(Phase.STABLE, _ONE, _STATIC),
)
"""A group in each state, beside which an id has been handed out."""

WITH_ASSIGNMENTS = tuple(
    situation
    for situation in (*IN_EACH_PHASE, *STATIC_IN_EACH_PHASE)
    if situation.state in (State.COMPLETING, State.STABLE)
)
"""One or two for each phase in which there are assignments, or are about to be."""

IN_EACH_STATE = (
    Situation(Phase.NEVER),
    Situation(Phase.HANDED_OUT),
    *_chosen(Phase.EMPTIED, _STATIC),
    *_chosen(Phase.FIRST, _ONE),
    *_chosen(Phase.CALLED, _STATIC),
    *_chosen(Phase.REJOINING, _PAIR),
    *_chosen(Phase.COMPLETING, _THREE),
    *_chosen(Phase.SYNCING, _STATIC),
    *_chosen(Phase.STABLE, _PAIR, _STATIC),
)
"""As many as there are states and phases, for questions of those who are no members."""
