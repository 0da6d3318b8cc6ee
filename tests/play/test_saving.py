"""A run that is saved as a trace is followed again, and says what its end is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import ticket_office
import toys

from rota.designs import suites
from rota.kernel import System
from rota.play import PlayError, Session
from rota.play.saving import examples, saved
from rota.trace import Origin, ReplayError, dumps, read, rebuild, replay

NAMED = Origin(configuration="core", scope="tiny")


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 17])
@pytest.mark.parametrize(
    "build",
    [
        lambda built: built("core"),
        lambda built: built("move-commit"),
        lambda built: suites.system("watchers", suites.load("watchers").configurations[0].settings),
        lambda built: suites.system("server-side", suites.load("server-side").configurations[0].settings),
    ],
    ids=["core", "move-commit", "watchers", "server-side"],
)
def test_a_saved_run_is_followed_again(
    build: Callable[..., System], steps: int, built: Callable[..., System]
) -> None:
    walk = Session.of(build(built)).walked(steps, seed=3)
    trace = read(dumps(saved(walk, NAMED)))
    run = replay(trace, rebuild(trace))
    assert run.states == walk.states
    assert (trace.origin.configuration, trace.origin.scope) == ("core", "tiny")


def test_a_run_is_saved_to_where_the_person_stands(core: Session) -> None:
    assert len(saved(core.walked(8, 1).to(3), NAMED).steps) == 3


def test_a_run_that_violates_something_is_a_trace_of_that() -> None:
    office = Session.of(ticket_office.office(2, "tickets.differ")).step(0).step(0)
    trace = saved(office, NAMED)
    assert trace.property_name == "tickets.differ"
    assert trace.origin.reach is None
    trusted = ("ticket_office:office",)
    replay(trace, rebuild(trace, trusted))
    turned = Session.of(ticket_office.office(2, "office.counts-up")).jumped("office.last == 2")
    assert saved(turned.step(0), NAMED).property_name == "office.counts-up"


def test_what_the_last_step_did_describes_the_end(core: Session) -> None:
    assert saved(core.step(0), NAMED).origin.reach == "client/c1.phase == 'joining'"
    described = "coordinator.group.state == 'Stable'"
    assert saved(core.jumped(described), NAMED, described).origin.reach == described


def test_a_description_that_is_not_so_is_refused(core: Session) -> None:
    with pytest.raises(PlayError, match="not a state in which"):
        saved(core, NAMED, "client/c1.phase == 'joining'")


def test_examples_are_true(built: Callable[..., System]) -> None:
    for system in (built("core"), ticket_office.office(3), toys.die_hard()):
        here = Session.of(system).walked(4, 2)
        texts = examples(here)
        assert texts
        assert all(here.there(text)(here.state) for text in texts)


def test_a_trace_that_leaves_a_step_out_is_not_followed(core: Session) -> None:
    trace = saved(core.walked(6, 3), NAMED)
    with pytest.raises(ReplayError):
        replay(replace(trace, steps=trace.steps[:-1]), rebuild(trace))
