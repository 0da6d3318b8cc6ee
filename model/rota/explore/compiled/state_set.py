"""The exact set of states in compiled code: open addressing, whole states compared, slots asked for ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from rota.explore.compiled.primitives import code_of, owner_of, weight_of, weights

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The word in a slot that holds no state."""

_ONE = np.uint64(1)
_AHEAD = 64
"""Slots that are asked for before the first of them is looked at."""


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, array: Any, index: Any) -> Any:
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
def codes(keys: Any, unit: Any) -> Any:
    """The code of each state."""
    out = np.empty(len(keys), np.uint64)
    for index in range(len(keys)):
        out[index] = code_of(keys, index, unit)
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def fingerprints(keys: Any, unit: Any) -> Any:
    """64 bits for each state, shape [n, 1]; never those of a free slot."""
    out = np.empty((len(keys), 1), np.uint64)
    for index in range(len(keys)):
        code = code_of(keys, index, unit)
        out[index, 0] = code if code != FREE else np.uint64(0)
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def owner(keys: Any, fields: Any, owners: Any) -> Any:
    """Who of so many owns each state."""
    out, weight = np.zeros(len(keys), np.int64), weights(len(fields.word))
    for index in range(len(keys)):
        out[index] = owner_of(weight_of(keys, index, fields, weight), owners)
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def absorb(
    prints: Any, incoming: Any, begin: Any, end: Any,
    slots: Any, shift: Any, used: Any, most: Any, fresh: Any, filled: Any, print_unit: Any, unit: Any,
) -> Any:  # fmt: skip
    """Enter what stands for the states incoming[begin:end] into the slots; append new states to `fresh`.

    prints: the states themselves, or a fingerprint for each. Returns (where it stopped, slots in use, states
    in fresh): it stops at `most` slots in use and when `fresh` is full.
    """
    last_slot = np.uint64(len(slots) - 1)
    places = np.empty(_AHEAD, np.uint64)
    at = begin
    while at < end:
        batch = min(_AHEAD, end - at)
        for ahead in range(batch):
            places[ahead] = code_of(prints, at + ahead, print_unit) >> np.uint64(shift)
            prefetch(slots, np.int64(places[ahead]))
        for ahead in range(batch):
            if used == most or filled == len(fresh):
                return at, used, filled
            place = places[ahead]
            while True:
                if slots[place, 0] == FREE:
                    for word in range(len(print_unit)):
                        slots[place, word] = prints[at, word]
                    for word in range(len(unit)):
                        fresh[filled, word] = incoming[at, word]
                    used += 1
                    filled += 1
                    break
                same = True
                for word in range(len(print_unit)):
                    if slots[place, word] != prints[at, word]:
                        same = False
                if same:
                    break
                place = (place + _ONE) & last_slot
            at += 1
    return at, used, filled


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def refill(keys: Any, slots: Any, shift: Any, unit: Any) -> None:
    """Enter states that are distinct and not there into slots with room for them."""
    last_slot = np.uint64(len(slots) - 1)
    places = np.empty(_AHEAD, np.uint64)
    at = 0
    while at < len(keys):
        batch = min(_AHEAD, len(keys) - at)
        for ahead in range(batch):
            places[ahead] = code_of(keys, at + ahead, unit) >> np.uint64(shift)
            prefetch(slots, np.int64(places[ahead]))
        for ahead in range(batch):
            place = places[ahead]
            while slots[place, 0] != FREE:
                place = (place + _ONE) & last_slot
            for word in range(len(unit)):
                slots[place, word] = keys[at, word]
            at += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def strike(keys: Any, known: Any, fresh: Any, unit: Any) -> None:
    """Clear the flags of those states that are known too; both are in order of their codes."""
    at = 0
    for index in range(len(keys)):
        code = code_of(keys, index, unit)
        while at < len(known) and code_of(known, at, unit) < code:
            at += 1
        twin = at
        while twin < len(known) and code_of(known, twin, unit) == code:
            same = True
            for word in range(len(unit)):
                if known[twin, word] != keys[index, word]:
                    same = False
            if same:
                fresh[index] = False
            twin += 1
