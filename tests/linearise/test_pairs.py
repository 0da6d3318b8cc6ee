"""The number of a pair is the same in every process, and another one of another pair."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations

import msgspec

from rota.kernel import FrozenMap
from rota.linearise import pairs
from rota.linearise.pairs import encode
from rota.spec import Group, GroupState, HeartbeatRequest, LeaveGroupRequest, Timer

IDS = frozenset(f"member-{number}" for number in range(40))
VALUES = (
    None,
    0,
    False,
    "",
    b"",
    (),
    frozenset(),
    FrozenMap(),
    FrozenMap({"a": 1}),
    Group(),
    Group(GroupState.STABLE),
    Group(generation_id=1),
    Timer("session", "m"),
    HeartbeatRequest("g", 1, "m"),
    LeaveGroupRequest("g", ()),
    (Group(), IDS),
    (Group(), IDS - {"member-3"}),
)


def ids_in_another_process(seed):
    program = (
        "from linearise.test_pairs import IDS; from rota.linearise.pairs import encode; "
        "print([*IDS]); print(encode(IDS).hex())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        (sys.executable, "-c", program), env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_sets_are_told_in_one_order_by_every_process():
    (one, first), (other, second) = map(ids_in_another_process, ("1", "2"))
    assert one != other
    assert first == second == encode(IDS).hex()


def test_without_an_order_they_are_not():
    plain = msgspec.msgpack.Encoder(enc_hook=pairs._told).encode
    assert plain(IDS) != encode(IDS)


def test_what_differs_is_told_otherwise():
    told = {encode(one) for one in VALUES}
    assert len(told) == len(VALUES) - 2, "an empty tuple, set and map have the same bytes"
    for one, other in combinations(VALUES[8:], 2):
        assert encode(one) != encode(other)


def test_equal_states_have_one_number():
    states = ((Group(), IDS), (Group(), frozenset(sorted(IDS, reverse=True))))
    one, other = (pairs.hashed(state).hexdigest() for state in states)
    assert one == other
