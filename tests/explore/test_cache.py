"""Tables kept between runs: the same answers, whatever becomes of the files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys

from harness.thinned import some
from rota.explore import Limits, Result
from rota.explore.cache import files, folder, run, snapshot
from rota.explore.cache.store import Store
from rota.explore.fast import numpy_search, search
from rota.explore.tables import properties
from rota.explore.tables.system import EngineError, Tables
from rota.kernel import Outcome, System, SystemRef, UserError
from rota.kernel.decoding import Decoder
from rota.mutants import system as classic
from rota.scopes import load

ENGINES = {"fast": search.explore, "numpy": numpy_search.explore}

Explore = Callable[..., Result]


@pytest.fixture(params=ENGINES)
def explore(request: pytest.FixtureRequest) -> Explore:
    return ENGINES[request.param]


@pytest.fixture
def kept(tmp_path: Path) -> Limits:
    return Limits(cache=tmp_path / "tables")


def cache_of(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = result.stats["cache"]
    return told


def only_file(limits: Limits) -> Path:
    assert limits.cache is not None
    (path,) = limits.cache.iterdir()
    return path


def told(result: Result) -> Any:
    """The answer and the counterexample."""
    violation = result.violation
    path = violation and (violation.name, violation.start, [(t.target, t.label) for t in violation.path])
    return result.answer, path


@pytest.mark.parametrize("name", some(toys.ALL))
def test_the_next_run_asks_no_rule_and_answers_the_same(name: str, explore: Explore, kept: Limits) -> None:
    alone = explore(toys.ALL[name]())
    first = explore(toys.ALL[name](), kept)
    second = explore(toys.ALL[name](), kept)
    assert told(alone) == told(first) == told(second)
    assert cache_of(first)["entries_from_cache"] == 0 < cache_of(first)["entries_learned"]
    assert cache_of(second) == {
        "entries_learned": 0,
        "entries_from_cache": cache_of(first)["entries_learned"],
    }
    assert second.stats["python_calls"] == 0 < first.stats["python_calls"]
    assert "cache" not in alone.stats


def test_the_world_by_either_engine_from_the_others_tables(kept: Limits) -> None:
    settings = load("tiny").configuration("core").settings_for("kafka-4.x")
    alone = search.explore(classic(settings))
    for one in (search.explore, numpy_search.explore, search.explore):
        result = one(classic(settings), kept)
        assert told(result) == told(alone)
    assert cache_of(result)["entries_learned"] == 0


def test_values_are_made_when_somebody_asks_for_them(kept: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load("tiny").configuration("core").settings_for("kafka-4.x")
    first = search.explore(classic(settings), kept)
    made = []
    real = Decoder.decode
    monkeypatch.setattr(Decoder, "decode", lambda self, raw: made.append(raw) or real(self, raw))
    search.explore(classic(settings), kept)
    values = sum(first.stats["values"].values())
    assert 0 < len(made) < values / 2, "the sample's values and no others"


def test_a_search_goes_on_learning_where_the_last_one_was_given_up(explore: Explore, kept: Limits) -> None:
    alone = explore(toys.two_phase())
    short = explore(toys.two_phase(), replace(kept, max_states=20))
    whole = explore(toys.two_phase(), kept)
    assert told(whole) == told(alone)
    assert cache_of(whole)["entries_from_cache"] == cache_of(short)["entries_learned"]
    assert cache_of(whole)["entries_learned"] > 0
    again = explore(toys.two_phase(), kept)
    assert cache_of(again)["entries_learned"] == 0
    assert again.stats["python_calls"] == 0
    assert told(again) == told(alone)


# ---- files


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


often = pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
"""How many damages there are to each that is tried."""


@often
def test_a_damaged_file_is_noted_and_written_anew(kept: Limits, every: int) -> None:
    whole = numpy_search.explore(toys.ring(3), kept)
    path = only_file(kept)
    raw = path.read_bytes()
    places = {*range(60), *range(60, len(raw), max(1, len(raw) // 60)), len(raw) - 1}
    damaged = [flipped(raw, at) for at in sorted(places)[::every]]
    damaged += [b"", raw[:10], raw[: len(raw) // 2], raw[:-1], raw + b"\0", b"x" * 1000]
    for content in damaged:
        path.write_bytes(content)
        result = numpy_search.explore(toys.ring(3), kept)
        assert told(result) == told(whole)
        assert "is of no use" in cache_of(result)["notes"]
        assert cache_of(result)["entries_from_cache"] == 0
        assert path.read_bytes() == raw


def changed(path: Path, name: str, change: Callable[[Any], Any]) -> None:
    """A part of a file, changed; the file has its digest all the same."""
    about, parts = files.unpacked(path.read_bytes())
    part = parts[name].copy()
    part[:] = change(part)
    path.write_bytes(files.packed(about, {**parts, name: part}))


def test_wrong_entries_are_found_out(kept: Limits) -> None:
    """Planted: somebody has learned wrongly. The sample of every run sees it, if nothing breaks before."""
    whole = search.explore(toys.ring(3), kept)
    changed(only_file(kept), "outcomes", lambda outcomes: outcomes[::-1])
    result = search.explore(toys.ring(3), kept)
    assert told(result) == told(whole)
    assert "kept tables were wrong" in cache_of(result)["notes"]
    assert "notes" not in cache_of(search.explore(toys.ring(3), kept))


def test_wrong_statuses_make_no_violation(kept: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a declared end is said to be none, and nothing is judged again. The system itself is asked
    before that is told.
    """
    monkeypatch.setattr(run, "entries_again", lambda judge: None)
    monkeypatch.setattr(search, "states_again", lambda tables, rows: None)
    whole = search.explore(toys.counters(), kept)
    for group in Tables(toys.counters()).judge.end_groups.values():
        changed(only_file(kept), f"group {group.number} fine", lambda fine: ~fine)
    result = search.explore(toys.counters(), kept)
    assert told(result) == told(whole)
    assert "a violation is none" in cache_of(result)["notes"]


