"""Judged again: what the tables say of properties beside what the properties' own tests say.

Tables answer for every state; so one wrong entry that says `holds` is enough to hide a violation. A few
states and a few entries are tried by the Python itself, in every run.
"""

from __future__ import annotations

import numpy as np

from rota.explore.tables.arrays import Flags, Ints, Longs
from rota.explore.tables.kept import KeptError
from rota.explore.tables.properties import CODE_BITS, FINE, CheckGroup, Judge
from rota.explore.tables.system import EngineError, Tables, sample
from rota.kernel import Kind

ENTRIES = 12
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
        first, second, fine = _known(judge, group)
        for number in sample(len(fine), ENTRIES).tolist() if group.checks else ():
            if fine[number] != _fine(group, int(first[number]), int(second[number])):
                names = ", ".join(dict.fromkeys(check.prop.name for check in group.checks))
                raise KeptError(f"a combination was judged otherwise by {names}")


def _known(judge: Judge, group: CheckGroup) -> tuple[Longs, Longs, Flags]:
    """The joint views of each entry, and whether every predicate answered True."""
    if group.dense is None:
        keys, statuses = judge.pools.sparse.items()
        mine, mask = keys >> 2 * CODE_BITS == group.number, (1 << CODE_BITS) - 1
        return keys[mine] >> CODE_BITS & mask, keys[mine] & mask, statuses[mine] == FINE
    used, fine = group.statuses()
    return used >> group.bits[1], used & ((1 << group.bits[1]) - 1), fine


def _fine(group: CheckGroup, *codes: int) -> bool:
    """What the properties say of joint views, each view asked about a value that shows it."""
    joint = [slot.joint.data[code].tolist() for slot, code in zip(group.slots, codes, strict=False)]
    return all(
        check.prop.holds(
            *(
                group.slots[slot].views[index].seen.looked_at(joint[slot][index])
                for slot, index in check.places
            )
        )
        for check in group.checks
    )
