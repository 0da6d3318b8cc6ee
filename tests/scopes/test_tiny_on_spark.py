"""The scope tiny on Spark: the same answers as the reference engine, by the pinned counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rota.explore import spark
from rota.explore.result import Outcome
from rota.explore.session import spark_context
from rota.mutants import MUTANTS, system
from rota.scopes import Configuration, load

TINY = load("tiny")

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
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
