"""For all tests: mutants of the spec; what Hypothesis tries does not depend on what else was imported."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from rota.mutants import FOUND_BY_DIALOGUES, MUTANTS
from rota.oracle.walk import no_constants_of_sources
from rota.spec import RULES

pytest.register_assert_rewrite("harness", "rota.stage", "checklist.checklist_words")

# Hypothesis: everywhere the same examples each time, and no deadline that a busy machine misses.
settings.load_profile("ci")


# What a test learns is nobody else's: neither tests nor what they start see tables of earlier runs.
os.environ["ROTA_TABLES"] = "off"

# Spark's own process lives for a minute or two: what a better compiler saves there is less than it costs.
for options in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ[options] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


# What tests explore is large and has few circles: Python looks for these too often.
gc.set_threshold(20_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes long; runs only where it is asked for (-m long)")
    config.addinivalue_line("markers", "docs: long commands of the documentation (-m docs)")
    config.addinivalue_line("markers", "clients: consumers of every library, built here (-m clients)")


def pytest_collection_finish() -> None:
    """What is imported stays: neither Python nor an engine, between two systems, looks through it again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that take long are left out unless -m names them."""
    for mark in ("long", "docs", "clients"):
        if mark in config.option.markexpr:
            continue
        left = [item for item in items if item.get_closest_marker(mark)]
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """What tests start can be interrupted, also where the tests run in the background of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def plant_in_spec(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Exchange a rule of the spec that the oracle follows for the mutant of that name, for one test."""

    def plant(name: str) -> None:
        one = {**MUTANTS, **FOUND_BY_DIALOGUES}[name]
        monkeypatch.setattr("rota.oracle.follow.RULES", RULES.replaced(one.slug, one.function))

    return plant


@pytest.fixture(scope="session", autouse=True)
def same_examples() -> Iterator[None]:
    """Derandomized tests see the same examples alone and in a run of everything."""
    with no_constants_of_sources():
        yield
