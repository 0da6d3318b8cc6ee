"""Consumers of nine libraries join, leave, crash, come back and commit on rota's server, and outlive it.

`make test-clients`. Programs are built once, through go, npm, pip and javac; what cannot be built is skipped.
"""

import pytest

from harness.clients.every_library import (
    ADOPTED,
    ALL,
    COOPERATIVE,
    STATIC,
    play,
    play_server_restart,
    play_static_restart,
)
from harness.clients.libraries import LIBRARIES
from harness.clients.meddler import BUGS, Bug, Meddler
from harness.kept_server import KeptServer
from rota.conformance.targets.made_once import NotMade
from rota.server import running

pytestmark = pytest.mark.clients

IMPATIENT = 25.0
"""Seconds that a step may take where a bug is planted, which may be that it never comes."""

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "auto.create.topics.enable": False}


@pytest.fixture(scope="session", params=ALL)
def library(request):
    """A library whose program is there."""
    if request.param in LIBRARIES:
        try:
            LIBRARIES[request.param].made()
        except NotMade as cause:
            pytest.skip(f"{cause}; {cause.remedy}")
    return request.param


@pytest.fixture(scope="module")
def address():
    with running(SETTINGS) as address:
        yield address


@pytest.fixture
def kept():
    server = KeptServer(SETTINGS, profile="rota")
    yield server
    server.stop()


@pytest.mark.parametrize("scenario", ADOPTED)
def test_scenario(scenario, library, address):
    play(address, scenario, library, ALL[library][0])


def test_cooperative_rebalance(library, address):
    if "cooperative-sticky" not in ALL[library]:
        pytest.skip(f"{library} has no cooperative assignor")
    play(address, COOPERATIVE, library, "cooperative-sticky")


def test_static_restart(library, address):
    if library not in STATIC:
        pytest.skip(f"{library} has no static members")
    play_static_restart(address, library)


def test_server_restart(library, kept):
    play_server_restart(kept, library)


def test_a_broker_that_forgets_commits_is_found(library, address):
    with Meddler(address, BUGS["commits are forgotten"]) as broker, pytest.raises(AssertionError):
        play(broker.address, "newcomer_continues", library, ALL[library][0], IMPATIENT)


def test_a_broker_without_static_members_is_found(library, address):
    if library not in STATIC:
        pytest.skip(f"{library} has no static members")
    forgetful = Bug(requests={"JoinGroup": lambda body: body.update(group_instance_id=None)})
    with Meddler(address, forgetful) as broker, pytest.raises(AssertionError):
        play_static_restart(broker.address, library, IMPATIENT)


def test_a_server_that_keeps_nothing_is_found(library, kept):
    kept.keeps = False
    with pytest.raises(AssertionError):
        play_server_restart(kept, library, IMPATIENT)
