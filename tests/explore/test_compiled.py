"""The compiled engine: packing, disk, going on after an end, symmetry; broken parts are noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from math import comb, factorial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import toys
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.explore import CheckpointError, Limits, reference
from rota.explore.compiled import state_set
from rota.explore.compiled.expansion import Expansion
from rota.explore.compiled.packing import Layout
from rota.explore.compiled.stale_code import forget_stale
from rota.explore.fast import numpy_search, search
from rota.explore.fast.spill import Runs
from rota.explore.manifest import identity
from rota.explore.tables import properties
from rota.kernel import Kind, Outcome, Symmetry, System

TINY = 1
"""Bytes: everything that can go to disk does."""


class Ended(Exception):
    """A search that was ended from outside."""


def end_at(depth: int) -> Any:
    def progress(at: int, *_: Any) -> None:
        if at == depth:
            raise Ended

    return progress


# ---- packing


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=14), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_rows_survive_packing(counts: list[int], random: Any) -> None:
    layout = Layout(counts)
    rows = np.array([[random.randrange(count) for count in counts] for _ in range(20)], np.int32)
    keys = layout.pack(rows)
    assert (layout.unpack(keys, len(counts)) == rows).all()
    assert (keys[:, 0] < 1 << 63).all()  # the word of a free slot is no state's
    same = Layout.of_fields(*(array.tolist() for array in layout.fields()))
    assert (same.pack(rows) == keys).all()
    assert layout.fits(counts)
    assert not layout.fits([*counts[:-1], layout.limits[-1] + 1])


def one_that_moves(idle: int, bound: int) -> System:
    """A counter beside machines that never move: its field is narrow at first."""

    def moves(value: int) -> list[Outcome]:
        return [Outcome(value + 1)] if value < bound else []

    still = (toys.Toy(f"idle/{i}", "idle", (0,)) for i in range(idle))
    return System("one-that-moves", (toys.Toy("counter", "counter", (0,), moves), *still))


@pytest.mark.parametrize("idle", [11, 62])
def test_states_are_packed_anew_as_values_come(idle: int) -> None:
    system = one_that_moves(idle, 300)
    result = search.explore(system)
    assert result.answer == reference.explore(system).answer
    assert result.distinct == 301
    assert result.stats["repacked"] >= 1


@pytest.mark.parametrize("workers", [2, 3])
def test_states_stay_with_their_owner_when_they_are_packed_anew(workers: int) -> None:
    def moves(
        value: int,
    ) -> list[Outcome]:  # back too: whoever owns another state would take it for a new one
        return [Outcome(value // 2), *([Outcome(value + 1)] if value < 40 else [])]

    counters = (toys.Toy(f"counter/{i}", "counter", (0,), moves) for i in range(2))
    still = (toys.Toy(f"idle/{i}", "idle", (0,)) for i in range(11))
    system = System("to-and-fro", (*counters, *still))
    result = search.explore(system, Limits(workers=workers))
    assert result.answer == reference.explore(system).answer
    assert result.stats["repacked"] >= 1


def test_states_of_two_words() -> None:
    wide, limits = toys.counters(70, 1), Limits(max_states=2000)  # a bit for each machine
    result = search.explore(wide, limits)
    assert result.stats["words_per_state"] == 2
    assert result.answer == numpy_search.explore(wide, limits).answer
    assert search.explore(wide, replace(limits, memory=TINY, workers=2)).answer == result.answer


# ---- memory and disk


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["ring", "two-phase", "channel", "broken-safety", "broken-step", "deadlock"])
def test_what_does_not_fit_goes_to_disk_and_changes_nothing(name: str, workers: int) -> None:
    system = toys.ALL[name]()
    result = search.explore(system, Limits(memory=TINY, workers=workers))
    assert result.answer == reference.explore(system).answer
    assert result.violation == reference.explore(system).violation
    if result.depth > 3:
        assert result.stats["bytes_on_disk"] > 0


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)))
@settings(max_examples=40, deadline=None)
def test_runs_know_what_was_added(first: set[int], second: set[int], asked: set[int]) -> None:
    def keys(numbers: set[int]) -> Any:
        return np.array(sorted(numbers), np.uint64).reshape(-1, 1)

    with TemporaryDirectory() as folder:
        runs = Runs(Path(folder))
        runs.add(keys(first))
        runs.add(keys(second - first))
        assert set(runs.unknown(keys(asked)).ravel().tolist()) == asked - first - second


def test_runs_that_forget_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runs, "unknown", lambda self, keys: keys)
    assert search.explore(toys.ring(), Limits(memory=TINY, max_states=200)).distinct > 64


def test_states_that_are_not_tried_again_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(self: Expansion) -> None:
        if self._work and self._work[-1].start == len(self._work[-1].todo):
            self._work.pop()

    monkeypatch.setattr(Expansion, "settle", settle)
    assert search.explore(toys.two_phase()).distinct < 288


@pytest.mark.parametrize("name", ["counters", "broken-step", "broken-stutter", "two-phase"])
def test_properties_with_too_many_pairs_for_an_array(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "DENSE", 2)
    system = toys.ALL[name]()
    slow, fast = reference.explore(system), search.explore(system)
    assert (fast.answer, fast.violation) == (slow.answer, slow.violation)


# ---- going on


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (2, 1)])
@pytest.mark.parametrize("depth", [0, 4])
def test_an_ended_search_goes_on(before: int, after: int, depth: int, tmp_path: Path) -> None:
    system = toys.two_phase()
    with pytest.raises(Ended):
        search.explore(system, Limits(checkpoint=tmp_path, workers=before), progress=end_at(depth))
    result = search.explore(system, Limits(checkpoint=tmp_path, resume=True, workers=after, memory=TINY))
    whole = reference.explore(system)
    assert result.answer == whole.answer
    assert result.rules_fired == whole.rules_fired
    again = search.explore(system, Limits(checkpoint=tmp_path, resume=True))
    assert again.answer == whole.answer
    assert again.stats["python_calls"] < result.stats["python_calls"]


def test_a_violation_is_found_after_going_on(tmp_path: Path) -> None:
    system = toys.broken("safety")
    with pytest.raises(Ended):
        search.explore(system, Limits(checkpoint=tmp_path), progress=end_at(2))
    result = search.explore(system, Limits(checkpoint=tmp_path, resume=True))
    assert result.violation == reference.explore(system).violation


def test_a_checkpoint_is_for_one_system(tmp_path: Path) -> None:
    search.explore(toys.ring(3), Limits(checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match=r"holds a search already; give --resume"):
        search.explore(toys.ring(3), Limits(checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match=r"of another search \(its settings differs\)"):
        search.explore(toys.ring(4), Limits(checkpoint=tmp_path, resume=True))
    for other in (Limits(symmetry=True), Limits(fingerprints=True)):
        with pytest.raises(CheckpointError, match=r"\(its (symmetry|fingerprints) differs\)"):
            search.explore(toys.ring(3), replace(other, checkpoint=tmp_path, resume=True))
    assert identity(toys.ring(3), Limits(), "fast") == identity(toys.ring(3), Limits(), "fast")


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    search.explore(toys.ring(3), Limits(checkpoint=tmp_path))
    level = next(tmp_path.glob("level-*"))
    level.write_bytes(level.read_bytes()[:-8])
    with pytest.raises(CheckpointError, match="is damaged"):
        search.explore(toys.ring(3), Limits(checkpoint=tmp_path, resume=True))
    (tmp_path / "manifest.json").write_text(json.dumps({"levels": []}), encoding="utf-8")
    with pytest.raises(CheckpointError, match="cannot be read"):
        search.explore(toys.ring(3), Limits(checkpoint=tmp_path, resume=True))


# ---- symmetry


def whole(role: str, value: Any, i: int) -> Any:
    return value


def as_it_is(role: str, value: Any, places: Sequence[int]) -> Any:
    return value


def symmetric_counters(count: int, bound: int, seen: Any = whole, **broken: Any) -> System:
    base = toys.counters(count, bound, **broken)
    names = tuple(machine.name for machine in base.machines)
    return System(base.name, base.machines, base.properties, base.ref, Symmetry(names, as_it_is, seen))


@pytest.mark.parametrize("seen", [whole, lambda role, value, i: 0], ids=["seen", "all look alike"])
@pytest.mark.parametrize("workers", [1, 2])
def test_one_state_of_each_orbit(seen: Any, workers: int) -> None:
    count, bound = 4, 3
    system = symmetric_counters(count, bound, seen)
    result = search.explore(system, Limits(symmetry=True, workers=workers))
    full = reference.explore(system)
    assert result.distinct == comb(bound + count, count)
    assert (result.verdict, result.depth) == (full.verdict, full.depth)
    assert full.distinct == (bound + 1) ** count == search.explore(system).distinct


def test_orbits_add_up_to_all_states() -> None:
    """The states of a level are as many as the orbits of those that are visited have."""
    count, bound = 3, 3
    done = search._Search(numpy_search.Tables(symmetric_counters(count, bound)), Limits(symmetry=True), None)
    done.run()
    states = [
        done.learned.state(row)
        for depth in range(len(done.histogram))
        for rows in done._rows(depth)
        for row in rows
    ]
    sizes = [
        len({tuple(state[i] for i in order) for order in permutations(range(count))}) for state in states
    ]
    assert sum(sizes) == (bound + 1) ** count
    assert max(sizes) == factorial(count)


def test_a_violation_under_symmetry_is_a_real_path() -> None:
    bad = toys.prop("bad", Kind.SAFETY, lambda a, b: {a, b} != {1, 3}, "counter", "counter")
    system = symmetric_counters(3, 3, properties=(bad,))
    found = search.explore(system, Limits(symmetry=True)).violation
    full = reference.explore(system).violation
    assert found is not None
    assert full is not None
    assert (found.name, found.steps) == (full.name, full.steps) == ("bad", 4)
    states = [found.start, *(transition.target for transition in found.path)]
    assert states[0] in system.initial_states()
    for before, transition in zip(states, found.path, strict=False):
        assert transition in list(system.successors(before))
    assert not system.holds(bad, states[-1])


def test_a_system_without_symmetry_is_explored_whole() -> None:
    assert search.explore(toys.counters(), Limits(symmetry=True)).distinct == 4**3


# ---- fingerprints


@pytest.mark.parametrize("name", ["ring", "two-phase", "broken-safety"])
def test_fingerprints_give_the_same_answer_and_odds(name: str) -> None:
    system = toys.ALL[name]()
    exact, printed = (
        search.explore(system),
        search.explore(system, Limits(fingerprints=True, memory=TINY)),
    )
    assert printed.answer == exact.answer
    assert exact.odds == 0
    assert printed.odds == printed.distinct**2 / 2**65


def test_equal_fingerprints_lose_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The odds are real: with fingerprints of four bits, states are missed."""
    monkeypatch.setattr(
        state_set, "fingerprints", lambda keys, unit: state_set.codes(keys, unit)[:, None] & np.uint64(15)
    )
    assert search.explore(toys.two_phase(), Limits(fingerprints=True)).distinct <= 16


