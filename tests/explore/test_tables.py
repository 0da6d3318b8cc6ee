"""The table engine: warm tables, guards, the sample check, and that tests notice broken engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys

from rota.explore import purity, reference
from rota.explore.fast import numpy_search
from rota.explore.tables import arrays, machines, properties, successors, system
from rota.kernel import Kind, Outcome, Property, Send, System, UserError, state_hash
from rota.kernel.encoding import MASK64, mix64


def agree(system: System) -> bool:
    slow, fast = reference.explore(system), numpy_search.explore(system)
    return slow.answer == fast.answer and slow.violation == fast.violation


def test_warm_tables_call_no_machine_again() -> None:
    system = toys.two_phase()
    warm = numpy_search.Tables(system)
    cold = numpy_search.explore(system, tables=warm)
    again = numpy_search.explore(system, tables=warm)
    assert again.answer == cold.answer
    assert cold.stats["python_calls"] > 0
    assert again.stats["python_calls"] == 0


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked at twice."""
    monkeypatch.setattr(purity.Again, "ask", lambda self: purity.NOTHING)
    monkeypatch.setattr(system.Tables, "check", lambda self, rows: None)


@pytest.mark.usefixtures("asked_once")
def test_each_distinct_input_is_evaluated_once() -> None:
    seen: list[Any] = []

    def spied(toy: toys.Toy) -> toys.Toy:
        return replace(
            toy,
            moves=lambda value: (seen.append((toy.name, value)), toy.moves(value))[1],
            takes=lambda value, sender, message: (
                seen.append((toy.name, value, sender, message)),
                toy.takes(value, sender, message),
            )[1],
        )

    base = toys.two_phase()
    system = System(base.name, tuple(spied(m) for m in base.machines))
    result = numpy_search.explore(system)
    assert len(seen) == len(set(seen)) == result.stats["python_calls"]
    assert result.distinct == 288


@pytest.mark.usefixtures("asked_once")
def test_views_and_predicates_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the sample, whose states are judged once more by the property itself."""
    monkeypatch.setattr(numpy_search, "states_again", lambda tables, rows: None)
    viewed: list[Any] = []
    tested: list[Any] = []
    pairs = toys.prop(
        "pairs",
        toys.Kind.SAFETY,
        lambda a, b: not tested.append((a, b)),  # type: ignore[func-returns-value]
        "counter",
        "counter",
        of=lambda v: (viewed.append(v), v % 2)[1],
    )
    numpy_search.explore(toys.counters(2, 9, (pairs,)))
    assert sorted(viewed) == sorted([*range(10), *range(10)])
    # for both choices of machines together
    assert sorted(tested) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_tables_of_another_system_are_refused() -> None:
    with pytest.raises(ValueError, match="these tables were learned from ring"):
        numpy_search.explore(toys.two_phase(), tables=numpy_search.Tables(toys.ring()))


def test_equal_values_of_other_types_are_refused() -> None:
    with pytest.raises(UserError, match=r"machine m: .*\(True,\) equals \(1,\)"):
        numpy_search.explore(toys.ambiguous())


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome([1]), "machine m: .* is not hashable"),
        (Outcome(1.5), "machine m: .*a state cannot contain float"),
        (Outcome(1, (Send("nobody", 1),)), "a message to 'nobody', which no machine is called; there are m"),
        (
            Outcome(1, (Send("m", 1.5),)),
            r"machine m: actions\(0\) returned what cannot be: a state cannot contain float",
        ),
        ((1, ()), r"machine m: actions\(0\) returned \(1, \(\)\), not an Outcome"),
    ],
)
def test_what_a_turn_cannot_be(outcome: Any, message: str) -> None:
    system = System("bad", (toys.Toy("m", "m", (0,), lambda value: [outcome]),))
    with pytest.raises(UserError, match=message):
        numpy_search.explore(system)


def test_machines_that_answer_each_other_for_ever_are_refused() -> None:
    def echo(value: int, sender: str, message: int) -> list[Outcome]:
        return [Outcome(value, (Send(sender, message),))]

    start = toys.Toy("a", "a", (0,), lambda value: [Outcome(0, (Send("b", 1),))], echo)
    system = System("echo", (start, toys.Toy("b", "b", (0,), takes=echo)))
    with pytest.raises(UserError, match="more than 1000 messages in one transition of echo"):
        numpy_search.explore(system)


def test_more_values_and_views_than_the_first_arrays_hold() -> None:
    odd = toys.prop("odd", toys.Kind.SAFETY, lambda a, b: a + b != 299, "counter", "counter")
    system = toys.counters(2, 150, (odd,))
    assert agree(system)


def test_a_group_beyond_the_dense_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.explore.tables.properties.DENSE", 1 << 8)
    assert agree(toys.counters(2, 40))
    assert agree(replace(toys.counters(2, 40), properties=toys.broken("safety").properties))


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.blocks, "__defaults__", (3,))
    for name in ("two-phase", "broken-safety", "broken-step", "deadlock"):
        assert agree(toys.ALL[name]())


# ---- planted bugs: the agreement test must notice each


def shared_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deliveries interned without their sender."""
    original = machines.Learned._delivery
    first: dict[tuple[str, Any], int] = {}

    def blind(self: machines.Learned, sender: Any, to: str, message: Any) -> int:
        return first.setdefault((to, message), original(self, sender, to, message))

    monkeypatch.setattr(machines.Learned, "_delivery", blind)


