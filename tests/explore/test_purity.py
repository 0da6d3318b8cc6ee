"""Machines and properties that are no functions are found by every engine; those that are raise no alarm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import fickle
import pytest
import toys
from tests.harness.spark_here import Context

from rota.explore import Limits, Result, purity, reference
from rota.explore.elsewhere import Elsewhere
from rota.explore.fast import numpy_search, search
from rota.explore.purity import NOTHING, Again, Impure, Line, copied, next_square, twice
from rota.explore.spark import engine as spark
from rota.explore.spark.worker.whole import Whole, explore_whole
from rota.explore.tables.system import Tables, worth
from rota.kernel import System, SystemRef

Explore = Callable[[System], Result]


def shipped(name: str) -> System:
    """A fickle system that another process can build."""
    return replace(getattr(fickle, name)(), ref=SystemRef(f"fickle:{name}"))


def on_spark(system: System) -> Result:
    """In rounds, in this process."""
    return spark.explore(system, context=Context())


def whole(system: System) -> Result:
    """In one task, in this process."""
    assert system.ref is not None
    (answer,) = explore_whole(Whole(system.ref, None, 10_000))
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Result)
    return answer


ENGINES: dict[str, Explore] = {
    "reference": reference.explore,
    "numpy": numpy_search.explore,
    "fast": search.explore,
    "spark": on_spark,
    "whole": whole,
}


@pytest.mark.parametrize("name", fickle.IMPURE)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_machine_that_is_no_function_is_found(engine: str, name: str) -> None:
    with pytest.raises(
        Impure, match=r"^machine fickle is no function.*asked about .* it answered .*asked again"
    ):
        ENGINES[engine](shipped(name))


@pytest.mark.parametrize("engine", ["reference", "numpy", "fast", "spark"])
def test_a_property_that_is_no_function_is_found(engine: str) -> None:
    with pytest.raises(Impure, match="property moody is no function"):
        ENGINES[engine](shipped("opinion"))


@pytest.mark.parametrize("name", fickle.PURE)
@pytest.mark.parametrize("engine", ENGINES)
def test_functions_raise_no_alarm_and_a_run_says_how_much_it_looked_at(engine: str, name: str) -> None:
    result = ENGINES[engine](shipped(name))
    assert result.distinct == {"honest": fickle.LAST + 1, "disordered": 2**5}[name]
    sampled = result.stats["sampled"]
    assert 0 < sampled["again"] <= sampled["questions"]
    assert engine == "reference" or sampled["states"] > 0


def test_plain_rounds_look_too(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context()
    monkeypatch.setattr(spark, "look_at", lambda *_: replace(real(*_), compiled=False))
    with pytest.raises(Impure, match="machine fickle"):
        spark.explore(shipped("once"), context=context)


real = spark.look_at


# ---- how much


def test_the_sample_grows_with_the_square_root() -> None:
    line = Line("it", lambda value: value, next_square)
    for number in range(10_000):
        line.note((number,), number)
    assert len(line.kept) == 100 + 2
    assert [worth(count) for count in (10, 10_000, 10**8)] == [24, 24, 312]


def test_of_questions_to_predicates_the_powers_of_two_are_asked_again() -> None:
    again = Again()
    line = again.line(Line("it", lambda value: value, twice))
    for number in range(1000):
        line.note((number,), number)
    told = again.ask()
    assert (told.questions, told.again) == (1000, 10)
    assert again.ask() == NOTHING, "each once"


def test_late_questions_are_looked_at() -> None:
    """It begins to cheat when it was asked a thousand times."""
    again = Again()
    line = again.line(Line("it", lambda value: value, next_square))
    for number in range(3000):
        line.note((number,), number if number < 1000 else -number)
    with pytest.raises(Impure):
        again.ask()


@pytest.mark.parametrize("value", [(1, "a"), frozenset({"x", "y"}), toys.Node(True, False), "text" * 9])
def test_copies_equal_what_they_are_of_and_are_others(value: Any) -> None:
    assert copied(value) == value
    assert copied(value) is not value


def test_what_cannot_be_copied_is_asked_about_itself() -> None:
    @dataclass_here
    class Local:
        at: int

    value = Local(3)
    assert copied(value) is value


def dataclass_here(kind: type[Any]) -> type[Any]:
    from dataclasses import dataclass

    return dataclass(frozen=True)(kind)


class Nothing(Enum):
    """Equals nothing, not even itself."""

    NOTHING = "nothing"

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 7


def test_what_equals_nothing_is_no_alarm() -> None:
    again = Again()
    again.line(Line("it", lambda value: Nothing.NOTHING, twice)).note((1,), Nothing.NOTHING)
    assert again.ask().again == 1


# ---- planted in the tool


def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity.Line, "note", lambda self, arguments, answer: None)


def nothing_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity.Again, "ask", lambda self: NOTHING)


def the_same_object_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity, "copied", lambda value: value)


@pytest.mark.parametrize(
    ("plant", "missed"),
    [
        (nothing_is_kept, "once"),
        (nothing_is_asked_again, "once"),
        (the_same_object_is_asked_about, "address"),
    ],
)
def test_a_sample_that_samples_nothing_misses_it(
    plant: Any, missed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above fail with each of these."""
    plant(monkeypatch)
    monkeypatch.setattr(Tables, "check", lambda self, rows: None)
    for explore in (reference.explore, numpy_search.explore):
        explore(shipped(missed))


# ---- kept tables


def test_kept_tables_of_what_is_no_function_are_found_out(tmp_path: Path, monkeypatch: Any) -> None:
    """The first run was made to look away; the next one, from its tables, does not."""
    kept = Limits(cache=tmp_path)
    with monkeypatch.context() as planted:
        nothing_is_asked_again(planted)
        planted.setattr(Tables, "check", lambda self, rows: None)
        first = search.explore(shipped("chance"), kept)
    assert first.stats["cache"]["entries_learned"] > 0
    with pytest.raises(Impure, match="machine fickle"):
        search.explore(shipped("chance"), kept)


# ---- another process


SCRIPT = """
import sys
import fickle
from dataclasses import replace
from rota.explore.elsewhere import Elsewhere
from rota.explore.purity import Impure
from rota.kernel import SystemRef
name = sys.argv[1]
with Elsewhere(replace(getattr(fickle, name)(), ref=SystemRef(f"fickle:{name}"))) as other:
    try:
        other.compare()
        print("same", other.states, other.why)
    except Impure as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hashes", "machine fickle is no function of what it is given: asked about "),
        ("honest", "same 41 \n"),
        ("disordered", "same 32 \n"),
    ],
)
@pytest.mark.parametrize("seed", ["1", "77"])
def test_another_process_has_other_orders_of_sets(name: str, told: str, seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(fickle.__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(told)
    assert "in another process" in done.stdout or name != "hashes"


def test_a_system_that_cannot_be_built_elsewhere_is_not_compared() -> None:
    with Elsewhere(replace(fickle.honest(), ref=SystemRef("nowhere:honest"))) as other:
        other.compare()
    assert (other.states, other.why) == (0, "the other process could not build the system")
