"""Mistakes in a system are findings with the shortest run, equal on every engine; an engine's own are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import mistakes
import pytest

from harness.spark_here import Context
from harness.thinned import some
from rota.explore import Limits, Result, reference
from rota.explore.fast import engine as fast
from rota.explore.fast import numpy_search
from rota.explore.liveness import check as liveness
from rota.explore.liveness import engine as lasso
from rota.explore.liveness import graph
from rota.explore.spark import engine as spark
from rota.explore.spark import preflight, session
from rota.explore.spark.worker import plain_round, round, whole
from rota.explore.spark.worker.memo import Memory
from rota.explore.spark.worker.numbers import Numbers
from rota.explore.spark.worker.plain_tables import Remembering, Values
from rota.explore.tables import machines
from rota.explore.tables.machines import Interned, Learned
from rota.explore.walks.model import Walks
from rota.explore.walks.simulate import simulate
from rota.kernel import System, UserError, twins
from rota.kernel.system import MAX_MESSAGES
from rota.kernel.twins import Vocabulary

Explore = Callable[[System], object]


def by_levels(system: System) -> Result:
    return spark.explore(system, Limits(memory=1 << 20), context=Context(), partitions=2)


def whole_in_a_task(system: System) -> Result:
    assert system.ref is not None
    (answer,) = whole.explore_whole(whole.Whole(system.ref, None, 1 << 20))
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Result)
    return answer


def walks(system: System) -> object:
    return simulate(system, Walks(runs=4, depth=8))


ENGINES: dict[str, Explore] = {
    "reference": reference.explore,
    "numpy": numpy_search.explore,
    "fast": fast.explore,
    "spark": by_levels,
    "spark, whole": whole_in_a_task,
    "spark, plain": by_levels,
    "walks": walks,
}


@pytest.fixture(params=ENGINES)
def explore(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Explore:
    """An engine; in plain Python its workers have no numba."""
    round._WORKERS.clear()
    plain_round._WORKERS.clear()
    if request.param == "spark, plain":
        monkeypatch.setattr(spark, "look_at", lambda context, say: session.Cluster(False, False))
    return ENGINES[request.param]


def told(explore: Explore, system: System) -> UserError:
    with pytest.raises(UserError) as error:
        explore(system)
    return error.value


@pytest.mark.parametrize(
    ("name", "explore"), some(product(mistakes.MISTAKES, ENGINES), 6), indirect=["explore"]
)
def test_a_mistake_names_itself_its_line_and_the_shortest_run(name: str, explore: Explore) -> None:
    wanted, error = mistakes.MISTAKES[name], told(explore, mistakes.mistaken(name))
    assert error.where == wanted.where
    assert re.search(wanted.what, error.what), error.what
    assert error.path is not None
    assert (None if error.start is None else len(error.path)) == wanted.steps
    if wanted.mark:
        assert error.source == mistakes.line(wanted.mark)
    else:
        assert error.source.startswith(mistakes.__file__) or "endless" in name
    assert str(error) == str(told(reference.explore, mistakes.mistaken(name)))


def test_what_makes_no_mistake_is_explored(explore: Explore) -> None:
    assert explore(replace(mistakes.fine(), ref=mistakes.SystemRef("mistakes:fine")))


# ---- several processes


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("pair", [("token", "twin"), ("number", "truth"), ("two", "level")])
def test_what_no_process_sees_alone_is_refused(
    pair: tuple[str, str], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every task is a process of its own, and no two of its states are met by the same."""
    round._WORKERS.clear()
    plain_round._WORKERS.clear()
    monkeypatch.setattr(preflight, "PROBED", 0)  # the driver does not look ahead
    if plain:
        monkeypatch.setattr(spark, "look_at", lambda context, say: session.Cluster(False, False))
    for partitions in (1, 2, 3, 5, 8):
        with pytest.raises(UserError) as error:
            spark.explore(
                mistakes.parting(*pair),
                Limits(memory=1 << 20),
                context=Context(forget=True),
                partitions=partitions,
            )
        assert str(error.value) == str(told(reference.explore, mistakes.parting(*pair)))
        assert len(error.value.path or ()) == 1


