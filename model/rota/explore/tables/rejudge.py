"""Judged again: what the tables say of properties beside what the properties' own tests say.

Tables answer for every state; so one wrong entry that says `holds` is enough to hide a violation. A few
states and a few entries are tried by the Python itself, in every run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rota.explore.tables.arrays import Ints
from rota.explore.tables.kept import KeptError
from rota.explore.tables.properties import CODE_BITS, FINE, CheckGroup, Judge
from rota.explore.tables.system import EngineError, Tables, sample
from rota.kernel import Kind

ENTRIES = 256
"""Kept entries of each property and of each group that are tried; of fewer all are."""


def states_again(tables: Tables, rows: Ints) -> None:
    """Judge the states of some rows by `System.holds`. Errors: EngineError where the tables say otherwise."""
    if not len(rows):
        return
    system, judge = tables.system, tables.judge
    broken = np.zeros((len(judge.invariants), len(rows)), np.bool_)
    for rank, where in judge.bad_states(rows):
        broken[rank] |= where
    ends = judge.may_end(rows)
    for number, row in enumerate(rows):
        state = tables.learned.state(row)
        theirs = [not system.holds(prop, state) for prop in judge.invariants]
        wrong = [
            prop.name
            for prop, a, b in zip(judge.invariants, theirs, broken[:, number], strict=True)
            if a != b
        ]
        if ends[number] != all(system.holds(prop, state) for prop in system.select(Kind.TERMINAL)):
            wrong.append("a declared end")
        if wrong:
            raise EngineError(
                f"{system.name}: the tables and the property itself disagree on {', '.join(wrong)} in "
                f"{state!r}; is its function impure?"
            )


def entries_again(judge: Judge) -> None:
    """Judge some of the combinations that earlier runs have judged. Errors: KeptError where it comes out
    otherwise.
    """
    for answers in judge.answers.values():
        pairs, judged = answers.pairs()
        for number in sample(len(pairs), ENTRIES).tolist():
            first, second = pairs[number].tolist()
            if answers.judged_again((first, second)) != judged[number]:
                raise KeptError(f"a combination was judged otherwise by {answers.prop.name}")
    for group in judge.groups:
        known = list(_known(judge, group)) if group.checks else []
        for number in sample(len(known), ENTRIES).tolist():
            first, second, fine = known[number]
            if fine != _fine(group, first, second):
                names = ", ".join(dict.fromkeys(check.prop.name for check in group.checks))
                raise KeptError(f"a combination was judged otherwise by {names}")


def _known(judge: Judge, group: CheckGroup) -> Iterator[tuple[int, int, bool]]:
    """The joint views of each entry, and whether every predicate answered True."""
    used, fine = group.statuses()
    for place, answer in zip(used.tolist(), fine.tolist(), strict=True):
        yield place >> group.bits[1], place & ((1 << group.bits[1]) - 1), answer
    if group.dense is None:
        keys, statuses = judge.pools.sparse.items()
        mine = keys >> 2 * CODE_BITS == group.number
        for key, status in zip(keys[mine].tolist(), statuses[mine].tolist(), strict=True):
            yield key >> CODE_BITS & ((1 << CODE_BITS) - 1), key & ((1 << CODE_BITS) - 1), status == FINE


def _fine(group: CheckGroup, *codes: int) -> bool:
    """What the properties say of joint views, each view asked about a value that shows it."""
    joint = [slot.joint[code] for slot, code in zip(group.slots, codes, strict=False)]
    return all(
        check.prop.holds(
            *(
                group.slots[slot].views[index].seen.looked_at(joint[slot][index])
                for slot, index in check.places
            )
        )
        for check in group.checks
    )
