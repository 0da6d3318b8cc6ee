"""Which steps decide that a run contradicts a property.

A step decides if the contradiction is gone once what it changed is undone where the property looks: it is
taken back in the last state, as far as it has stood ever since, and the property is asked again. That is
computed, and it is all that is claimed. The state that is asked about need not be one that the system can
come to; where a property makes a mistake about it, it counts as contradicted still.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rota.kernel import Kind, Liveness, LivenessKind, Property, State, System
from rota.trace import endless
from rota.trace.model import Decisive, Part
from rota.trace.render import differences
from rota.trace.undo import undone

Choice = tuple[int, ...]
"""Positions of machines, one for each view of a property."""


@dataclass(frozen=True)
class _Look:
    """What a property looks at. at: positions of states in the run; contradicted: whether it is, by them."""

    at: tuple[int, ...]
    contradicted: Callable[[Sequence[State]], bool]

    def without(self, undo: Callable[[int], State]) -> bool:
        """Whether it is not contradicted any more, with a step undone. undo: the state at a position then."""
        try:
            return not self.contradicted([undo(at) for at in self.at])
        except Exception:  # it, or a value that checks itself, does not bear what no run leads to
            return False


def decisive(
    system: System, prop: Property | Liveness | None, states: Sequence[State], cycle: int | None = None
) -> tuple[Decisive, ...]:
    """The steps that decide, in order; none where nothing can be undone alone, as in a deadlock.

    Parameters: system; prop, which is contradicted by the run that passed these states, None for a deadlock;
    cycle, of an endless run. Of several choices of machines the first one is looked at.
    """
    if prop is None:
        return ()
    if isinstance(prop, Liveness):
        broken = endless.breaking(system, prop, states, cycle or 0)
        looks = [_lasting(prop, choice, states, cycle or 0) for choice in broken[:1]]
    else:
        broken = _contradicting(system, prop, states)
        looks = [_ended(prop, choice, states) for choice in broken[:1]]
    return tuple(one for each in looks for one in _deciding(system, broken[0], each, states))


def _contradicting(system: System, prop: Property, states: Sequence[State]) -> tuple[Choice, ...]:
    """The choices of machines on which a run that ends contradicts a property."""
    looked = states[-2:] if prop.kind is Kind.STEP else states[-1:]
    return tuple(one for one in system.positions(prop) if not _holds(prop, one, looked))


def _holds(prop: Property, choice: Choice, looked: Sequence[State]) -> bool:
    chosen = list(zip(prop.views, choice, strict=True))
    return prop.holds(*(view.of(state[place]) for state in looked for view, place in chosen))


def _ended(prop: Property, choice: Choice, states: Sequence[State]) -> list[_Look]:
    """Where it is seen of a run that ends: in its last state, or in its last two."""
    last = len(states) - 1
    at = (last - 1, last) if prop.kind is Kind.STEP else (last,)
    return [_Look(at, lambda undone: not _holds(prop, choice, undone))]


def _lasting(prop: Liveness, choice: Choice, states: Sequence[State], cycle: int) -> list[_Look]:
    """Where it is seen of a run that never ends: in its cycle, and where its premise became true."""

    def says(test: Callable[..., bool], state: State) -> bool:
        return endless.says(prop, choice, test, state)

    worst = endless.worst(prop, choice, states, cycle)
    good = [at for at, state in enumerate(states) if says(prop.test, state)]
    looks = [_Look((states.index(worst),), lambda undone: not says(prop.test, undone[0]))]
    if prop.kind is LivenessKind.LEADS_TO and prop.given is not None:
        given = prop.given
        after = range(max(good, default=-1) + 1, len(states))
        owed = next(at for at in after if says(given, states[at]))
        looks.append(_Look((owed,), lambda undone: says(given, undone[0])))
    return looks


def _deciding(
    system: System, choice: Choice, looks: Sequence[_Look], states: Sequence[State]
) -> Iterator[Decisive]:
    """Each step with what of it decides alone, or else with all of it where it decides together."""
    names = {place: system.machines[place].name for place in choice}
    for index, (before, after) in enumerate(pairwise(states), 1):
        changed = _changed(names, before, after)

        def decides(parts: Collection[Part], index: int = index) -> bool:
            def undo(at: int) -> State:
                return _undone(names, states[index - 1 : at + 1], parts) if at >= index else states[at]

            return any(look.without(undo) for look in looks if look.at[-1] >= index)

        alone = [part for part in changed if decides({part})]
        if alone or (changed and decides(changed)):
            yield Decisive(index, tuple(alone or changed))


def _changed(names: dict[int, str], before: State, after: State) -> tuple[Part, ...]:
    """What a step changed in some machines. names: of them, by their places."""
    parts = (
        (name, one.path)
        for place, name in names.items()
        for one in differences(name, before[place], after[place])
    )
    return tuple(dict.fromkeys(parts))


def _undone(names: dict[int, str], states: Sequence[State], parts: Collection[Part]) -> State:
    """The last of some states, without some of what the step between the first two changed."""
    values = list(states[-1])
    for place, name in names.items():
        paths = {path for machine, path in parts if machine == name}
        before, after, *_ = each = [state[place] for state in states]
        values[place] = undone(each[1:], before, after, paths)
    return tuple(values)
