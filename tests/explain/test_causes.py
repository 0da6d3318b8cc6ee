"""Each cause is named where its evidence is there, and not in a night that only looks alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands import ROOT
from harness.nights import CLOSED, LATE, NOT_GIVEN, Night, causes, member, told
from rota.explain import diagnosis
from rota.explain.causes import CAUSES, UNKNOWN, Cause
from rota.explain.reasons import TRIGGERS
from rota.explain.signs import Sign
from rota.history import Kind, Source
from rota.spec import RULES

A, B, C, D, E = (member("worker", number) for number in range(1, 6))
NIGHTS: dict[str, Callable[[], Night]] = {}
"""Name → a night; what stands before a `/` is the cause that has to be named."""


def night(name: str) -> Callable[[Callable[[], Night]], Callable[[], Night]]:
    """A night by its name."""

    def keep(made: Callable[[], Night]) -> Callable[[], Night]:
        NIGHTS[name] = made
        return made

    return keep


@night("slow-poll")
def late() -> Night:
    return Night().leave(0, A, 1, 1, reason=LATE).come(5, B, 2, 2)


@night("slow-poll/told by the client")
def late_by_its_own_log() -> Night:
    told = Night().say(0, Kind.POLL_LATE, A, source=Source.CLIENT_LOG)
    return told.leave(0.1, A, 1, 1, reason=NOT_GIVEN)


@night("closed/not late")
def closed() -> Night:
    return Night().leave(0, A, 1, 1)


@night("left/gives no reason")
def left() -> Night:
    return Night().leave(0, A, 1, 1, reason=NOT_GIVEN)


@night("unsubscribed")
def unsubscribed() -> Night:
    return Night().leave(0, A, 1, 1, reason="client reason: the consumer unsubscribed from all topics")


@night("removed-by-admin")
def removed() -> Night:
    return Night().leave(0, A, 1, 1, reason="client reason: member was removed by an admin")


@night("restart")
def restarted() -> Night:
    return Night().leave(0, A, 2, 1).come(4, B, 3, 2)


@night("closed/another client comes")
def another_comes() -> Night:
    return Night().leave(0, A, 2, 1).come(4, member("other", 9), 3, 2)


@night("lost-client")
def lost() -> Night:
    return Night().fail(0, A, 1, 1)


@night("lost-client/and it is replaced")
def lost_and_replaced() -> Night:
    return Night().fail(0, A, 1, 1).come(20, B, 2, 2)


@night("lost-client/two, a minute apart")
def lost_one_after_the_other() -> Night:
    return Night().fail(0, A, 1, 2).fail(60, B, 2, 1)


@night("lost-client/told by two sources")
def lost_and_told_twice() -> Night:
    return Night().say(0, Kind.FAILED, A).fail(1, A, 1, 1)


@night("sessions-together")
def lost_together() -> Night:
    found = Night().say(0, Kind.FAILED, A)
    found.prepare(0, 1, f"removing member {A} on heartbeat expiration.")
    return found.say(1.5, Kind.FAILED, B).settle(3, 2, 2)


@night("paused-process")
def paused() -> Night:
    return Night().fail(0, A, 1, 1).say(2, Kind.REFUSED, A, reason="UNKNOWN_MEMBER_ID").come(3, B, 2, 2)


@night("paused-together")
def away_together() -> Night:
    found = Night().say(0, Kind.FAILED, A)
    found.prepare(0, 1, f"removing member {A} on heartbeat expiration.")
    found.say(1.5, Kind.FAILED, B).say(2, Kind.REFUSED, A, reason="UNKNOWN_MEMBER_ID")
    return found.say(2, Kind.REFUSED, B, reason="UNKNOWN_MEMBER_ID").settle(3, 2, 2)


@night("paused-process/two, one after the other")
def one_after_the_other_is_back() -> Night:
    found = Night().say(0, Kind.FAILED, A)
    found.prepare(0, 1, f"removing member {A} on heartbeat expiration.")
    found.say(2, Kind.REFUSED, A, reason="UNKNOWN_MEMBER_ID").say(15, Kind.FAILED, B)
    return found.say(17, Kind.REFUSED, B, reason="UNKNOWN_MEMBER_ID").settle(18, 2, 2)


@night("paused-process/the other one does not come back")
def one_of_two_is_back() -> Night:
    found = Night().say(0, Kind.FAILED, A)
    found.prepare(0, 1, f"removing member {A} on heartbeat expiration.")
    found.say(1.5, Kind.FAILED, B).say(2, Kind.REFUSED, A, reason="UNKNOWN_MEMBER_ID")
    return found.settle(3, 2, 2)


@night("paused-process/told by the client")
def paused_by_its_own_log() -> Night:
    found = Night().fail(0, A, 1, 1)
    return found.say(2, Kind.LOST, A, source=Source.CLIENT_LOG).come(3, B, 2, 2)


@night("lost-client/somebody else is refused")
def another_refused() -> Night:
    return Night().fail(0, A, 1, 1).say(2, Kind.REFUSED, C, reason="UNKNOWN_MEMBER_ID").come(3, B, 2, 2)


@night("left/then refused, never silent")
def left_and_refused() -> Night:
    found = Night().leave(0, A, 1, 1, reason=NOT_GIVEN)
    return found.say(2, Kind.REFUSED, A, reason="UNKNOWN_MEMBER_ID").come(3, member("other", 9), 2, 2)


@night("static-restart-late")
def back_too_late() -> Night:
    found = Night().fail(0, A, 2, 1, instance="pod-1")
    found.say(20, Kind.JOINED, B, instance="pod-1")
    return found.prepare(20, 3, f"Adding new member {B} with group instance id pod-1").settle(21, 4, 2)


@night("lost-client/another instance comes")
def another_instance() -> Night:
    found = Night().fail(0, A, 2, 1, instance="pod-1")
    found.say(20, Kind.JOINED, B, instance="pod-2")
    return found.prepare(20, 3, f"Adding new member {B} with group instance id pod-2").settle(21, 4, 2)


@night("static-restart")
def back_in_time() -> Night:
    return Night().replace(0, A, B, "pod-1")


@night("static-restart/with a rebalance")
def back_with_another_vote() -> Night:
    who = f"static member {B} with instance id pod-1"
    reason = f"Group's selectedProtocol will change because {who} joined with change of protocol"
    return Night().replace(0, A, B, "pod-1").prepare(0, 4, reason).settle(1, 5, 2)


@night("static-restarts")
def back_again() -> Night:
    return Night().replace(0, A, B, "pod-1").replace(20, B, C, "pod-1")


@night("static-restart/of two instances")
def two_back() -> Night:
    return Night().replace(0, A, B, "pod-1").replace(20, C, D, "pod-2")


@night("duplicate-instance")
def duplicates() -> Night:
    return (
        Night()
        .replace(0, A, B, "pod-1")
        .say(3, Kind.REFUSED, A, instance="pod-1", reason="FENCED_INSTANCE_ID")
    )


@night("static-restart/somebody unknown is refused")
def no_duplicates() -> Night:
    return Night().replace(0, A, B, "pod-1").say(3, Kind.REFUSED, C, reason="UNKNOWN_MEMBER_ID")


@night("fenced")
def fenced() -> Night:
    found = Night().say(0, Kind.REFUSED, A, instance="pod-1", reason="FENCED_INSTANCE_ID")
    return found.prepare(1, 4, "").settle(2, 5, 2)


@night("join-leave-loop")
def loop() -> Night:
    found = Night().leave(0, A, 2, 1)
    found.come(10, B, 3, 2).leave(20, B, 4, 1).come(30, C, 5, 2).leave(40, C, 6, 1)
    return found.come(50, D, 7, 2)


@night("rolling-deploy")
def deploy() -> Night:
    found = Night().leave(0, A, 3, 2).come(10, C, 4, 3)
    return found.leave(20, B, 5, 2).come(30, D, 6, 3)


@night("left-in-turn")
def in_turn() -> Night:
    found = Night().leave(0, A, 3, 2, reason=NOT_GIVEN).come(10, C, 4, 3)
    return found.leave(20, B, 5, 2, reason=NOT_GIVEN).come(30, D, 6, 3)


@night("left-in-turn/one of them was closed")
def in_turn_and_closed() -> Night:
    found = Night().leave(0, A, 3, 2).come(10, C, 4, 3)
    return found.leave(20, B, 5, 2, reason=NOT_GIVEN).come(30, D, 6, 3)


@night("left-and-back/two left and one came")
def two_left_and_one_came() -> Night:
    found = Night().leave(0, A, 3, 2, reason=NOT_GIVEN).leave(10, B, 4, 1, reason=NOT_GIVEN)
    return found.come(20, C, 5, 2)


@night("left-and-back/one left and two came")
def one_left_and_two_came_untold() -> Night:
    return Night().leave(0, A, 3, 2, reason=NOT_GIVEN).come(10, C, 4, 3).come(20, D, 5, 4)


@night("left-and-back/one of those that came went again")
def left_and_again() -> Night:
    found = Night().leave(0, A, 3, 2, reason=NOT_GIVEN).come(10, C, 4, 3)
    return found.leave(20, C, 5, 2, reason=NOT_GIVEN).come(30, D, 6, 3)


@night("left-and-back")
def left_and_back() -> Night:
    return Night().leave(0, A, 2, 1, reason=NOT_GIVEN).come(4, B, 3, 2)


@night("restart/two left and one came")
def half_a_deploy() -> Night:
    return Night().leave(0, A, 3, 2).leave(10, B, 4, 1).come(20, C, 5, 2)


@night("restart/one of those that came went again")
def deploy_with_a_failure() -> Night:
    found = Night().leave(0, A, 3, 2).come(10, C, 4, 3)
    return found.leave(20, C, 5, 2).come(30, D, 6, 3)


@night("restart/one left and two came")
def one_left_and_two_came() -> Night:
    return Night().leave(0, A, 3, 2).come(10, C, 4, 3).come(20, D, 5, 4)


@night("came/two of them")
def two_came() -> Night:
    return Night().come(10, C, 4, 3).come(20, D, 5, 4)


@night("group-too-large")
def too_large() -> Night:
    found = Night().prepare(0, 1, f"Adding new member {A} with group instance id None").settle(3, 2, 2)
    return found.say(3.01, Kind.REFUSED, B, reason="GROUP_MAX_SIZE_REACHED")


@night("group-too-large/nobody rebalances for it")
def refused_quietly() -> Night:
    return Night().say(0, Kind.REFUSED, B, reason="GROUP_MAX_SIZE_REACHED")


@night("group-too-large/loaded so")
def loaded_too_large() -> Night:
    reason = "Freshly-loaded group orders (size 5) is over capacity 3. Rebalancing in order to give a chance"
    return Night().prepare(0, 4, reason).settle(3, 5, 3)


@night("append-failed")
def not_stored() -> Night:
    reason = "Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup (member: x)"
    return Night().come(0, A, 1, 2).prepare(2, 2, reason, "CompletingRebalance").settle(3, 3, 2)


@night("append-failed/a record")
def record_not_stored() -> Night:
    found = Night().prepare(0, 1, f"removing member {A} on heartbeat expiration.")
    return found.say(1, Kind.APPEND_FAILED, reason="NOT_ENOUGH_REPLICAS").settle(2, 2, 1)


@night("coordinator-moved")
def moved() -> Night:
    found = Night().say(0, Kind.LOADED, generation=4, data={"members": 2, "partition": 7})
    return found.prepare(0.5, 4, "", partition=7).settle(2, 5, 2)


@night("broker-away")
def away() -> Night:
    return Night().say(0, Kind.FAILED, A, data={"cut": True}).settle(1, 2, 1)


@night("lost-client/after a move")
def lost_after_a_move() -> Night:
    found = Night().say(0, Kind.LOADED, generation=4, data={"members": 2, "partition": 7})
    return found.fail(0.5, A, 4, 1)


@night("left/after a move")
def left_after_a_move() -> Night:
    found = Night().say(0, Kind.LOADED, generation=4, data={"members": 2, "partition": 7})
    return found.leave(0.5, A, 4, 1, reason=NOT_GIVEN)


@night("came/after a move")
def came_after_a_move() -> Night:
    found = Night().say(0, Kind.LOADED, generation=4, data={"members": 2, "partition": 7})
    return found.come(0.5, A, 4, 3)


@night("new-member-timeout")
def five_minutes() -> Night:
    found = Night().say(0, Kind.JOINED, A).prepare(0, 1, f"Adding new member {A} with group instance id None")
    return found.say(300, Kind.FAILED, A).settle(301, 2, 1)


@night("lost-client/a newcomer, before five minutes")
def two_minutes() -> Night:
    found = Night().say(0, Kind.JOINED, A).prepare(0, 1, f"Adding new member {A} with group instance id None")
    return found.say(120, Kind.FAILED, A).settle(121, 2, 1)


@night("sync-timeout")
def no_sync() -> Night:
    found = Night().prepare(0, 1, f"Updating metadata for member {B} during Stable; {NOT_GIVEN}")
    found.say(1, Kind.STABILIZED, generation=2, data={"members": 2}).say(61, Kind.NOT_SYNCED, A)
    return found.prepare(
        61, 2, f"Removing {A} on pending sync request expiration", "CompletingRebalance"
    ).settle(62, 3, 1)


@night("not-rejoined")
def not_back() -> Night:
    found = Night().prepare(0, 1, f"Updating metadata for member {B} during Stable; {NOT_GIVEN}")
    return found.say(60, Kind.NOT_REJOINED, A).settle(60, 2, 1)


@night("pending-unused")
def unused() -> Night:
    found = Night().prepare(0, 1, f"Updating metadata for member {B} during Stable; {NOT_GIVEN}")
    return found.say(10, Kind.FAILED, A, reason="pending member, after session timeout expiration").settle(
        10, 2, 1
    )


@night("rejoined-changed")
def changed() -> Night:
    return (
        Night().prepare(0, 1, f"Updating metadata for member {A} during Stable; {NOT_GIVEN}").settle(1, 2, 1)
    )


@night("subscription-changed")
def subscription() -> Night:
    given = "client reason: the subscription has changed from [a] at the beginning of the rebalance to [a, b]"
    return Night().prepare(0, 1, f"Updating metadata for member {A} during Stable; {given}").settle(1, 2, 1)


@night("metadata-changed")
def metadata() -> Night:
    given = "client reason: cached metadata has changed from (v1) at the beginning of the rebalance to (v2)"
    return Night().prepare(0, 1, f"Leader {A} re-joining group during Stable; {given}").settle(1, 2, 1)


@night("leader-rejoined")
def leader() -> Night:
    return Night().prepare(0, 1, f"Leader {A} re-joining group during Stable; {NOT_GIVEN}").settle(1, 2, 1)


@night("enforced")
def enforced() -> Night:
    given = "client reason: rebalance enforced by user"
    return Night().prepare(0, 1, f"Leader {A} re-joining group during Stable; {given}").settle(1, 2, 1)


@night("first-members")
def first() -> Night:
    return Night().come(0, A, 0, 1, took=3, state="Empty")


@night("came/first members, of whom one is gone before it has an assignment")
def first_and_one_is_gone() -> Night:
    found = Night(source=Source.CLIENT_LOG)
    for at, who, generation in ((0, A, 1), (9, B, 2)):
        told = {"client": who, "origin": f"{who}.log:{generation}"}
        found.say(at, Kind.ID_GIVEN, who, **told).say(at, Kind.JOINING, who, **told)
        found.say(at + 1, Kind.WAS_JOINED, who, generation=generation, data={"roster": {who: ""}}, **told)
    return found.say(11, Kind.SYNCED, B, generation=2, data={"partitions": []}, **told)


def _as_kafka_writes_it(came_to: str, generation: int) -> Night:
    """Kafka names the state that a preparation has made, whatever there was before."""
    found = Night().say(0, Kind.JOINED, A, state=came_to)
    reason = f"Adding new member {A} with group instance id null; client reason: not provided"
    return found.prepare(0, generation, reason, "PreparingRebalance").settle(0.3, generation + 1, 1)


@night("first-members/of a group that was just formed, as Kafka writes it")
def just_formed() -> Night:
    return _as_kafka_writes_it("", 0)


@night("first-members/of a group that was left, as Kafka writes it")
def left_by_all() -> Night:
    return _as_kafka_writes_it("Empty", 7)


@night("first-members/the line before tells that nobody was left")
def emptied() -> Night:
    found = Night().say(0, Kind.EMPTY, generation=7)
    reason = f"Adding new member {A} with group instance id null; client reason: not provided"
    return found.prepare(300, 7, reason, "PreparingRebalance").settle(301, 8, 1)


@night("came/as Kafka writes it")
def came_to_others() -> Night:
    return _as_kafka_writes_it("Stable", 7)


@night("came")
def came() -> Night:
    return Night().come(0, A, 1, 2)


@night("not-visible/first, but nobody is seen to come")
def empty_and_untold() -> Night:
    return Night().prepare(0, 0, "", "Empty").settle(3, 1, 1)


@night("gone")
def gone() -> Night:
    return _stored([A, B], [A])


@night("new")
def new() -> Night:
    return _stored([A], [A, B])


@night("not-visible")
def untold() -> Night:
    return Night().prepare(0, 1, "").settle(3, 2, 1)


def _stored(*generations: list[str]) -> Night:
    found = Night(source=Source.OFFSETS)
    for number, members in enumerate(generations, 1):
        listed = [
            {"member": one, "instance": "", "session_ms": 45_000, "rebalance_ms": 300_000} for one in members
        ]
        found.say(number * 200, Kind.GROUP_STORED, members[0], generation=number, data={"members": listed})
    return found


@pytest.mark.parametrize("name", NIGHTS)
def test_the_cause_of_a_night_is_named(name: str) -> None:
    assert causes(NIGHTS[name]())[-1] == name.partition("/")[0]


@pytest.mark.parametrize("name", NIGHTS)
def test_it_is_where_no_line_says_who_has_joined(name: str) -> None:
    """Kafka 3 tells a newcomer at INFO by the reason of the rebalance alone, but for a static one and for the
    state in which it was given its id."""
    made = NIGHTS[name]()
    told = (one.kind is Kind.JOINED and not one.instance and one.state != "Empty" for one in made.events)
    made.events = [one for one, is_told in zip(made.events, told, strict=True) if not is_told]
    assert causes(made)[-1] == name.partition("/")[0]


def test_every_cause_has_a_night_and_a_neighbour() -> None:
    shown = {name.partition("/")[0] for name in NIGHTS}
    assert shown == {one.name for one in CAUSES} | {UNKNOWN.name}


# ---- mutants: a cause that asks for less, or passes over what speaks against it, is found


def _weakened() -> list[tuple[str, str]]:
    found = [(one.name, need.sign.value) for one in CAUSES for need in one.needs]
    found += [
        (one.name, f"least {need.sign.value}") for one in CAUSES for need in one.needs if need.least > 1
    ]
    return found + [(one.name, f"never {sign.value}") for one in CAUSES for sign in one.never]


def _without(name: str, what: str) -> tuple[Cause, ...]:
    for place, one in enumerate(CAUSES):
        if one.name == name:
            left = tuple(need for need in one.needs if need.sign.value != what)
            fewer = tuple(
                replace(need, least=1) if f"least {need.sign.value}" == what else need for need in left
            )
            never = tuple(sign for sign in one.never if f"never {sign.value}" != what)
            mutant = replace(one, needs=fewer, never=never)
            assert mutant != one
            return (*CAUSES[:place], mutant, *CAUSES[place + 1 :])
    raise AssertionError(name)


@pytest.mark.parametrize(("name", "what"), _weakened(), ids=str)
def test_evidence_that_is_not_asked_for_is_missed(
    name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "CAUSES", _without(name, what))
    wrong = [night for night, made in NIGHTS.items() if causes(made())[-1] != night.partition("/")[0]]
    assert wrong, f"{name} without {what} names every night as before"


# ---- the table itself


def test_rules_and_weaknesses_that_are_named_exist() -> None:
    rules = {one.rule for one in CAUSES} | {trigger.rule for _, trigger in TRIGGERS}
    assert rules <= RULES.keys()
    findings = Path(ROOT, "docs/findings.md").read_text(encoding="utf-8")
    assert [name for one in CAUSES for name in one.weaknesses if f"`{name}`" not in findings] == []


def test_sentences_name_members_and_every_number_is_a_count() -> None:
    for name, made in NIGHTS.items():
        one = told(made()) if len(causes(made())) == 1 else None
        if one is not None:
            assert "{" not in one.headline, name
            assert "a member" not in one.sentence or not one.who, name


def test_signs_have_a_cause_that_asks_for_them() -> None:
    asked = {need.sign for one in CAUSES for need in one.needs} | {
        sign for one in CAUSES for sign in one.never
    }
    assert set(Sign) - asked == set()


def test_reasons_of_kafka_and_of_rota_are_known() -> None:
    from rota.explain.reasons import trigger_of

    told = {
        "Adding new member a-1 with group instance id None; client reason: not provided": ("joined", "a-1"),
        "Adding new member a-1 with group instance id pod; client reason: x": ("static-joined", "a-1"),
        "adding new member a-1 with instance id None; client reason: not provided": ("joined", "a-1"),
        "removing member a-1 on heartbeat expiration.": ("failed", "a-1"),
        "Removing member a-1 on LeaveGroup; client reason: x": ("left", "a-1"),
        "explicit `LeaveGroup` request for (a-1) members.": ("left", "a-1"),
        "explicit LeaveGroup of a-1": ("left", "a-1"),
        "Removing a-1 on pending sync request expiration": ("not-synced", "a-1"),
        "Removing Set(a-1) on pending sync request expiration": ("not-synced", "a-1"),
        "Removing HashSet(a-1, b-2) on pending sync request expiration": ("not-synced", "a-1"),
        "removing member a,1 on heartbeat expiration": ("failed", "a,1"),
        "Leader a-1 re-joining group during Stable; client reason: not provided": ("leader", "a-1"),
        "re-joining of leader a-1 during Stable; client reason: not provided": ("leader", "a-1"),
        "updating metadata of a-1 during Stable; client reason: not provided": ("changed", "a-1"),
        "Updating metadata for static member a-1 with instance id p; client reason:": ("static-while", "a-1"),
        "static member a-1 with instance id pod is back; client reason: x": ("static-back", "a-1"),
        "error NOT_ENOUGH_REPLICAS when the assignment was stored": ("not-stored", ""),
        "the loaded group is over capacity (3)": ("capacity", ""),
    }  # fmt: skip
    assert {one: (trigger_of(one)[0].name, trigger_of(one)[1]) for one in told} == told


__all__ = ["CLOSED", "E"]