def hiding(kept: Limits, system: System) -> None:
    """Planted: earlier runs said that every combination holds."""
    for group in Tables(system).judge.groups:
        if group.checks:
            changed(only_file(kept), f"group {group.number} fine", np.ones_like)


@pytest.mark.parametrize("name", ["broken-safety", "broken-shape", "broken-step", "broken-initial"])
@pytest.mark.parametrize("dense", [True, False], ids=["array", "map"])
def test_entries_that_hide_a_violation_are_found_out(
    name: str, dense: bool, explore: Explore, kept: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not dense:
        monkeypatch.setattr(properties, "DENSE", 0)
    alone = explore(toys.ALL[name](), kept)
    assert alone.violation is not None
    hiding(kept, toys.ALL[name]())
    changed(only_file(kept), "sparse values", np.ones_like)
    result = explore(toys.ALL[name](), kept)
    assert told(result) == told(alone)
    assert "a combination was judged otherwise by" in cache_of(result)["notes"]


@pytest.mark.parametrize("name", ["broken-safety", "broken-shape"])
def test_states_that_are_judged_otherwise_are_found_out(
    name: str, explore: Explore, kept: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: all entries say that it holds, and none is judged again."""
    monkeypatch.setattr(run, "entries_again", lambda judge: None)
    alone = explore(toys.ALL[name](), kept)
    hiding(kept, toys.ALL[name]())
    result = explore(toys.ALL[name](), kept)
    assert told(result) == told(alone)
    assert "the tables and the property itself disagree" in cache_of(result)["notes"]


def test_a_file_with_a_foreign_type_makes_nothing(kept: Limits) -> None:
    whole = numpy_search.explore(toys.ring(3), kept)
    path = only_file(kept)
    about, parts = files.unpacked(path.read_bytes())
    for foreign in (["pathlib", "Path"], ["rota.cli.errors", "UsageError"], ["toys", "Toy.initial"]):
        path.write_bytes(files.packed({"kinds": [*about["kinds"], foreign]}, parts))
        result = numpy_search.explore(toys.ring(3), kept)
        assert told(result) == told(whole)
        assert "is no type of values of this system" in cache_of(result)["notes"]


@often
def test_a_file_without_a_part_is_of_no_use(kept: Limits, every: int) -> None:
    numpy_search.explore(toys.ring(3), kept)
    path = only_file(kept)
    about, parts = files.unpacked(path.read_bytes())
    for name in sorted(parts)[::every]:
        path.write_bytes(files.packed(about, {key: part for key, part in parts.items() if key != name}))
        assert "is of no use" in cache_of(numpy_search.explore(toys.ring(3), kept))["notes"], name


def explore_often(place: str, times: int) -> None:
    for _ in range(times):
        result = numpy_search.explore(toys.ring(3), Limits(cache=Path(place)))
        assert "notes" not in cache_of(result), cache_of(result)
        for path in Path(place).glob("*.tables"):
            path.unlink(missing_ok=True)


def test_two_write_at_once(kept: Limits) -> None:
    context = get_context("spawn")
    both = [context.Process(target=explore_often, args=(str(kept.cache), 20)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    numpy_search.explore(toys.ring(3), kept)
    assert "notes" not in cache_of(numpy_search.explore(toys.ring(3), kept))
    only_file(kept)


KILLED = """
import os, sys
from pathlib import Path
import toys
from rota.explore import Limits
from rota.explore.fast.numpy_search import explore
real = Path.write_bytes
def half(self, content):
    real(self, content[: len(content) // 2])
    os._exit(9)
Path.write_bytes = half
explore(toys.ring(3), Limits(cache=Path(sys.argv[1])))
"""


def test_a_writer_is_killed(kept: Limits) -> None:
    assert kept.cache is not None
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(kept.cache)], env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 9
    (left,) = kept.cache.iterdir()
    assert left.name.endswith(folder.HALF)
    result = numpy_search.explore(toys.ring(3), kept)
    assert cache_of(result)["entries_from_cache"] == 0
    assert "notes" not in cache_of(result)
    assert left.exists(), "it may be another's who is still writing"
    os.utime(left, (0, 0))
    numpy_search.explore(toys.ring(4), kept)
    assert not left.exists()
    assert "notes" not in cache_of(numpy_search.explore(toys.ring(3), kept))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = numpy_search.explore(toys.ring(3), Limits(cache=tmp_path / "file" / "tables"))
    assert told(result) == told(numpy_search.explore(toys.ring(3)))
    assert "cannot be written" in cache_of(result)["notes"]


def test_the_folder_has_a_bound_and_what_was_used_least_lately_goes(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"{number}{folder.SUFFIX}"
        path.write_bytes(bytes(100))
        os.utime(path, (1_000 + number % 4, 1_000 + number % 4))  # 0 and 4 are the oldest
    (tmp_path / "other").write_bytes(bytes(1_000))
    folder.make_room(tmp_path, 300)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.tables", "2.tables", "3.tables", "other"]
    assert folder.clear(tmp_path) == (3, 300)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_using_tables_keeps_them_young(kept: Limits) -> None:
    numpy_search.explore(toys.ring(3), kept)
    os.utime(only_file(kept), (1_000, 1_000))
    numpy_search.explore(toys.ring(3), kept)
    assert time.time() - only_file(kept).stat().st_mtime < 60


# ---- what is not kept


def test_values_that_equal_others_are_noticed_beside_kept_ones(kept: Limits) -> None:
    """As without tables: True and 1 are not the same state, whichever run has met the first of them."""
    with pytest.raises(UserError):
        numpy_search.explore(toys.ambiguous())
    system = replace(late(), ref=SystemRef("toys:ring", (("late", 1),)))
    short = numpy_search.explore(system, replace(kept, max_states=3))
    assert cache_of(short)["entries_learned"] > 0
    with pytest.raises(UserError):
        numpy_search.explore(system, kept)


def late() -> System:
    """A counter that ends in True, which equals 1."""

    def moves(value: Any) -> list[Outcome]:
        return [Outcome(value + 1 if value < 8 else True)]

    return System("late", (toys.Toy("counter", "counter", (1,), moves),))


class Name(str):
    __slots__ = ()


def named() -> System:
    """A machine whose value is a text of a type of its own, which its encoding does not tell."""
    moves = {"a": Name("b"), "b": Name("a")}
    machine = toys.Toy("named", "named", (Name("a"),), lambda value: [Outcome(moves[value])])
    return System("named", (machine,), (), SystemRef("toys:named"))


def test_values_that_could_not_be_read_back_are_not_kept(kept: Limits) -> None:
    for _ in range(2):
        result = numpy_search.explore(named(), kept)
        assert result.distinct == 2
        assert "cannot be kept: a Name cannot be told" in cache_of(result)["notes"]
        assert cache_of(result)["entries_from_cache"] == 0


def test_a_system_that_nobody_can_build_again_is_not_kept(kept: Limits) -> None:
    result = numpy_search.explore(replace(toys.ring(3), ref=None), kept)
    assert "nobody could tell how" in cache_of(result)["notes"]
    assert kept.cache is not None
    assert not kept.cache.exists()


def test_with_a_checkpoint_no_tables_are_used(kept: Limits, tmp_path: Path) -> None:
    search.explore(toys.ring(3), replace(kept, checkpoint=tmp_path / "run"))
    assert kept.cache is not None
    assert not kept.cache.exists()


def test_errors_of_tables_that_nobody_kept_stay_errors(kept: Limits) -> None:
    def wrong(tables: Any) -> Result:
        raise EngineError("wrong")

    with pytest.raises(EngineError):
        run.searched(toys.ring(3), kept, None, wrong)


# ---- sources

MODEL = """
from rota.kernel import Kind, Property, System, SystemRef, Outcome, View
from limits_of_mine import LAST
import toys

def whole(value):
    return value

def system():
    machine = toys.Toy("counter", "counter", (0,), lambda value: [Outcome((value + 1) % LAST)])
    small = Property("small", Kind.SAFETY, "It is small.", (View("counter", whole),), lambda value: value < 7)
    return System("mine", (machine,), (small,), SystemRef("my_model:system"))
"""

TELL = """
import sys
from pathlib import Path
from my_model import system
from rota.explore import Limits
from rota.explore.cache import store
from rota.explore.fast.numpy_search import explore
if "blind" in sys.argv:
    store.Identity.key = property(lambda self: "always-the-same")
result = explore(system(), Limits(cache=Path(sys.argv[1])))
cache = result.stats["cache"]
print(result.verdict.value, result.distinct, cache["entries_from_cache"], "notes" in cache)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Callable[..., str]:
    """Writes a model with a last number, and tells what a process finds of it."""

    def of(last: int, *arguments: str) -> str:
        (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
        (tmp_path / "limits_of_mine.py").write_text(f"LAST = {last}\n", encoding="utf-8")
        for path in tmp_path.glob("*.py"):
            os.utime(path, (time.time() - 100 - last, time.time() - 100 - last))
        path = os.pathsep.join([str(tmp_path), *sys.path])
        command = [sys.executable, "-B", "-c", TELL, str(tmp_path / "tables"), *arguments]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return of


def test_a_change_of_a_source_is_another_system(mine: Callable[..., str]) -> None:
    assert mine(5) == "holds 5 0 False"
    assert mine(5) == "holds 5 5 False"
    assert mine(6) == "holds 6 0 False"
    assert mine(9) == "violated 8 0 False"
    assert mine(5) == "holds 5 5 False", "the tables of what it was before are still there"


def test_tables_that_were_not_renewed_are_found_out(mine: Callable[..., str]) -> None:
    """Planted: a name that does not change with the sources. The sample sees it; the search begins anew."""
    assert mine(5, "blind") == "holds 5 0 False"
    assert mine(5, "blind") == "holds 5 5 False"
    assert mine(6, "blind") == "holds 6 0 True"
    assert mine(6, "blind") == "holds 6 6 False"


# ---- what is in a file


def test_tables_are_the_same_after_a_file(kept: Limits) -> None:
    assert kept.cache is not None
    search.explore(toys.two_phase(), kept)
    tables = Store(kept.cache, toys.two_phase()).load()
    assert tables is not None
    about, parts = files.unpacked(only_file(kept).read_bytes())
    again = snapshot.taken(tables)
    assert again.keys() == parts.keys()
    assert files.unpacked(files.packed(about, again))[1].keys() == parts.keys()
