"""Members that come back into the generation that goes on, or join again before it is assigned: no rebalance
is told that there was not."""

from __future__ import annotations

from typing import Any

import pytest

from harness.nights import Night, causes, explained, member, rebalances, told
from rota.explain.rebalance import Ending
from rota.explain.worst import rank
from rota.history import Kind, Source

A, B, C = (member("worker", number) for number in range(1, 4))


class Clients(Night):
    """What clients' logs tell."""

    def __init__(self) -> None:
        super().__init__(source=Source.CLIENT_LOG)

    def tell(self, at: float, kind: Kind, who: str, **further: Any) -> Clients:
        self.say(at, kind, who, client=who, origin=f"{who}.log:{len(self.events) + 1}", **further)
        return self

    def join(self, at: float, who: str) -> Clients:
        return self.tell(at, Kind.JOINING, who)

    def joined(self, at: float, who: str, generation: int) -> Clients:
        return self.tell(at, Kind.WAS_JOINED, who, generation=generation)

    def sync(self, at: float, who: str, generation: int) -> Clients:
        return self.tell(at, Kind.SYNCED, who, generation=generation, data={"partitions": []})


def test_who_joins_again_before_it_has_fetched_its_assignment_is_in_the_same_generation() -> None:
    night = Clients().join(0, A).joined(0.3, A, 1).join(0.4, A).joined(0.5, A, 1).sync(0.6, A, 1)
    (one,) = rebalances(night)
    assert (one.ending, one.to_generation, one.seconds) == (Ending.ASSIGNED, 1, pytest.approx(0.6))


def test_who_joins_again_may_begin_the_next_generation() -> None:
    night = Clients().join(0, A).joined(1, A, 1).join(2, A).joined(5, A, 2).sync(6, A, 2)
    first, second = rebalances(night)
    assert (first.ending, first.to_generation) == (Ending.OVERTAKEN, 1)
    assert (second.ending, second.to_generation, second.seconds) == (Ending.ASSIGNED, 2, 4)


def test_a_generation_that_some_have_fetched_was_assigned() -> None:
    night = Clients().join(0, A).join(0, B).joined(1, A, 1).joined(1, B, 1).sync(2, A, 1).join(3, B)
    night.tell(3.5, Kind.REBALANCE_TOLD, A).join(3.6, A).joined(4, A, 2).joined(4, B, 2)
    night.sync(5, A, 2).sync(5, B, 2)
    first, second = rebalances(night)
    assert (first.ending, first.to_generation, first.seconds) == (Ending.ASSIGNED, 1, 2)
    assert (second.ending, second.to_generation, second.seconds) == (Ending.ASSIGNED, 2, 2)


def test_what_a_leader_computes_is_no_word_of_the_coordinator() -> None:
    night = Clients().join(0, A).joined(1, A, 3).tell(1.1, Kind.ASSIGNMENT, A, generation=3).join(1.2, B)
    night.sync(1.3, A, 3).tell(1.4, Kind.REBALANCE_TOLD, A).join(1.5, A).joined(1.6, B, 4).joined(1.6, A, 4)
    night.tell(1.7, Kind.ASSIGNMENT, A, generation=4).sync(1.8, B, 4).sync(1.8, A, 4)
    found = [(one.to_generation, one.ending) for one in rebalances(night)]
    assert found == [(3, Ending.ASSIGNED), (4, Ending.ASSIGNED)]


def test_an_answer_with_the_generation_that_goes_on_is_no_rebalance() -> None:
    listed = {"roster": {A: "", B: "till-1"}}
    night = Clients().join(0, A).tell(1, Kind.WAS_JOINED, A, generation=1, data=listed).sync(2, A, 1)
    night.say(30, Kind.WAS_JOINED, C, generation=1, instance="till-1", client="c", origin="c.log:1")
    first, back = rebalances(night)
    assert (first.ending, back.ending, back.who) == (Ending.ASSIGNED, Ending.QUIET, C)
    assert causes(night)[-1] == "static-restart"


def _stored(*generations: tuple[float, int, dict[str, str]]) -> Night:
    night = Night(source=Source.OFFSETS)
    for at, generation, roster in generations:
        listed = [{"member": one, "instance": instance} for one, instance in roster.items()]
        night.say(at, Kind.GROUP_STORED, generation=generation, data={"members": listed})
    return night


def test_the_record_of_a_group_that_was_formed_is_no_rebalance() -> None:
    (one,) = rebalances(_stored((0, 0, {}), (3, 1, {A: ""})))
    assert (one.to_generation, one.from_empty, one.came) == (1, True, (A,))


def test_a_static_member_that_was_back_a_while_before_the_next_generation_is_told() -> None:
    one, other = {A: "till-1", B: ""}, {C: "till-1", B: ""}
    for apart in (5.0, 20.0, 200.0):
        found = rebalances(_stored((0, 1, one), (100, 1, other), (100 + apart, 2, {C: "till-1"})))
        back = [event.instance for each in found for event in each.events if event.kind is Kind.REPLACED]
        assert back == ["till-1"], apart
    assert [each.ending for each in found] == [Ending.ASSIGNED, Ending.QUIET, Ending.ASSIGNED]


def test_the_instance_is_named_where_no_member_is() -> None:
    (one,) = rebalances(Night().say(0, Kind.REPLACED, instance="till-1", state="Stable"))
    assert (one.ending, one.who) == (Ending.QUIET, "till-1")


def test_who_came_before_is_another_story_than_who_came_back() -> None:
    night = Night().come(0, A, 1, 2).replace(5, A, B, "till-1")
    assert causes(night) == ["came", "static-restart"]
    assert causes(Night().fail(0, A, 1, 1).replace(5, B, C, "till-1")) == ["lost-client"]


def test_whoever_is_refused_for_good_is_told_before_a_short_rebalance() -> None:
    night = Night().come(0, A, 1, 2, took=2).replace(5, A, B, "till-1")
    night.say(5.1, Kind.REFUSED, A, instance="till-1", reason="FENCED_INSTANCE_ID")
    came, refused = explained(night.events).incidents
    assert (came.cause.name, refused.cause.name) == ("came", "duplicate-instance")
    assert rank(refused) > rank(came)


def test_what_begins_a_rebalance_is_told_once() -> None:
    one = told(Clients().join(0, A).joined(1, A, 2).sync(2, A, 2))
    kinds = [event.kind for each in one.incident.told for event in each.events]
    assert kinds == [Kind.JOINING, Kind.WAS_JOINED, Kind.SYNCED]
    night = Clients().tell(0, Kind.REBALANCE_TOLD, A).join(0, A).joined(1, A, 2).sync(2, A, 2)
    kinds = [event.kind for each in told(night).incident.told for event in each.events]
    assert kinds == [Kind.REBALANCE_TOLD, Kind.JOINING, Kind.WAS_JOINED, Kind.SYNCED]