def refusal_as_stutter(monkeypatch: pytest.MonkeyPatch) -> None:
    original = machines.Learned._receive

    def lenient(self: machines.Learned, table: machines.MachineTable, value: int, delivery: int) -> int:
        entry = original(self, table, value, delivery)
        if self.entries.data[entry, 1]:
            return entry
        return self._enter(table, [Outcome(table.interned.values[value])])

    monkeypatch.setattr(machines.Learned, "_receive", lenient)


def hash_without_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "lane_factors", lambda count: [(3, 5)] * count)


def replies_before_what_is_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    original = machines.Learned.joined
    monkeypatch.setattr(machines.Learned, "joined", lambda self, rest, sends: original(self, sends, rest))


def only_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    original = machines.Learned._enter
    monkeypatch.setattr(
        machines.Learned, "_enter", lambda self, table, outcomes: original(self, table, list(outcomes)[:1])
    )


def rows_compared_by_their_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    original = arrays.RowSet.add

    def careless(self: arrays.RowSet, rows: arrays.Ints) -> arrays.Longs:
        known = self.rows(0, self.size)
        heads = {tuple(row[:2]) for row in known.tolist()}
        fresh = []
        for row in rows.tolist():
            if tuple(row[:2]) not in heads:
                heads.add(tuple(row[:2]))
                fresh.append(row)
        return original(self, np.array(fresh, np.int32).reshape(-1, self.width))

    monkeypatch.setattr(arrays.RowSet, "add", careless)


def states_that_stay_are_no_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        successors.Successors,
        "stuck",
        lambda self, block: np.bincount(self.source, minlength=len(block)) == 0,
    )


def steps_judged_only_where_something_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = properties._ranked

    def hasty(props: tuple[Property, ...], group: properties.CheckGroup, columns: Any) -> Any:
        found = original(props, group, columns)
        if props[0].kind is not Kind.STEP:
            return found
        changed = [(rank, flags & (columns[0] != columns[1])) for rank, flags in found]
        return [(rank, flags) for rank, flags in changed if flags.any()]

    monkeypatch.setattr(properties, "_ranked", hasty)


def any_trace_instead_of_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "least", lambda high, low: len(high) - 1)


