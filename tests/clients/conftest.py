"""Real consumers, in processes of their own, on rota's server.

The server is rota's own, started for the tests with the spec in step behind its coordinator: a step that the
spec does not allow fails the test in whose group it happened. With ROTA_CLIENTS_TARGET=HOST:PORT the same
tests run on any broker that allows a session timeout of 6 s and the creation of topics (they stay there):

    ROTA_CLIENTS_TARGET=127.0.0.1:9092 python -m pytest tests/clients

All scenarios that are selected begin together; each test waits for its own.
"""

import os

import pytest

from harness.clients.planted import judged
from rota.clients.performances import Case, Performances
from rota.oracle.shadow import watched

TARGET = "ROTA_CLIENTS_TARGET"
SETTINGS = {
    "group.initial.rebalance.delay.ms": 100,
    "auto.create.topics.enable": False,
}


@pytest.fixture(scope="session")
def broker():
    """The address of the server, and its watch, None where it is not rota's own."""
    if os.environ.get(TARGET):
        yield os.environ[TARGET], None
        return
    with watched(SETTINGS) as (address, watch):
        yield address, watch


@pytest.fixture(scope="session")
def performances(request, broker):
    """All selected cases, playing."""
    callspecs = [getattr(item, "callspec", None) for item in request.session.items]
    asked = [found.params.get("case") for found in callspecs if found is not None]
    chosen = [case for case in asked if isinstance(case, Case) and not case.missing]
    playing = Performances(broker[0], chosen)
    yield playing
    playing.close()


@pytest.fixture
def played(case, broker, performances):
    """A case that has been played, with its failure if it has one. What the coordinator did in its group is
    what the spec allows."""
    if case.missing:
        pytest.skip(f"{', '.join(case.missing)} not installed")
    _, watch = broker
    return performances.of(case, lambda played: judged(played, watch.shadows if watch else ()))