# ---- endless runs


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("name", "where", "what"),
    [
        ("test", "property comes", r"test\(2\) raised KeyError: 2"),
        ("view", "property comes", r"its view of walker \(2\) returned .* is not hashable"),
        ("fair", "assumption odd", r"of\(Transition\(.* raised KeyError: 1"),
    ],
)
def test_mistakes_in_sentences_about_endless_runs(
    name: str, where: str, what: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "_compiled", lambda: compiled)
    error = told(lasso.explore, mistakes.lasting(name))
    assert error.where == where
    assert re.search(what, error.what), error.what
    assert len(error.path or ()) == (1 if name == "fair" else 2)
    if name != "view":
        assert error.source == mistakes.line("raising")


@pytest.mark.parametrize(
    "name", ["actions raise", "value equals", "dataclasses", "unequal", "endless messages"]
)
@pytest.mark.parametrize("compiled", [True, False])
def test_the_graph_of_endless_runs_has_the_same_mistakes(
    name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "_compiled", lambda: compiled)
    mistaken = replace(mistakes.mistaken(name), liveness=mistakes.calm().liveness)
    error = told(lasso.explore, mistaken)
    assert str(error) == str(told(reference.explore, mistaken))


# ---- limits that all have in common


FEWEST = ("fast 1000", "fast 1001")
"""Where a limit is met and passed by one engine at any rate."""


@pytest.mark.parametrize(
    ("explore", "count"), some(product(ENGINES, (1000, 1001)), 7, always=FEWEST), indirect=["explore"]
)
def test_so_many_messages_are_too_many_for_every_engine(count: int, explore: Explore) -> None:
    if count <= MAX_MESSAGES:
        explore(mistakes.talking(count))
    else:
        assert "more than 1000 messages in one transition" in told(explore, mistakes.talking(count)).what


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("count", [1000, 1001])
def test_so_many_messages_are_too_many_for_endless_runs(
    count: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "_compiled", lambda: compiled)
    system = replace(mistakes.talking(count), liveness=mistakes.calm().liveness)
    if count <= MAX_MESSAGES:
        lasso.explore(system)
    else:
        assert "more than 1000 messages" in told(lasso.explore, system).what


def test_a_violation_that_comes_before_a_mistake_is_what_counts(explore: Explore) -> None:
    """In the level of the mistake, by a property that comes first."""
    if explore is not walks:
        result = explore(mistakes.violated_first())
        assert isinstance(result, Result)
        assert result.violation == reference.explore(mistakes.violated_first()).violation
        assert result.violation is not None
        assert result.violation.name == "under two"


# ---- an engine's own mistakes


def _bug(*_: Any, **__: Any) -> Any:
    raise KeyError("an engine's own")


@pytest.mark.parametrize(
    ("name", "where", "what"),
    [
        ("spark", Memory, "answer"),
        ("spark", Numbers, "meet"),
        ("spark, plain", Remembering, "_learn"),
        ("spark, plain", Values, "number"),
        ("spark, whole", Interned, "add"),
        ("walks", Learned, "_delivery_of"),
        ("reference", Vocabulary, "_add"),
    ],
)
def test_a_bug_between_an_engine_and_a_machine_is_not_the_machines(
    name: str, where: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    round._WORKERS.clear()
    plain_round._WORKERS.clear()
    if name == "spark, plain":
        monkeypatch.setattr(spark, "look_at", lambda context, say: session.Cluster(False, False))
    monkeypatch.setattr(where, what, _bug)
    with pytest.raises(Exception, match="an engine's own") as error:
        ENGINES[name](mistakes.talking(2))
    assert type(error.value) is KeyError


def test_the_plain_graph_keeps_its_own_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "_compiled", lambda: False)
    monkeypatch.setattr(graph._Memoised, "actions", _bug)
    with pytest.raises(KeyError, match="an engine's own"):
        lasso.explore(mistakes.calm())


@pytest.mark.parametrize(
    ("name", "where", "attribute", "wants_another"),
    [("reference", twins, "component_hash", len), ("numpy", machines, "encoded_hash", divmod)],
)
def test_a_bug_in_the_encoding_is_not_the_values(
    name: str, where: Any, attribute: str, wants_another: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in takes another number of arguments."""
    monkeypatch.setattr(where, attribute, wants_another)
    with pytest.raises(TypeError, match="argument"):
        ENGINES[name](mistakes.talking(2))
