"""Dead data is really dead: the image of all states under `settled` is the settled system's set of states.

If a clause cleared something that a rule still reads, the settled system would miss states of the image or
have others; if minting looked at dead data, ids would be named differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.thinned import but
from rota.environment import world
from rota.environment.broker import coordinator
from rota.environment.broker.log import Log, Prospects, Records
from rota.environment.messages import Loaded
from rota.kernel import Outcome, Send, State, System
from rota.spec import GroupState
from rota.spec.classic import settled

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "leave and rejoin": {"budget": (("leave", 1), ("rejoin", 1))},
    "change": {"budget": (("change", 1),)},
    "a failed append": {"budget": (("append", 1), ("leave", 1))},
    "a late client": {"budget": (("late", 1),), "join_version": 3},
    "a broken connection": {"budget": (("break", 1),)},
    "a crash of one of two, admitted at once": {"budget": (("crash", 1),), "join_version": 3},
    "the Scala coordinator": {"budget": (("leave", 1), ("rejoin", 1)), "profile": "kafka-3.x"},
    "static members": {"instances": ("i1", "i2"), "budget": (("poll-timeout", 1),)},
    "a static member whose replacement may fail": {
        "instances": ("i1",),
        "protocols": (("range",),),
        "budget": (("crash", 2), ("append", 1)),
    },
    "one static of two, one leaves": {"instances": ("i1", ""), "budget": (("leave", 1), ("rejoin", 1))},
    "too many for the group": {"max_size": 1, "budget": (("crash", 1),)},
    "a fail-over": {"budget": (("failover", 1),)},
    "a fail-over with the Scala coordinator": {"budget": (("failover", 1),), "profile": "kafka-3.x"},
    "a fail-over and any fault": {
        "protocols": (("range",),),
        "budget": (("failover", 1), ("fault", 1)),
    },
    "a fail-over and a leave": {"protocols": (("range",),), "budget": (("failover", 2), ("leave", 1))},
    "a fail-over of static members": {"instances": ("i1", "i2"), "budget": (("failover", 1),)},
    "a fail-over of a full group": {"max_size": 1, "budget": (("failover", 1),)},
    "a fail-over with offsets": {
        "protocols": (("range",),),
        "offsets": True,
        "budget": (("failover", 1), ("commit", 1)),
    },
}


Search = Callable[[System], set[State]]


def image(state: State, prospects: Prospects, live: settled.Live) -> State:
    """A state without dead data."""
    value, log, *rest = state
    assert isinstance(value, coordinator.Coordinator)
    assert isinstance(log, Records)
    may_move = prospects.may_move(value.epoch)
    group = None if value.group is None else settled.settled(value.group, live)
    appends = settled.settled_appends(group, log.appends, replace(live, failover=may_move))
    durable = log.durable if may_move or value.loading else None
    return (
        replace(value, group=group, armed=settled.settled_timers(group, value.armed)),
        replace(log, appends=appends, durable=durable),
        *rest,
    )


def images(system: System, reachable: Search) -> set[State]:
    """Every state, each without its dead data."""
    broker = system.machines[0]
    assert isinstance(broker, coordinator.Broker)
    return {image(state, broker.prospects, broker.live) for state in reachable(system)}


LIKE_OTHERS = (
    "a fail-over",
    "a fail-over of a full group",
    "a failed append",
    "a broken connection",
    "a crash of one of two, admitted at once",
    "a fail-over of static members",
    "a fail-over with the Scala coordinator",
    "a late client",
    "a static member whose replacement may fail",
    "one static of two, one leaves",
    "too many for the group",
)
"""Those that take longest; of each of their faults, members and coordinators there is another."""


@pytest.mark.parametrize("name", but(LIKE_OTHERS, CONFIGURATIONS))
def test_image_of_all_states_is_the_settled_system(name: str, reachable: Search) -> None:
    full = world(settle=False, **CONFIGURATIONS[name])
    assert images(full, reachable) == reachable(world(settle=True, **CONFIGURATIONS[name]))


def test_a_clause_that_clears_live_data_is_caught(monkeypatch: pytest.MonkeyPatch, reachable: Search) -> None:
    """Planted: assignments are cleared in Stable too, where `sync.stable` reads them."""

    def too_much(group: Any, *live: Any) -> Any:
        group = original(group, *live)
        if group.state is not GroupState.STABLE:
            return group
        return group.with_each((i, replace(m, assignment=b"")) for i, m in group.members.items())

    original = settled.settled
    settings = {"budget": (("rejoin", 1),)}
    full = world(settle=False, **settings)
    monkeypatch.setattr(settled, "settled", too_much)
    small = reachable(world(settle=True, **settings))
    assert images(full, reachable) != small


def test_a_record_that_is_cleared_although_it_may_be_loaded_again_is_caught(
    monkeypatch: pytest.MonkeyPatch, reachable: Search
) -> None:
    """Planted: what the coordinator has loaded is forgotten, though it may move once more."""

    def too_soon(log: Log, value: Records) -> Outcome:
        after = replace(value, durable=None) if log.settle else value
        return Outcome(after, (Send("coordinator", Loaded(value.durable)),))

    settings: dict[str, Any] = {"protocols": (("range",),), "budget": (("failover", 2),)}
    full = images(world(settle=False, **settings), reachable)
    assert full == reachable(world(**settings))
    monkeypatch.setattr(Log, "_read", too_soon)
    assert full != reachable(world(**settings))
