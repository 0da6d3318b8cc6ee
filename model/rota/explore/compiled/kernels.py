"""Walking the tables in compiled code: successors of states, and a quick judgement of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rota.explore.compiled.arguments import NO_OFFER, NO_QUEUE, NO_RECEIVE, NO_STEP
from rota.explore.compiled.canonical import canonical_at
from rota.explore.compiled.primitives import LOW, find, mixed, note_miss, owner_of, status_of, value_of

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
    key = np.empty((MAX_DEPTH + 4, len(unit)), np.uint64)
    place = np.empty(MAX_DEPTH + 2, np.int64)
    turn = np.empty(MAX_DEPTH + 2, np.int64)
    last = np.empty(MAX_DEPTH + 2, np.int64)
    queue = np.empty(MAX_DEPTH + 2, np.int64)
    before = np.empty(owners, np.int64)
    for number in range(start, len(todo)):
        state = todo[number]
        for owner in range(owners):
            before[owner] = room.out_count[owner]
        missing = False
        moving = False
        made = 0
        for word in range(len(unit)):
            key[0, word] = keys[state, word]
        for position in range(machines):
            value = value_of(key, 0, position, fields)
            entry = np.int64(learnt.offers[learnt.offers_at[position] + value])
            if entry < 0:
                missing = True
                note_miss(room, NO_OFFER, position, value, 0)
                continue
            depth = 0
            place[0] = position
            turn[0] = learnt.entry_start[entry] - 1
            last[0] = turn[0] + learnt.entry_count[entry]
            queue[0] = 0
            while depth >= 0:
                if turn[depth] == last[depth]:
                    depth -= 1
                    continue
                turn[depth] += 1
                taken = turn[depth]
                here = place[depth]
                for word in range(len(unit)):
                    key[depth + 1, word] = key[depth, word]
                home, shift, mask = fields.word[here], fields.shift[here], fields.mask[here]
                key[depth + 1, home] &= ~(mask << shift)
                key[depth + 1, home] |= np.uint64(learnt.turn_value[taken]) << shift
                pending = queue[depth]
                sends = np.int64(learnt.turn_sends[taken])
                if pending == 0:
                    pending = sends
                elif sends != 0:
                    both = (pending << 32) | sends
                    joined = find(learnt.join_keys, learnt.join_values, learnt.join_shift, both)
                    if joined < 0:
                        missing = True
                        note_miss(room, NO_QUEUE, 0, pending, sends)
                        continue
                    pending = joined
                if pending != 0:
                    delivery = np.int64(learnt.head[pending])
                    there = np.int64(learnt.receiver[delivery])
                    held = value_of(key, depth + 1, there, fields)
                    wanted = (held << 32) | delivery
                    entry = find(learnt.receive_keys, learnt.receive_values, learnt.receive_shift, wanted)
                    if entry < 0:
                        missing = True
                        note_miss(room, NO_RECEIVE, there, held, delivery)
                        continue
                    if depth == MAX_DEPTH:
                        return TOO_DEEP
                    depth += 1
                    place[depth] = there
                    turn[depth] = learnt.entry_start[entry] - 1
                    last[depth] = turn[depth] + learnt.entry_count[entry]
                    queue[depth] = np.int64(learnt.rest[pending])
                    continue
                same = True
                for word in range(len(unit)):
                    if key[depth + 1, word] != key[0, word]:
                        same = False
                moving = moving or not same
                for group in range(len(steps.first)):
                    at = steps.first[group]
                    first = value_of(key, 0, at, fields)
                    second = value_of(key, depth + 1, at, fields)
                    judged = status_of(steps, group, first, second)
                    if judged == 0:
                        missing = True
                        note_miss(room, NO_STEP, group, first, second)
                    elif judged == 2:
                        room.counts[4] += 1
                if len(turning.homes) > 0 and not canonical_at(
                    key, depth + 1, fields, lanes, turning, room, unit
                ):
                    missing = True
                if missing:
                    continue
                to_whom = owner_of(key, depth + 1, fields, owners)
                to = room.out_count[to_whom]
                if to == capacity:
                    for each in range(owners):
                        room.out_count[each] = before[each]
                    return number
                for word in range(len(unit)):
                    room.out[to_whom, to, word] = key[depth + 1, word]
                room.out_count[to_whom] = to + 1
                made += 1
                for level in range(depth + 1):
                    room.marks[turn[level]] = 1
        if missing:
            for each in range(owners):
                room.out_count[each] = before[each]
            room.again[room.counts[2]] = state
            room.counts[2] += 1
            continue
        room.counts[0] += made
        if not moving:
            room.stuck[room.counts[1]] = state
            room.counts[1] += 1
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