PLANTED = {
    shared_sender: "scatter",
    refusal_as_stutter: "channel",
    hash_without_positions: "counters",
    replies_before_what_is_pending: "channel",
    only_the_first_turn: "channel",
    rows_compared_by_their_first_word: "counters",
    states_that_stay_are_no_deadlock: "deadlock",
    steps_judged_only_where_something_changed: "broken-stutter",
    any_trace_instead_of_the_least: "broken-safety",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_makes_the_engines_disagree(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make = toys.ALL[PLANTED[plant]]
    assert agree(make())
    # without the engine's own sample check, which would notice most of them first
    monkeypatch.setattr(system.Tables, "check", lambda self, rows: None)
    plant(monkeypatch)
    assert not agree(make())


@pytest.mark.parametrize(
    "plant", [shared_sender, refusal_as_stutter, only_the_first_turn, hash_without_positions]
)
def test_the_sample_notices_a_planted_bug_by_itself(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(system.EngineError):
        numpy_search.explore(toys.ALL[PLANTED[plant]]())


# ---- nothing depends on the order of sets


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import toys
from rota.explore import reference
from rota.explore.fast import numpy_search
from rota.kernel import encode
out = {}
for name, make in toys.ALL.items():
    for engine in (reference, numpy_search):
        r = engine.explore(make())
        path = r.violation and [[t.label, [encode(v).hex() for v in t.target]] for t in r.violation.path]
        out[f"{name} {r.engine}"] = [r.generated, r.histogram, r.digest, sorted(r.rules_fired), path]
print(json.dumps(out))
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    answers = []
    for seed in ("1", "20261"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(Path(toys.__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(json.loads(run.stdout))
    assert answers[0] == answers[1]
    assert len(answers[0]) == 2 * len(toys.ALL)


# ---- the arrays below


def test_row_set_numbers_rows_once_and_in_order_of_arrival() -> None:
    rng = np.random.default_rng(7)
    rows = arrays.RowSet(4)
    known: dict[tuple[int, ...], int] = {}
    for size in (1, 5, 3000, 20_000, 0):
        batch = rng.integers(0, 12, (size, 4)).astype(np.int32)
        before = len(rows)
        numbers = rows.add(batch)
        for row, number in zip(map(tuple, batch.tolist()), numbers.tolist(), strict=True):
            assert known.setdefault(row, number) == number
        assert sorted(known.values()) == list(range(len(rows)))
        assert all((number >= before) == (known[row] >= before) for row, number in known.items())
    assert len(known) == len(rows)
    for row, number in known.items():
        assert tuple(rows.rows(number, number + 1)[0].tolist()) == row


def test_int_map_keeps_what_was_put() -> None:
    rng = np.random.default_rng(11)
    keys = np.unique(rng.integers(0, 1 << 60, 5000))
    values = np.arange(len(keys), dtype=np.int32)
    made = arrays.IntMap()
    for part in np.array_split(np.arange(len(keys)), 7):
        assert (made.get(keys[part]) == -1).all()
        made.put(keys[part], values[part])
    assert (made.get(keys) == values).all()
    assert (made.get(keys + 1)[~np.isin(keys + 1, keys)] == -1).all()


@pytest.mark.parametrize("numbers", [[0, 1, MASK64, 1 << 63, 12345], [MASK64] * 3])
def test_mixing_and_sums_are_the_kernels(numbers: Sequence[int]) -> None:
    lane = np.array(numbers, np.uint64)
    assert arrays.mix(lane).tolist() == [mix64(n) for n in numbers]
    assert arrays.total128(lane, lane[::-1].copy()) == sum(
        (a << 64) + b for a, b in zip(numbers, numbers[::-1], strict=True)
    )


def test_least_looks_at_both_lanes() -> None:
    high, low = np.array([2, 1, 1, 3], np.uint64), np.array([0, 9, 4, 0], np.uint64)
    assert arrays.least(high, low) == 2


def test_hashes_are_the_kernels() -> None:
    system = toys.scatter()
    made = numpy_search.Tables(system)
    states = system.initial_states()
    rows = np.array([made.learned.intern_state(s) for s in states], np.int32)
    high, low = made.learned.hashes(rows)
    codes = [int(h) << 64 | int(w) for h, w in zip(high, low, strict=True)]
    assert codes == [system.hash_state(s) for s in states]
    assert len(set(codes)) == 4
    assert state_hash([(1, 2), (3, 4)]) != state_hash([(3, 4), (1, 2)])
