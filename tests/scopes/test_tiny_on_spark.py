"""The scope tiny, and KGROUP, on Spark: the same answers as the other engines."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rota.explore import fast, spark
from rota.explore.result import Outcome
from rota.explore.session import spark_context
from rota.mutants import MUTANTS, system
from rota.scopes import Configuration, load

TINY = load("tiny")

pytestmark = pytest.mark.spark


ROOT = str(Path(__file__).parents[2])


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    """Its worker processes find `bench`, as those of `rota check --system` do from the checkout's root."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        patch.setenv("PYTHONPATH", ROOT)
        with spark_context() as running:
            yield running


@pytest.mark.parametrize("one", TINY.configurations, ids=lambda one: one.name)
def test_configuration(one: Configuration, context: Any) -> None:
    result = spark.explore(system(one.settings), context=context)
    assert result.outcome is Outcome.HOLDS
    assert one.expected is not None
    found = (result.distinct, result.generated, result.depth, result.digest)
    assert found == tuple(one.expected[key] for key in ("distinct", "generated", "depth", "digest"))


def test_mutant(context: Any) -> None:
    """The worker processes rebuild the world with the mutant in it."""
    mutant = MUTANTS["sync-timeout-forgives"]
    settings = TINY.configuration(mutant.configuration).settings
    result = spark.explore(system(settings, mutant.name), context=context)
    assert result.violation is not None
    assert result.violation.name == mutant.killer


def test_kgroup(context: Any) -> None:
    """A system from outside of rota, with the counts that other model checkers have too."""
    kgroup = import_module("bench.kgroup").kgroup(N=2, G=2, L=2)
    result = spark.explore(kgroup, context=context)
    assert (result.distinct, result.generated, result.depth) == (6_230, 14_680, 27)
    assert result.answer == fast.explore(kgroup).answer
