"""Walking the tables in compiled code: successors of states, and a quick judgement of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rota.explore.compiled.arguments import NO_OFFER, NO_QUEUE, NO_RECEIVE, NO_STEP
from rota.explore.compiled.canonical import canonical_at
from rota.explore.compiled.primitives import (
    AGAIN_AT,
    BAD_STEPS_AT,
    LOW,
    STUCK_AT,
    TRANSITIONS_AT,
    find,
    index,
    mixed,
    note_miss,
    owner_of,
    status_of,
    value_of,
    weight_of,
    weights,
)

MAX_DEPTH = 1000
"""Longest chain of messages within a transition."""

TOO_DEEP = -2

_S32 = np.uint64(32)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def expand(
    keys: Any,
    todo: Any,
    start: Any,
    learnt: Any,
    fields: Any,
    lanes: Any,
    steps: Any,
    turning: Any,
    room: Any,
    unit: Any,
) -> Any:
    """Successors of the states keys[todo[start:]]; returns where it stopped, for want of room.

    A state for which something is missing leaves no successors; it is noted to be tried again.
    """
    owners, capacity = room.out.shape[0], room.out.shape[1]
    machines = len(fields.word)
    # Per local step of the transition being walked: the state before it, and what tells who owns that.
    key = np.empty((MAX_DEPTH + 4, len(unit)), np.uint64)
    sums = np.zeros(MAX_DEPTH + 2, np.uint64)
    weight = weights(machines)
    # The outcomes that are left at the local steps before this one, and the outcome that was taken at each.
    next_outcome = np.empty(MAX_DEPTH + 2, np.int64)
    end_outcome = np.empty(MAX_DEPTH + 2, np.int64)
    place = np.empty(MAX_DEPTH + 2, np.int64)
    value = np.empty(MAX_DEPTH + 2, np.int64)
    queue = np.empty(MAX_DEPTH + 2, np.int64)
    outcome = np.empty(MAX_DEPTH + 2, np.int64)
    before = np.empty(owners, np.int64)
    # Counted here and not in the room: the rooms of two workers may share a line of the cache.
    count = np.zeros(owners, np.int64)
    transitions = 0
    for number in range(start, len(todo)):
        state = index(todo[number])
        for owner in range(owners):
            before[owner] = count[owner]
        missing = False
        moving = False
        made = 0
        for word in range(len(unit)):
            key[0, word] = keys[state, word]
        if owners > 1:
            sums[0] = weight_of(key, 0, fields, weight)
        for position in range(machines):
            held = value_of(key, 0, position, fields)
            entry = np.int64(learnt.actions[index(learnt.actions_at[position] + held)])
            if entry < 0:
                missing = True
                note_miss(room, NO_OFFER, position, held, 0)
                continue
            depth = 0
            here = np.int64(position)
            rest = np.int64(0)
            taken = learnt.entries[entry, 0]
            end = taken + learnt.entries[entry, 1]
            while True:
                if taken == end:
                    if depth == 0:
                        break
                    depth -= 1
                    taken, end = next_outcome[index(depth)], end_outcome[index(depth)]
                    here, held, rest = place[index(depth)], value[index(depth)], queue[index(depth)]
                    continue
                now, after = index(depth), index(depth + 1)
                outcome[now] = taken
                changed = np.int64(np.uint32(learnt.outcomes[index(taken), 0]))
                pending = np.int64(np.uint32(learnt.outcomes[index(taken), 1]))
                taken += 1
                for word in range(len(unit)):
                    key[after, word] = key[now, word]
                key[after, fields.word[here]] ^= np.uint64(held ^ changed) << fields.shift[here]
                if owners > 1:
                    sums[after] = sums[now] + weight[here] * np.uint64(changed - held)
                if rest != 0:
                    if pending == 0:
                        pending = rest
                    else:
                        both = (rest << 32) | pending
                        joined = find(learnt.joins, learnt.join_shift, both)
                        if joined < 0:
                            missing = True
                            note_miss(room, NO_QUEUE, 0, rest, pending)
                            continue
                        pending = joined
                if pending != 0:
                    delivery = np.int64(np.uint32(learnt.head[index(pending)]))
                    there = np.int64(np.uint32(learnt.receiver[delivery]))
                    met = value_of(key, after, there, fields)
                    wanted = (met << 32) | delivery
                    entry = find(learnt.receives, learnt.receive_shift, wanted)
                    if entry < 0:
                        missing = True
                        note_miss(room, NO_RECEIVE, there, met, delivery)
                        continue
                    if depth == MAX_DEPTH:
                        return TOO_DEEP
                    next_outcome[now], end_outcome[now] = taken, end
                    place[now], value[now], queue[now] = here, held, rest
                    depth += 1
                    here, held, rest = there, met, np.int64(learnt.rest[index(pending)])
                    taken = learnt.entries[entry, 0]
                    end = taken + learnt.entries[entry, 1]
                    continue
                same = True
                for word in range(len(unit)):
                    if key[after, word] != key[0, word]:
                        same = False
                moving = moving or not same
                for group in range(len(steps.first)):
                    at = steps.first[group]
                    first = value_of(key, 0, at, fields)
                    second = value_of(key, after, at, fields)
                    judged = status_of(steps, group, first, second)
                    if judged == 0:
                        missing = True
                        note_miss(room, NO_STEP, group, first, second)
                    elif judged == 2:
                        room.counts[BAD_STEPS_AT] += 1
                if len(turning.homes) > 0:
                    if not canonical_at(key, depth + 1, fields, lanes, turning, room, unit):
                        missing = True
                    elif owners > 1:
                        sums[after] = weight_of(key, after, fields, weight)
                if missing:
                    continue
                to_whom = index(owner_of(sums[after], owners))
                to = count[to_whom]
                if to == capacity:
                    room.out_count[:] = before
                    room.counts[TRANSITIONS_AT] += transitions
                    return number
                for word in range(len(unit)):
                    room.out[to_whom, index(to), word] = key[after, word]
                count[to_whom] = to + 1
                made += 1
                for level in range(depth + 1):
                    room.marks[index(outcome[level])] = 1
        if missing:
            for owner in range(owners):
                count[owner] = before[owner]
            room.again[room.counts[AGAIN_AT]] = state
            room.counts[AGAIN_AT] += 1
            continue
        transitions += made
        if not moving:
            room.stuck[room.counts[STUCK_AT]] = state
            room.counts[STUCK_AT] += 1
    room.out_count[:] = count
    room.counts[TRANSITIONS_AT] += transitions
    return len(todo)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scan(keys: Any, fields: Any, lanes: Any, groups: Any, asks: Any, total: Any, found: Any) -> Any:
    """Add up the hashes of all states; note those that the caller has to look at.

    asks[group]: bits of the statuses (0 unknown, 1 fine, 2 not) that need a look. total: four sums of
    32-bit halves, lowest first. Returns how many are noted in `found`, which has room for all.
    """
    noted = 0
    for number in range(len(keys)):
        lane_high = lane_low = np.uint64(0)
        for position in range(len(fields.word)):
            value = value_of(keys, number, position, fields)
            lane_high += lanes.high[lanes.high_at[position] + value]
            lane_low += lanes.low[lanes.low_at[position] + value]
        lane_low = mixed(lane_low ^ mixed(lane_high))
        lane_high = mixed(lane_high + lane_low)
        total[0] += lane_low & LOW
        total[1] += lane_low >> _S32
        total[2] += lane_high & LOW
        total[3] += lane_high >> _S32
        for group in range(len(groups.first)):
            first = value_of(keys, number, groups.first[group], fields)
            second = np.int64(0)
            if groups.second[group] >= 0:
                second = value_of(keys, number, groups.second[group], fields)
            status = status_of(groups, group, first, second)
            if asks[group] >> status & 1:
                found[noted] = number
                noted += 1
                break
    return noted
