"""What every machine can begin in a state, and what it cannot, with the reasons that machines give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from rota.kernel import DeadEnd, LocalStep, Machine, State, System, Transition, UserError, guarded
from rota.kernel.refusals import refusals, why_refused
from rota.trace import render


@dataclass(frozen=True)
class Refused:
    """A move that is not possible here.

    label: what it would do; by: the machine that does not do it or refuses a message of it; message: that
    message as text, empty where the move is not begun at all; reason: the machine's own, empty if it says
    none.
    """

    label: str
    by: str
    message: str = ""
    reason: str = ""

    @property
    def said(self) -> str:
        """Why it is not possible, in a line."""
        return f"{self.by}: {self.reason}" if self.reason else f"refused by {self.by}"


@dataclass(frozen=True)
class Offer:
    """What a machine can begin. mistake: what it does wrongly when it is asked, empty if nothing."""

    machine: str
    moves: tuple[Transition, ...] = ()
    refused: tuple[Refused, ...] = ()
    mistake: str = ""


def offers(system: System, state: State) -> tuple[Offer, ...]:
    """An offer for each machine. All moves together are the state's transitions, each once."""
    watched = guarded(system)
    return tuple(_offer(system, watched, position, state) for position in range(len(system.machines)))


def _offer(system: System, watched: System, position: int, state: State) -> Offer:
    machine = system.machines[position]
    try:
        moves = tuple(dict.fromkeys(watched.begun_by(position, state)))
        ended = _ended(system, watched.dead_ends(position, state))
        refused = tuple(dict.fromkeys(chain(ended, _unable(machine, state[position]))))
    except UserError as mistake:
        return Offer(machine.name, mistake=str(mistake))
    return Offer(machine.name, moves, refused)


def _ended(system: System, dead: Sequence[DeadEnd]) -> Iterator[Refused]:
    """Moves that are begun and end since a machine refuses a message."""
    for one in dead:
        machine = system.machines[system.index[one.machine]]
        why = why_refused(machine, one)
        yield Refused(_label(one.local_steps), one.machine, render(one.message), why or "")


def _label(local_steps: tuple[LocalStep, ...]) -> str:
    return Transition((), local_steps).label or f"a move of {local_steps[0].machine}"


def _unable(machine: Machine, value: object) -> Iterator[Refused]:
    """Moves that are not begun."""
    for one in refusals(machine, value):
        yield Refused(one.label, machine.name, "", one.reason)
