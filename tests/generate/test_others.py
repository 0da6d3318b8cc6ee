"""What walks may do to others, and to a target that is left alone, is seen; planted mistakes show it."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from rota.conformance.targets.process import Process, Started
from rota.conformance.targets.remote import Embedded
from rota.coordinator import Effects, ErrorCode, GroupCoordinator, HeartbeatReply
from rota.generate import aftermath, bystander
from rota.generate import reach as reach_module
from rota.generate.bystander import HARMED, Beside
from rota.generate.host import Host
from rota.generate.lateness import Lateness
from rota.generate.plan import Ask, Plan, Silence
from rota.generate.player import Stage
from rota.generate.reach import reach
from rota.generate.rest import Rest, processor_seconds, rest
from rota.generate.run import RUNS, Tally, replayed, run
from rota.generate.verdicts import OTHERS
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Judges, Walks, judged_here
from rota.report.identity import UNIDENTIFIED
from rota.report.walks import WalksSeen
from rota.spec import KAFKA_4, LeaveGroupRequest, LeavingMember
from rota.spec.admin_messages import DescribeGroupsRequest

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 2000}


class Blocks(GroupCoordinator):
    """A LeaveGroup of nobody holds everybody up."""

    def leave_group(self, request, version, token):
        if not request.members and not request.member_id:
            time.sleep(4.0)
        return super().leave_group(request, version, token)


class Forgets(GroupCoordinator):
    """When nobody has left, whoever heartbeats next is told that nobody knows it."""

    left = False

    def leave_group(self, request, version, token):
        self.left = self.left or not (request.members or request.member_id)
        return super().leave_group(request, version, token)

    def heartbeat(self, request, version, token):
        if self.left:
            self.left = False
            return Effects(((token, HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID)),))
        return super().heartbeat(request, version, token)


class OneAtATime(GroupCoordinator):
    """Groups beside the first are not served."""

    def join_group(self, request, *rest):
        return Effects() if request.group_id.endswith("-other") else super().join_group(request, *rest)


def hosted(coordinator):
    host = Host(
        lambda: Embedded(SETTINGS, coordinator, "kafka-4.x"),
        lambda running: reach(running.address, SETTINGS, KAFKA_4, 10.0),
    )
    host.begin()
    return host


def asking(number, *requests):
    asks = [Ask(n, "a", 0, 5, request) for n, request in enumerate(requests)]
    return Plan(1, number, (Silence(0.6), *asks, Silence(0.1)))


@pytest.mark.parametrize(("wrong", "asked"), [((), 13), ((9, 10, 11, 12, 13), 8), ((*range(11), 13), 12)])
def test_topics_are_looked_for_by_a_version_of_metadata_that_the_target_answers(monkeypatch, wrong, asked):
    """One mock answers the newer ones wrongly, another all but two."""
    seen = []
    found = {"Metadata": dict.fromkeys(wrong, "it ends too early")} if wrong else {}
    monkeypatch.setattr(reach_module, "unreadable_versions", lambda *_: found)
    monkeypatch.setattr(reach_module, "_topics", lambda _, versions, __: seen.append(versions["Metadata"]))
    hosted(GroupCoordinator).stop()
    assert seen == [asked]


NOBODY, SOMEBODY = LeaveGroupRequest("the group", ()), LeaveGroupRequest("the group", (LeavingMember("x"),))
LOOK = DescribeGroupsRequest("the group")


def walked(coordinator, *plans, seconds=1.0):
    """The failures and the tally of walks."""
    left, tally = list(plans), Tally()

    async def following():
        return left.pop(0) if left else Plan(1, 99, (Silence(1_000),))

    host = hosted(coordinator)
    try:
        failures = asyncio.run(run(host, following, seconds, tally, Judges(), at_once=len(plans)))
    finally:
        host.stop()
    return failures, tally


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Who waits in vain does not for long, and asks more often."""
    monkeypatch.setattr(bystander, "WITHIN", 1.5)
    monkeypatch.setattr(bystander, "EVERY", 0.2)


def test_a_walk_that_harms_a_bystander_is_found():
    """Which of three it is, made short."""
    plans = asking(0, SOMEBODY, LOOK), asking(1, LOOK, NOBODY), asking(2, LOOK)
    failures, tally = walked(Forgets, *plans)
    assert "is told UNKNOWN_MEMBER_ID" in tally.bystander.harm
    (failure,) = [one for one in failures if one.walked.cause == HARMED]
    assert (failure.walked.rule, failure.met, failure.runs) == (OTHERS, ("1-1",), RUNS)
    assert [step.request for step in failure.walked.played.plan.steps if isinstance(step, Ask)] == [NOBODY]
    seen = WalksSeen("t", "kafka-4.x", 1, tally, failures, 60.0, UNIDENTIFIED)
    assert seen.verdict == "violated"
    assert "is told UNKNOWN_MEMBER_ID" in seen.as_json()["bystander"]["harm"]


