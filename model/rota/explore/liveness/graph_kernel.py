"""Building the graph in compiled code: states are numbered breadth first, edges are kept in their order.

The walk from local step to local step in `grow` is that of `kernels.expand`, written out in both on purpose.
As a function of its own it is given thirty arrays for each transition, whose references numba counts, whether
it inlines the call or not: searches then took four times as long.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rota.explore.compiled.arguments import NO_OFFER, NO_QUEUE, NO_RECEIVE
from rota.explore.compiled.primitives import AGAIN_AT, code_of, find, note_miss, value_of
from rota.explore.compiled.stale_code import forget_stale
from rota.explore.liveness.fairness_labels import (
    BY_OUTCOMES,
    NO_KIND,
    NO_LOCAL_STEP,
    NO_OUTCOME,
    NO_OUTCOME_KIND,
    UNKNOWN,
)
from rota.explore.tables.arrays import Longs, Words

forget_stale(Path(__file__).parent)  # before anything is compiled or taken from disk

MAX_LOCAL_STEPS = 1000
"""Longest chain of messages within a transition."""

DONE, MISSED, NO_EDGES, NO_STATES, NO_SLOTS, TOO_DEEP = range(6)
"""Why `grow` returned: it is done, or what was missing, or which array was full."""

FREE = -1
"""A slot that holds no state."""


class MissLog(NamedTuple):
    """Misses, and the states in whose expansion something was missing.

    asked, counts: as in `rota.explore.compiled.arguments.Room`, of which `AGAIN_AT` and `MISSES_AT` are used.
    """

    misses: Longs
    asked: Words
    again: Longs
    counts: Longs


def new_miss_log(states: int, most: int = 1 << 16) -> MissLog:
    """An empty log with space for so many states and misses."""
    asked = np.zeros(2 * most, np.uint64)
    return MissLog(np.empty((most, 4), np.int64), asked, np.empty(states, np.int64), np.zeros(4, np.int64))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _longer(chain: Any, number: Any, chains: Any, shift: Any, kind: Any, miss_log: Any) -> Any:
    """The chain that is one number longer; -1 and a miss where it has no number yet."""
    if chain < 0:
        return np.int64(-1)
    longer = find(chains, shift, (chain << 32) | number)
    if longer < 0:
        note_miss(miss_log, kind, 0, chain, number)
    return longer


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _kind_of(chain: Any, outcome: Any, depth: Any, labels: Any, miss_log: Any) -> Any:
    """The kind of a transition by its local steps, else by outcome[: depth + 1]; below 0 a miss."""
    kind = np.int64(labels.by_local_steps[chain])
    if kind == UNKNOWN:
        note_miss(miss_log, NO_KIND, 0, chain, 0)
        return np.int64(-1)
    if kind != BY_OUTCOMES:
        return kind
    longer = np.int64(0)
    for level in range(depth + 1):
        longer = _longer(
            longer,
            outcome[level],
            labels.outcomes,
            labels.outcome_shift,
            NO_OUTCOME,
            miss_log,
        )
    if longer < 0:
        return np.int64(-1)
    kind = np.int64(labels.by_outcomes[longer])
    if kind < 0:
        note_miss(miss_log, NO_OUTCOME_KIND, 0, longer, 0)
    return kind


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _slot_of(key: Any, index: Any, keys: Any, slots: Any, shift: Any, unit: Any) -> Any:
    """The slot of a state: one that holds its number, or the free one where that belongs."""
    place = np.int64(code_of(key, index, unit) >> np.uint64(shift))
    while slots[place] != FREE:
        same = True
        for word in range(len(unit)):
            if keys[slots[place], word] != key[index, word]:
                same = False
        if same:
            break
        place = (place + 1) & (len(slots) - 1)
    return place


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def enter(keys: Any, end: Any, slots: Any, shift: Any, unit: Any) -> Any:
    """Number the states keys[:end] in slots that hold none; returns how many differ, which are kept."""
    count = 0
    for index in range(end):
        place = _slot_of(keys, index, keys, slots, shift, unit)
        if slots[place] == FREE:
            slots[place] = count
            for word in range(len(unit)):
                keys[count, word] = keys[index, word]
            count += 1
    return count


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def grow(
    keys: Any,
    count: Any,
    slots: Any,
    shift: Any,
    todo: Any,
    trying: Any,
    learnt: Any,
    labels: Any,
    fields: Any,
    offsets: Any,
    targets: Any,
    kinds: Any,
    miss_log: Any,
    unit: Any,
) -> Any:
    """Expand the states todo: their edges in the order of `System.successors`; new states are numbered.

    Returns (the first state that is not expanded yet, how many states there are, why). From the first miss on
    nothing is written; the rest is only walked to find what else is missing. trying: do that from the start.
    """
    most = len(slots) // 10 * 7
    machines = len(fields.word)
    key = np.empty((MAX_LOCAL_STEPS + 4, len(unit)), np.uint64)
    place = np.empty(MAX_LOCAL_STEPS + 2, np.int64)
    outcome = np.empty(MAX_LOCAL_STEPS + 2, np.int64)
    last = np.empty(MAX_LOCAL_STEPS + 2, np.int64)
    queue = np.empty(MAX_LOCAL_STEPS + 2, np.int64)
    chain = np.empty(MAX_LOCAL_STEPS + 3, np.int64)
    chain[0] = 0
    stopped = np.int64(todo[0] if trying else -1)
    edges = offsets[todo[0]]
    for number in todo:
        missing = False
        for word in range(len(unit)):
            key[0, word] = keys[number, word]
        for position in range(machines):
            value = value_of(key, 0, position, fields)
            entry = np.int64(learnt.actions[learnt.actions_at[position] + value])
            if entry < 0:
                missing = True
                note_miss(miss_log, NO_OFFER, position, value, 0)
                continue
            depth = 0
            place[0] = position
            outcome[0] = learnt.entries[entry, 0] - 1
            last[0] = outcome[0] + learnt.entries[entry, 1]
            queue[0] = 0
            while depth >= 0:
                if outcome[depth] == last[depth]:
                    depth -= 1
                    continue
                outcome[depth] += 1
                taken = outcome[depth]
                here = place[depth]
                chain[depth + 1] = _longer(
                    chain[depth],
                    np.int64(labels.local_step_of[taken]),
                    labels.local_steps,
                    labels.local_step_shift,
                    NO_LOCAL_STEP,
                    miss_log,
                )
                for word in range(len(unit)):
                    key[depth + 1, word] = key[depth, word]
                word_at, bits, mask = fields.word[here], fields.shift[here], fields.mask[here]
                key[depth + 1, word_at] &= ~(mask << bits)
                key[depth + 1, word_at] |= np.uint64(learnt.outcomes[taken, 0]) << bits
                pending = queue[depth]
                sends = np.int64(learnt.outcomes[taken, 1])
                if pending == 0:
                    pending = sends
                elif sends != 0:
                    both = (pending << 32) | sends
                    joined = find(learnt.joins, learnt.join_shift, both)
                    if joined < 0:
                        missing = True
                        note_miss(miss_log, NO_QUEUE, 0, pending, sends)
                        continue
                    pending = joined
                if pending != 0:
                    delivery = np.int64(learnt.head[pending])
                    there = np.int64(learnt.receiver[delivery])
                    held = value_of(key, depth + 1, there, fields)
                    wanted = (held << 32) | delivery
                    entry = find(learnt.receives, learnt.receive_shift, wanted)
                    if entry < 0:
                        missing = True
                        note_miss(miss_log, NO_RECEIVE, there, held, delivery)
                        continue
                    if depth == MAX_LOCAL_STEPS:
                        return number, count, TOO_DEEP
                    depth += 1
                    place[depth] = there
                    outcome[depth] = learnt.entries[entry, 0] - 1
                    last[depth] = outcome[depth] + learnt.entries[entry, 1]
                    queue[depth] = np.int64(learnt.rest[pending])
                    continue
                kind = np.int64(-1)
                if chain[depth + 1] >= 0:
                    kind = _kind_of(chain[depth + 1], outcome, depth, labels, miss_log)
                if kind < 0:
                    missing = True
                if missing or stopped >= 0:
                    continue
                if edges == len(targets):
                    return number, count, NO_EDGES
                slot = _slot_of(key, depth + 1, keys, slots, shift, unit)
                if slots[slot] == FREE:
                    if count == len(keys):
                        return number, count, NO_STATES
                    if count >= most:
                        return number, count, NO_SLOTS
                    slots[slot] = count
                    for word in range(len(unit)):
                        keys[count, word] = key[depth + 1, word]
                    count += 1
                targets[edges] = slots[slot]
                kinds[edges] = kind
                edges += 1
        if missing:
            miss_log.again[miss_log.counts[AGAIN_AT]] = number
            miss_log.counts[AGAIN_AT] += 1
            if stopped < 0:
                stopped = number
        elif stopped < 0:
            offsets[number + 1] = edges
    if stopped >= 0:
        return stopped, count, MISSED
    return todo[-1] + 1, count, DONE
