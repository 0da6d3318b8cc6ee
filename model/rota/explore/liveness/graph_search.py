"""Compiled searches in a graph of states: strongly connected components, fairness, stems, fair cycles.

The graph is arrays: the edges out of a state are offsets[state] to offsets[state + 1], each leads to
targets[edge] and is of the kind kinds[edge].
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from rota.explore.compiled.stale_code import forget_stale
from rota.kernel.encoding import GOLDEN

forget_stale(Path(__file__).parent)  # before anything is compiled or taken from disk

NOWHERE, START = -2, -1
"""The predecessor edge of a state that was not visited, and of one in which the search began."""

NONE, TOO_MANY_PAIRS = -1, -2
"""Instead of the last pair of a walk: there is none, or too many pairs would have to be visited."""

_GOLDEN = np.uint64(GOLDEN)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def components(offsets: Any, targets: Any, inside: Any) -> Any:
    """Strongly connected components of the states inside (Tarjan's algorithm, without recursion).

    Returns (component of each state, -1 outside; the states inside, one component after another; where each
    component begins there, and their number at the end). 28 bytes a state.
    """
    count = len(inside)
    index = np.zeros(count, np.int32)
    low = np.empty(count, np.int32)
    component = np.full(count, -1, np.int32)
    members = np.empty(count, np.int32)
    stack = np.empty(count, np.int32)
    frames = np.empty(count, np.int32)
    edge = np.empty(count, np.int64)
    starts = np.empty(count + 1, np.int32)
    found = stacked = filled = parts = 0
    for root in range(count):
        if not inside[root] or index[root] != 0:
            continue
        depth = -1
        entered = np.int64(root)
        while True:
            if entered >= 0:
                depth += 1
                found += 1
                frames[depth], edge[depth] = entered, offsets[entered]
                index[entered] = low[entered] = found
                stack[stacked] = entered
                stacked += 1
                entered = np.int64(-1)
            state = frames[depth]
            if edge[depth] < offsets[state + 1]:
                to = targets[edge[depth]]
                edge[depth] += 1
                if inside[to] and component[to] < 0:
                    if index[to] == 0:
                        entered = np.int64(to)
                    elif index[to] < low[state]:
                        low[state] = index[to]
                continue
            if low[state] == index[state]:
                starts[parts] = filled
                top = np.int64(-1)
                while top != state:
                    stacked -= 1
                    top = np.int64(stack[stacked])
                    component[top] = parts
                    members[filled] = top
                    filled += 1
                parts += 1
            depth -= 1
            if depth < 0:
                break
            if low[state] < low[frames[depth]]:
                low[frames[depth]] = low[state]
    starts[parts] = filled
    return component, members[:filled], starts[: parts + 1]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def fair(
    component: Any, members: Any, starts: Any, offsets: Any, targets: Any, kinds: Any, masks: Any, bad: Any
) -> Any:
    """Per component: whether a run can stay there, be fair and be in a bad state again and again.

    masks: per kind of transitions the classes that it belongs to, as bits of some words.
    """
    words = masks.shape[1]
    out = np.zeros(len(starts) - 1, np.bool_)
    always_enabled = np.empty(words, np.uint64)
    taken = np.empty(words, np.uint64)
    enabled = np.empty(words, np.uint64)
    for part in range(len(starts) - 1):
        some = False
        for at in range(starts[part], starts[part + 1]):
            if bad[members[at]]:
                some = True
                break
        if not some:
            continue
        always_enabled[:], taken[:] = ~np.uint64(0), np.uint64(0)
        for at in range(starts[part], starts[part + 1]):
            state = members[at]
            enabled[:] = np.uint64(0)
            for edge in range(offsets[state], offsets[state + 1]):
                stays = component[targets[edge]] == part
                for word in range(words):
                    mask = masks[kinds[edge], word]
                    enabled[word] |= mask
                    if stays:
                        taken[word] |= mask
            for word in range(words):
                always_enabled[word] &= enabled[word]
        out[part] = True
        for word in range(words):
            if always_enabled[word] & ~taken[word] != 0:
                out[part] = False
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def stem(offsets: Any, targets: Any, levels: Any, inside: Any, starts: Any, accepting: Any) -> Any:
    """A shortest path into an accepting state: to any start by as many edges as its level says, then inside.

    starts: states inside, in order of their numbers. Returns (the accepting state with the lowest number
    among the nearest ones, or -1; the edge by which each state was visited first).
    """
    origin = np.full(len(inside), NOWHERE, np.int64)
    level = np.empty(len(inside), np.int32)
    first = end = begun = 0
    depth = 0
    while True:
        if depth < len(levels) - 1:
            while begun < len(starts) and starts[begun] < levels[depth + 1]:
                if origin[starts[begun]] == NOWHERE:
                    origin[starts[begun]] = START
                    level[end] = starts[begun]
                    end += 1
                begun += 1
        entry = np.int64(-1)
        for at in range(first, end):
            if accepting[level[at]] and (entry < 0 or level[at] < entry):
                entry = np.int64(level[at])
        if entry >= 0 or (first == end and begun == len(starts)):
            return entry, origin
        after = end
        for at in range(first, end):
            state = level[at]
            for edge in range(offsets[state], offsets[state + 1]):
                to = targets[edge]
                if inside[to] and origin[to] == NOWHERE:
                    origin[to] = edge
                    level[after] = to
                    after += 1
        first, end = end, after
        depth += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _met_in(state: Any, offsets: Any, kinds: Any, bits: Any, bad: Any, wanted: Any, bad_goal: Any) -> Any:
    """The goals that a state meets: a class that is disabled there, and a bad state its own."""
    enabled = bad_goal
    for edge in range(offsets[state], offsets[state + 1]):
        enabled |= bits[kinds[edge]]
    met = wanted & ~enabled
    return met | (wanted & bad_goal) if bad[state] else met


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def walk(
    offsets: Any,
    targets: Any,
    kinds: Any,
    component: Any,
    bad: Any,
    bits: Any,
    bad_goal: Any,
    wanted: Any,
    start: Any,
    final: Any,
    max_pairs: Any,
) -> Any:
    """A shortest walk within the component of a state that meets all goals and ends in final.

    bits: per kind the goals that its transitions meet; bad_goal: the goal that a bad state meets; wanted: all
    goals, so many lowest bits; final: -1 for a walk that ends as soon as it meets any; max_pairs: of a state
    and the goals met so far, looked at at most. Returns (its last pair, or NONE or TOO_MANY_PAIRS; the edge
    to each pair; the pair before it). Of several shortest walks the first in the order of the search.
    """
    shift = np.uint64(0)
    while (np.uint64(1) << shift) <= wanted:
        shift += np.uint64(1)
    size = 1024
    while size < 2 * max_pairs:
        size *= 2
    code_shift = np.uint64(64)
    while size >> np.int64(np.uint64(64) - code_shift) > 1:
        code_shift -= np.uint64(1)
    slots = np.full(size, -1, np.int32)
    codes = np.empty(max_pairs + 1, np.uint64)
    edges = np.empty(max_pairs + 1, np.int64)
    before = np.empty(max_pairs + 1, np.int32)
    own = component[start]
    met = _met_in(start, offsets, kinds, bits, bad, wanted, bad_goal)
    codes[0] = (np.uint64(start) << shift) | met
    edges[0], before[0] = -1, -1
    if (met == wanted and start == final) or (final < 0 and met != 0):
        return 0, edges, before
    slots[np.int64((codes[0] * _GOLDEN) >> code_shift)] = 0
    head, filled = 0, 1
    while head < filled:
        state = np.int64(codes[head] >> shift)
        met = codes[head] & wanted
        for edge in range(offsets[state], offsets[state + 1]):
            to = np.int64(targets[edge])
            if component[to] != own:
                continue
            now = met | bits[kinds[edge]] | _met_in(to, offsets, kinds, bits, bad, wanted, bad_goal)
            code = (np.uint64(to) << shift) | now
            codes[filled], edges[filled], before[filled] = code, edge, head
            if (now == wanted and to == final) or (final < 0 and now != 0):
                return filled, edges, before
            place = np.int64((code * _GOLDEN) >> code_shift)
            while slots[place] >= 0 and codes[slots[place]] != code:
                place = (place + 1) & (size - 1)
            if slots[place] < 0:
                if filled == max_pairs:
                    return TOO_MANY_PAIRS, edges, before
                slots[place] = filled
                filled += 1
        head += 1
    return NONE, edges, before
