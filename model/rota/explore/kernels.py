"""The compiled part of the fast engine: walking the tables, the exact set of states, the quick judgement.

Nothing here knows a protocol, a property or Python's values; it sees numbers of values and what
`rota.explore.learn` and `rota.explore.judge` have put into arrays. What is not in the arrays yet is noted as
a miss and left to the caller. All functions run without the interpreter's lock and are cached on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from rota.explore.bundles import NO_OFFER, NO_QUEUE, NO_RECEIVE, NO_STEP
from rota.explore.judge import CODE_BITS
from rota.kernel.encoding import GOLDEN

MAX_DEPTH = 1000
"""Longest chain of messages within a transition."""

OUT_OF_ROOM, TOO_DEEP = -1, -2

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The word in a slot that holds no state."""

_GOLDEN = np.uint64(GOLDEN)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_S27, _S29, _S30, _S31, _S32 = (np.uint64(n) for n in (27, 29, 30, 31, 32))
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_AHEAD = 16
"""Slots that are asked for before the first of them is looked at."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for a row of a two-dimensional array without waiting for it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        zero = context.get_constant(types.intp, 0)
        where = cgutils.get_item_pointer(context, builder, kind, view, [args[1], zero], wraparound=False)
        pointer = builder.bitcast(where, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _mixed(x: Any) -> Any:
    """`rota.kernel.encoding.mix64`."""
    x = (x ^ (x >> _S30)) * _MULTIPLY_1
    x = (x ^ (x >> _S27)) * _MULTIPLY_2
    return x ^ (x >> _S31)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _find(keys: Any, values: Any, shift: Any, key: Any) -> Any:
    """`IntMap.get` for one key."""
    place = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(shift))
    while True:
        found = keys[place]
        if found == key:
            return np.int64(values[place])
        if found < 0:
            return np.int64(-1)
        place = (place + 1) & (len(keys) - 1)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _status(groups: Any, group: Any, first: Any, second: Any) -> Any:
    """The status of a pair of value numbers; 0 where it is not tabulated."""
    if first >= groups.first_known[group]:
        return 0
    code = np.int64(groups.codes[groups.first_at[group] + first])
    other = np.int64(0)
    if groups.second[group] >= 0:
        if second >= groups.second_known[group]:
            return 0
        other = np.int64(groups.codes[groups.second_at[group] + second])
    if code < 0 or other < 0:
        return 0
    if groups.status_size[group] == 0:
        key = (groups.number[group] << (2 * CODE_BITS)) | (code << CODE_BITS) | other
        return max(0, _find(groups.sparse_keys, groups.sparse_values, groups.sparse_shift, key))
    at = (code << groups.bits[group]) | other
    if at >= groups.status_size[group]:
        return 0
    return np.int64(groups.status[groups.status_at[group] + at])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _code(keys: Any, index: Any, unit: Any) -> Any:
    """64 well mixed bits of a state: the upper ones choose the slot, the lower ones the owner."""
    mixed = keys[index, 0] * _GOLDEN
    for word in range(1, len(unit)):
        mixed = (mixed ^ (mixed >> _S32) ^ keys[index, word]) * _GOLDEN
    mixed ^= mixed >> _S29
    mixed *= _MULTIPLY_1
    return mixed ^ (mixed >> _S32)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _owner(code: Any, owners: Any) -> Any:
    return np.int64(((code & _LOW) * np.uint64(owners)) >> _S32)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def owner(keys: Any, owners: Any, unit: Any) -> Any:
    """Who of so many owns each state."""
    out = np.zeros(len(keys), np.int64)
    for index in range(len(keys)):
        out[index] = _owner(_code(keys, index, unit), owners)
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def expand(
    keys: Any, todo: Any, start: Any, learnt: Any, fields: Any, steps: Any, room: Any, unit: Any
) -> Any:
    """Successors of the states keys[todo[start:]]; returns where it stopped, for want of room.

    A state for which something is missing leaves no successors; it is noted to be tried again.
    """
    owners, capacity = room.out.shape[0], room.out.shape[1]
    machines = len(fields.word)
    key = np.empty((MAX_DEPTH + 2, len(unit)), np.uint64)
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
            value = (key[0, fields.word[position]] >> fields.shift[position]) & fields.mask[position]
            entry = np.int64(learnt.offers[learnt.offers_at[position] + np.int64(value)])
            if entry < 0:
                missing = True
                _miss(room, NO_OFFER, position, np.int64(value), 0)
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
                    joined = _find(learnt.join_keys, learnt.join_values, learnt.join_shift, both)
                    if joined < 0:
                        missing = True
                        _miss(room, NO_QUEUE, 0, pending, sends)
                        continue
                    pending = joined
                if pending != 0:
                    delivery = np.int64(learnt.head[pending])
                    there = np.int64(learnt.receiver[delivery])
                    held = (key[depth + 1, fields.word[there]] >> fields.shift[there]) & fields.mask[there]
                    wanted = (np.int64(held) << 32) | delivery
                    entry = _find(learnt.receive_keys, learnt.receive_values, learnt.receive_shift, wanted)
                    if entry < 0:
                        missing = True
                        _miss(room, NO_RECEIVE, there, np.int64(held), delivery)
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
                    field_word, field_shift, field_mask = (
                        fields.word[at], fields.shift[at], fields.mask[at])  # fmt: skip
                    first = np.int64((key[0, field_word] >> field_shift) & field_mask)
                    second = np.int64((key[depth + 1, field_word] >> field_shift) & field_mask)
                    judged = _status(steps, group, first, second)
                    if judged == 0:
                        missing = True
                        _miss(room, NO_STEP, group, first, second)
                    elif judged == 2:
                        room.counts[4] += 1
                if missing:
                    continue
                to_whom = _owner(_code(key, depth + 1, unit), owners)
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
def _miss(room: Any, kind: Any, position: Any, first: Any, second: Any) -> None:
    code = _mixed(np.uint64((first << 32) | second) ^ (np.uint64(position * 4 + kind) << np.uint64(57)))
    code |= _ONE  # 0 is nothing asked
    place = np.int64((code >> _ONE) & np.uint64(len(room.asked) - 1))
    if room.asked[place] == code:
        return
    number = room.counts[3]
    if number < len(room.misses):
        room.asked[place] = code
        room.misses[number, 0] = kind
        room.misses[number, 1] = position
        room.misses[number, 2] = first
        room.misses[number, 3] = second
        room.counts[3] = number + 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def absorb(
    incoming: Any, begin: Any, end: Any,
    slots: Any, shift: Any, used: Any, most: Any, fresh: Any, filled: Any, unit: Any,
) -> Any:  # fmt: skip
    """Enter states incoming[begin:end] into the slots; new ones are also appended to `fresh`.

    Returns (where it stopped, slots in use, states in fresh): it stops at `most` slots in use and when
    `fresh` is full.
    """
    last_slot = len(slots) - 1
    places = np.empty(_AHEAD, np.int64)
    at = begin
    while at < end:
        batch = min(_AHEAD, end - at)
        for ahead in range(batch):
            places[ahead] = np.int64(_code(incoming, at + ahead, unit) >> np.uint64(shift))
            _prefetch(slots, places[ahead])
        for ahead in range(batch):
            if used == most or filled == len(fresh):
                return at, used, filled
            place = places[ahead]
            while True:
                if slots[place, 0] == FREE:
                    for word in range(len(unit)):
                        slots[place, word] = incoming[at, word]
                        fresh[filled, word] = incoming[at, word]
                    used += 1
                    filled += 1
                    break
                same = True
                for word in range(len(unit)):
                    if slots[place, word] != incoming[at, word]:
                        same = False
                if same:
                    break
                place = (place + 1) & last_slot
            at += 1
    return at, used, filled


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def codes(keys: Any, unit: Any) -> Any:
    """The code of each state."""
    out = np.empty(len(keys), np.uint64)
    for index in range(len(keys)):
        out[index] = _code(keys, index, unit)
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def strike(keys: Any, known: Any, fresh: Any, unit: Any) -> None:
    """Clear the flags of those states that are known too; both are in order of their codes."""
    at = 0
    for index in range(len(keys)):
        code = _code(keys, index, unit)
        while at < len(known) and _code(known, at, unit) < code:
            at += 1
        twin = at
        while twin < len(known) and _code(known, twin, unit) == code:
            same = True
            for word in range(len(unit)):
                if known[twin, word] != keys[index, word]:
                    same = False
            if same:
                fresh[index] = False
            twin += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def refill(keys: Any, slots: Any, shift: Any, unit: Any) -> None:
    """Enter states that are distinct and not there into slots with room for them."""
    last_slot = len(slots) - 1
    places = np.empty(_AHEAD, np.int64)
    at = 0
    while at < len(keys):
        batch = min(_AHEAD, len(keys) - at)
        for ahead in range(batch):
            places[ahead] = np.int64(_code(keys, at + ahead, unit) >> np.uint64(shift))
            _prefetch(slots, places[ahead])
        for ahead in range(batch):
            place = places[ahead]
            while slots[place, 0] != FREE:
                place = (place + 1) & last_slot
            for word in range(len(unit)):
                slots[place, word] = keys[at, word]
            at += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scan(
    keys: Any, fields: Any, lanes: Any, groups: Any, asks: Any, total: Any, found: Any, unit: Any
) -> Any:
    """Add up the hashes of all states; note those that the caller has to look at.

    asks[group]: bits of the statuses (0 unknown, 1 fine, 2 not) that need a look. total: four sums of
    32-bit halves, lowest first. Returns how many are noted in `found`, which has room for all.
    """
    noted = 0
    for number in range(len(keys)):
        lane_high = lane_low = np.uint64(0)
        for position in range(len(fields.word)):
            value = np.int64(
                (keys[number, fields.word[position]] >> fields.shift[position]) & fields.mask[position]
            )
            lane_high += lanes.high[lanes.high_at[position] + value]
            lane_low += lanes.low[lanes.low_at[position] + value]
        lane_low = _mixed(lane_low ^ _mixed(lane_high))
        lane_high = _mixed(lane_high + lane_low)
        total[0] += lane_low & _LOW
        total[1] += lane_low >> _S32
        total[2] += lane_high & _LOW
        total[3] += lane_high >> _S32
        for group in range(len(groups.first)):
            place = groups.first[group]
            first = np.int64((keys[number, fields.word[place]] >> fields.shift[place]) & fields.mask[place])
            second = np.int64(0)
            place = groups.second[group]
            if place >= 0:
                second = np.int64(
                    (keys[number, fields.word[place]] >> fields.shift[place]) & fields.mask[place]
                )
            status = _status(groups, group, first, second)
            if asks[group] >> status & 1:
                found[noted] = number
                noted += 1
                break
    return noted
