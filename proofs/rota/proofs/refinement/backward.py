"""The second direction by itself: formulas with any arguments that a finite universe has.

What they lead to from a group's abstract state must be where something that the group may be asked leads to,
in this group or in another one with the same abstract state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from rota.proofs.core import join, leave
from rota.proofs.core.moves import GIVEN
from rota.proofs.refinement import inputs_of_groups
from rota.proofs.refinement.abstraction import AbstractState, Cast, abstract_state, universe, with_past
from rota.proofs.refinement.compare import left_open, others
from rota.proofs.refinement.forward import AbstractOutcome, Replaced, Runner, Started
from rota.proofs.refinement.inputs import (
    HEARTBEATS,
    JOINS,
    LEAVES,
    SYNCS,
    TIMERS,
    Answer,
    Input,
    Reading,
    reading,
)
from rota.proofs.refinement.outcomes import abstract_outcome, addressed, steps
from rota.spec import Call, Group, LeaveGroupRequest, Spec

BEGIN = (
    *JOINS,
    join.group_max_size_reached,
    *SYNCS,
    *HEARTBEATS,
    *(m for each in TIMERS.values() for m in each),
)
"""Rules that may begin a step, but for a LeaveGroup and the log's answers."""

Question = tuple[Spec, Group, Input]


def beyond(
    spec: Spec, group: Group, replaced: Replaced | None = None
) -> tuple[int, frozenset[AbstractOutcome]]:
    """How many outcomes the formulas have from a group's abstract state, and those that the spec has nowhere.

    Any request, LeaveGroups of one identity, and any timer; not the log's answers, whose one argument is the
    record. replaced: mutants of some formulas.
    """
    here = addressed(group)
    assert here is not None
    shown = with_past(abstract_state(here, here.generation_id))
    questions = [
        (one, here, given)
        for one, given in inputs_of_groups.questions(spec, here)
        if not isinstance(given, Answer) and not _of_two(given)
    ]
    asked = [q for q in questions if reading(*q) is not None]
    ours: set[AbstractOutcome] = set()
    for cast in _casts(read for q in asked if (read := reading(*q))):
        ours |= _outcomes(spec, shown, cast, asked, replaced or {})
    there = {
        abstract_outcome(shown, other, same, step)
        for one, _, given in asked
        for other, same in ((here, given), *((o, s) for _, o, s in others(here, given)))
        for step in steps(one, other, same)
    }
    rest = frozenset(one for one in ours - there if not left_open(one, shown))
    return len(ours), rest


def _of_two(given: Input) -> bool:
    request = given.request if isinstance(given, Call) else None
    return isinstance(request, LeaveGroupRequest) and len(request.members) != 1


def _casts(readings: Iterable[Reading]) -> Iterator[Cast]:
    """All that is named, once for each instance that the new id may have been made for."""
    all_of = [read.cast for read in readings]
    members = {pair for cast in all_of for pair in cast.members}
    instances = frozenset(i for cast in all_of for i in cast.instances)
    made = {instance for who, instance in members if who == inputs_of_groups.FRESH}
    strangers = {inputs_of_groups.STRANGER: None}
    known = {who: i for who, i in members if who != inputs_of_groups.FRESH} | strangers
    for instance in sorted(made, key=str):
        yield Cast(
            frozenset({**known, inputs_of_groups.FRESH: instance}.items()),
            instances,
            frozenset(p for cast in all_of for p in cast.protocols),
            frozenset(a for cast in all_of for a in cast.assignments),
            frozenset(
                r for cast in all_of for r in cast.records if r.newcomer in ("", inputs_of_groups.FRESH)
            ),
        )


def _outcomes(
    spec: Spec, shown: AbstractState, cast: Cast, asked: Sequence[Question], replaced: Replaced
) -> frozenset[AbstractOutcome]:
    runner = Runner(universe(cast, spec.profile), replaced)
    names = sorted(p for p in cast.protocols if p is not None)
    lists = [frozenset(few) for size in range(3) for few in combinations(names, size)]
    known: dict[str, Sequence[Any]] = {
        "fresh": [inputs_of_groups.FRESH],
        "offered": [few.__contains__ for few in lists],
        GIVEN: _given(asked),
    }
    requests = [
        Started(move, {name: values for name, values in known.items() if name in move.args}) for move in BEGIN
    ]
    identity = [Started(move) for move in LEAVES]
    return runner.outcomes(shown, requests) | runner.outcomes(
        shown, [Started(leave.batch_begins)], [identity]
    )


def _given(asked: Sequence[Question]) -> list[Any]:
    """What leaders may give: what one of the requests gives."""
    found = [
        start.choices[GIVEN][0]
        for q in asked
        if (read := reading(*q))
        for start in read.starts
        if GIVEN in start.choices
    ]
    _, group, _ = asked[0]
    by_what = {tuple(give(i) for i in group.members): give for give in found}
    return list(by_what.values())
