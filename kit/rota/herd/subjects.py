"""The three designs as groups of any size, in which one member joins or leaves and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rota.designs import suites
from rota.environment import world as classic_world
from rota.kernel import State, System, Transition

LEAVE = (("leave", 1),)


def _watchers(members: int) -> System:
    """One server and back-offs that outlast the work of others: the watchers at their best."""
    return suites.system("watchers", {"consumers": members, "partitions": members, "budget": LEAVE})


def _server_side(members: int) -> System:
    wishes = ("range",) * members
    return suites.system("server-side", {"wishes": wishes, "partitions": members, "budget": LEAVE})


def _classic(members: int) -> System:
    """Dynamic members with eager clients."""
    return classic_world(protocols=(("range",),) * members, partitions=members, budget=LEAVE)


@dataclass(frozen=True)
class Subject:
    """A design to be measured.

    build: a system of so many members, of which one may leave, with as many partitions; role: that of its
    members; leaves: what the label of a member's leaving ends with; opening: moves by which a member enters;
    hub: a machine whose moves wait until no other can move, for they stand for time, or None.
    """

    name: str
    build: Callable[[int], System]
    role: str
    leaves: str
    opening: int
    hub: str | None = None


SUBJECTS: Mapping[str, Subject] = {
    one.name: one
    for one in (
        Subject("watchers", _watchers, "consumer", "leaves", 1),
        Subject("server-side", _server_side, "member", "falls silent", 2),
        Subject("classic", _classic, "client", "leaves", 0, "coordinator"),
    )
}


class MeasuredGroup:
    """A design with so many members, and its transitions: one change at a time, and no fault."""

    def __init__(self, subject: Subject, members: int) -> None:
        self.subject, self.system = subject, subject.build(members)

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The positions of its members, first to last."""
        machines = enumerate(self.system.machines)
        return tuple(position for position, one in machines if one.role == self.subject.role)

    @cached_property
    def _hub(self) -> tuple[int, ...]:
        return (self.system.index[self.subject.hub],) if self.subject.hub else ()

    def by_priority(self, without: Sequence[int] = ()) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(machines that act first, those that act when none of these can), without some that do not act."""
        others = range(len(self.system.machines))
        return tuple(i for i in others if i not in (*self._hub, *without)), self._hub

    def moves(self, position: int, state: State) -> Iterator[Transition]:
        """The transitions of a machine that change something and cost nothing of the budget."""
        for transition in self.system.begun_by(position, state):
            if transition.target != state and all(
                local_step.machine != "budget" for local_step in transition.local_steps
            ):
                yield transition

    def leaving(self, position: int, state: State) -> Transition:
        """The step by which a member leaves."""
        (step,) = (
            transition
            for transition in self.system.begun_by(position, state)
            if transition.label.endswith(self.subject.leaves)
        )
        return step
