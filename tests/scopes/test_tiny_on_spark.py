"""The scope tiny, and KGROUP, in rounds of the Spark engine: the same answers as the other engines.

A third of tiny in this process, by a stand-in for Spark, half of it where that is asked for (-m long); some
of it, and a mutant, on Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness import spark_here
from harness.thinned import but
from rota.explore import Limits
from rota.explore.fast import engine as fast
from rota.explore.result import Verdict
from rota.explore.spark import engine as spark
from rota.explore.spark.session import spark_context
from rota.mutants import MUTANTS, system
from rota.scopes import Configuration, load

TINY = load("tiny")

ON_SPARK = [TINY.configuration("core"), pytest.param(TINY.configuration("all-leave"), marks=pytest.mark.long)]

DEAR = (
    "all-leave",
    "commit",
    "cooperative-partitions",
    "full-three",
    "leave-and-rejoin",
    "old-beside-new",
    "own-timeouts",
    "raw-full",
)
"""Those that take longest and have another like them."""

ROOT = str(Path(__file__).parents[2])


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    """Its worker processes find `bench`, as those of `rota check --system` do from the checkout's root."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        patch.setenv("PYTHONPATH", ROOT)
        with spark_context() as running:
            yield running


def pinned(one: Configuration, context: Any, **how: Any) -> None:
    """A configuration holds, and has the counts that are pinned."""
    result = spark.explore(system(one.settings), context=context, **how)
    assert result.verdict is Verdict.HOLDS
    assert one.expected is not None
    found = (result.distinct, result.generated, result.depth, result.digest)
    assert found == tuple(one.expected[key] for key in ("distinct", "generated", "depth", "digest"))


@pytest.mark.parametrize("one", but(DEAR, TINY.configurations[1::3]), ids=lambda one: one.name)
def test_rounds_in_this_process(one: Configuration) -> None:
    pinned(one, spark_here.Context(), limits=Limits(memory=1 << 24))


@pytest.mark.spark
@pytest.mark.parametrize("one", ON_SPARK, ids=lambda one: one.name)
def test_configuration(one: Configuration, context: Any) -> None:
    pinned(one, context)


@pytest.mark.spark
def test_mutant(context: Any) -> None:
    """The worker processes rebuild the world with the mutant in it."""
    mutant = MUTANTS["sync-timeout-forgives"]
    settings = TINY.configuration(mutant.configuration).settings
    result = spark.explore(system(settings, mutant.name), context=context)
    assert result.violation is not None
    assert result.violation.name == mutant.killer


@pytest.mark.spark
@pytest.mark.long
def test_kgroup(context: Any) -> None:
    """A system from outside of rota, with the counts that other model checkers have too."""
    kgroup = import_module("bench.kgroup").kgroup(N=2, G=2, L=2)
    result = spark.explore(kgroup, context=context)
    assert (result.distinct, result.generated, result.depth) == (6_230, 14_680, 27)
    assert result.answer == fast.explore(kgroup).answer