@pytest.mark.parametrize(("request_", "harmed"), [(NOBODY, True), (SOMEBODY, False)])
def test_a_target_that_holds_everybody_up_harms_a_bystander(request_, harmed):
    """By the walk that makes it do so, and no other."""
    host = hosted(Blocks)

    async def beside():
        return await Beside(host.coordinator).each([asking(0, request_)])

    try:
        (found,) = asyncio.run(beside())
    finally:
        host.stop()
    assert bool(found.why) is harmed
    assert not harmed or "is answered after" in found.why


def test_such_a_failure_is_played_again_beside_a_bystander():
    """And fails as it did."""
    host = hosted(Forgets)
    try:
        found = asyncio.run(replayed(host, asking(1, NOBODY), HARMED, judged_here))
    finally:
        host.stop()
    assert [one.cause for one in found] == [HARMED] * RUNS


def test_nobody_is_harmed_by_the_server_as_it_is():
    """The bystander's heartbeats are answered all the time, and there is rest afterwards."""
    failures, tally = walked(GroupCoordinator, asking(0, NOBODY, LOOK))
    assert (failures, tally.bystander.harm) == ([], "")
    assert tally.bystander.heartbeats > 2
    assert tally.rest is not None


def test_harm_that_no_walk_does_again_is_undecided():
    """It may have been the machine; nobody says that all is well."""
    failures, tally = walked(GroupCoordinator, asking(0, LOOK))
    tally.bystander.harm = "something"
    seen = WalksSeen("t", "kafka-4.x", 1, tally, failures, 60.0, UNIDENTIFIED)
    assert seen.verdict == "undecided"
    assert any("no walk was seen to do it again" in line for line in seen.lines())


def test_polite_members_of_another_group_that_wait_in_vain_are_told(monkeypatch):
    """The walk's own group is as it should be."""
    monkeypatch.setattr(aftermath, "BEYOND", 1.5)
    host = hosted(OneAtATime)
    try:
        one = asyncio.run(Walks(host.coordinator, "walk").one(asking(0, LOOK)))
    finally:
        host.stop()
    assert one.cause == (OTHERS, "another group")


class Late(Lateness):
    """A kit on a machine so busy that it was late for so long."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def since(self, moment):
        return self.seconds


@pytest.mark.parametrize(("late", "harmed"), [(0.0, True), (5.0, False)])
def test_what_the_kit_is_late_itself_is_not_held_against_the_target(monkeypatch, late, harmed):
    """Two need a second and a half to be Stable; they are given a second, and what the kit was late."""
    monkeypatch.setattr(aftermath, "BEYOND", 1.0)

    async def walk(coordinator):
        coordinator.lateness = Late(late)
        return await aftermath.aftermath(Stage(coordinator, "g"), Plan(1, 0, ()), coordinator.terms)

    harm = in_virtual_time({**SETTINGS, "group.initial.rebalance.delay.ms": 1000}, walk)
    assert (harm is not None) is harmed


def test_a_target_that_spins_does_not_rest():
    """What uses a processor all the time; what uses none, or one for a moment only; what cannot be told."""
    began = time.monotonic()

    def for_a_moment():
        return min(time.monotonic() - began, 1.5)

    async def all_of_them():
        spinning, still, moment, unknown = await asyncio.gather(
            rest(time.monotonic, within=2.0), rest(lambda: 7.0), rest(for_a_moment), rest(lambda: None)
        )
        return spinning, still, moment, unknown

    spinning, still, moment, unknown = asyncio.run(all_of_them())
    assert "still uses 1.0" in spinning.harm
    assert (still.harm, moment.harm, unknown) == ("", "", None)
    tally = Tally(rest=Rest(0.9, 15.0), plans=1)
    assert WalksSeen("t", "kafka-4.x", 1, tally, (), 60.0, UNIDENTIFIED).verdict == "violated"
    tally.rest = Rest(0.1, 15.0)
    assert WalksSeen("t", "kafka-4.x", 1, tally, (), 60.0, UNIDENTIFIED).verdict == "conforms"


def test_what_a_process_and_its_children_use_is_seen():
    """A shell that waits for a child that works; it grows for as long as that does."""
    work = f"{sys.executable} -c 'while True: pass'; true"
    running = Started(Process(("sh", "-c", work)), ("127.0.0.1", 1))
    try:
        used = processor_seconds(running)
        assert used is not None
        while processor_seconds(running) <= used + 0.05:
            time.sleep(0.05)
    finally:
        running.stop()