# ---- compiled code on disk


def test_compiled_code_of_other_sources_is_forgotten(tmp_path: Path) -> None:
    source, kept = tmp_path / "called.py", tmp_path / "__pycache__" / "caller.f-1.py311.nbi"
    source.write_text("A = 1\n", encoding="ascii")
    assert forget_stale(tmp_path)
    kept.write_bytes(b"")
    assert not forget_stale(tmp_path)
    assert kept.exists()
    source.write_text("A = 2\n", encoding="ascii")
    assert forget_stale(tmp_path)
    assert not kept.exists()


SIGNATURES = """
import importlib, pkgutil
from dataclasses import replace
import toys
import rota.explore.compiled
from rota.explore import Limits
from rota.explore.fast import ahead, search

def signatures():
    names = [one.name for one in pkgutil.iter_modules(rota.explore.compiled.__path__)]
    modules = [importlib.import_module("rota.explore.compiled." + name) for name in names]
    compiled = [one for module in modules for one in vars(module).values() if hasattr(one, "signatures")]
    return sorted((str(one), str(each)) for one in compiled for each in one.signatures)

widths, ahead.WIDTHS = ahead.WIDTHS, ahead.WIDTHS[:1]
ahead.main()
narrow, ahead.WIDTHS = signatures(), widths
ahead.main()
before = signatures()
systems = toys.two_phase(), toys.channel(), toys.broken("step"), toys.counters(), ahead.switches(65)
for limits in (Limits(), Limits(memory=1, workers=2), Limits(fingerprints=True), Limits(symmetry=True)):
    for system in systems:
        search.explore(system, replace(limits, max_states=4000))
print(signatures() == before, narrow == before)
"""


def test_what_is_compiled_ahead_is_all_that_searches_need() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", SIGNATURES], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"], "and what is left out is seen"
