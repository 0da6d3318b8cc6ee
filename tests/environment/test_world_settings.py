"""What the settings of a world are taken for, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from rota.environment import Observed, world
from rota.environment.world import SettingsError, observed
from rota.spec import JoinGroupRequest

TWO = (("range",), ("range",))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"instance": ("i1",)}, "no setting is called instance; there are"),
        ({"budget": (("fail-over", 1),)}, "no budget is called fail-over; there are fault, crash"),
        ({"clients": ("eager", "lazy")}, "no client is called lazy; there are eager"),
        ({"instances": ("i1",)}, "instances has 1 values for 2 clients; give one for each"),
        ({"join_versions": (9, 9, 9)}, "join_versions has 3 values for 2 clients; give one for each"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        world(protocols=TWO, **settings)


def first_join(system: Any, name: str) -> tuple[JoinGroupRequest, int]:
    """What a client says first, and in which version."""
    machine = system.machines[system.index[f"client/{name}"]]
    (value,) = machine.initial()
    call = next(
        outcome.value.outbox for outcome in machine.actions(value) if outcome.value.outbox is not None
    )
    return call.request, call.version


def test_clients_differ_in_age_and_in_who_they_are() -> None:
    system = world(protocols=TWO, instances=("i1", ""), join_versions=(9, 3))
    one, version = first_join(system, "c1")
    other, old = first_join(system, "c2")
    assert (one.group_instance_id, version) == ("i1", 9)
    assert (other.group_instance_id, old) == (None, 3)


def test_what_is_observed_of_the_settings() -> None:
    assert observed({}) == Observed(2, True, True, {}, ("eager", "eager"), (None, None), False, None)
    static = observed({"instances": ("i1", ""), "max_size": 1, "budget": (("failover", 2),)})
    assert static == Observed(2, True, False, {"failover": 2}, ("eager", "eager"), ("i1", None), False, 1)


def test_a_limit_reaches_the_broker() -> None:
    spec = world(max_size=1).machines[0].spec  # type: ignore[attr-defined]
    assert spec.config.group_max_size == 1
    assert world().machines[0].spec.config.group_max_size > 1_000_000  # type: ignore[attr-defined]


def test_a_fail_over_is_no_part_of_any_fault() -> None:
    """It multiplies the states, and how often it may still come must be known from the epoch."""
    labels = {
        transition.label
        for start in world(budget=(("fault", 1),)).initial_states()
        for transition in world(budget=(("fault", 1),)).successors(start)
    }
    assert not any("moves" in label for label in labels)
    assert any("crashes" in label for label in labels)
