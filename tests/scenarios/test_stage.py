"""The language of the scenarios and of the checklist: what it refuses, what it says, what it can choose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checklist.checklist_words import J, Then, given_up, heartbeat, hosts, join, loaded, row, stable, sync
from checklist.rows_hosting import MOVING
from rota.coordinator import ErrorCode, loading
from rota.oracle import Divergence
from rota.spec import PROFILES, BrokerConfig, Hosting
from rota.stage import NotBesideCore, Stage
from scenarios.scenario_list import Scenario

UNLOADED = next(one for one in MOVING if one.mirrors[0].endswith("OnUnloadedCompletingRebalance"))


def test_a_core_that_says_something_else_when_it_resigns_fails_the_row(monkeypatch):
    close = loading.close
    UNLOADED.play("kafka-4.x")

    def mistaken(step, group, error, **named):
        close(step, group, ErrorCode.UNKNOWN_MEMBER_ID, **named)

    monkeypatch.setattr(loading, "close", mistaken)
    with pytest.raises(Divergence) as failed:
        UNLOADED.play("kafka-4.x")
    assert failed.value.__notes__ == [f"{UNLOADED.mirrors[0]}, kafka-4.x, step 1"]
    UNLOADED.play("kafka-4.x", beside=False)


@pytest.mark.parametrize("hosting", [one for one in Hosting if one is not Hosting.ACTIVE])
def test_what_a_broker_answers_that_does_not_host_the_group_is_not_asked_of_the_core(hosting):
    asked = row(
        J("made up"),
        given=hosts(hosting),
        steps=[(heartbeat("A", member_id="made up"), Then("A NOT_COORDINATOR"))],
    )
    with pytest.raises(NotBesideCore, match=f"{hosting.name} for the group.*alone=True"):
        asked.play("kafka-4.x")
    with pytest.raises(NotBesideCore):
        row(J("made up"), given=stable("A"), steps=[(given_up, Then()), (join("A"), Then())]).play(
            "kafka-4.x"
        )


@pytest.mark.parametrize(
    ("do", "what"),
    [
        (lambda stage: stage.clients["A"].commit(), "OffsetCommitRequest is no request of the membership"),
        (lambda stage: stage.clients["A"].fetch(), "OffsetFetchRequest"),
        (lambda stage: stage.clients["A"].find(), "FindCoordinatorRequest"),
        (lambda stage: stage.end_transaction(1, committed=True), "a transaction ends"),
        (lambda stage: stage.look_for_expired(), "offsets expire"),
        (lambda stage: stage.configure(group_max_size=1), "group_max_size changes while a coordinator"),
        (lambda stage: stage.give_up(found=1), "the log has what it did not answer"),
    ],
)
def test_what_the_core_has_no_part_in_is_refused_and_nothing_has_happened(do, what):
    stage = Stage()
    stage.stable(stage.client("A"))
    before = repr(stage), len(stage.happenings)
    with pytest.raises(NotBesideCore, match=f"{what}.*beside=False for a stage"):
        do(stage)
    assert (repr(stage), len(stage.happenings)) == before
    assert not stage.appends


def test_a_row_names_itself_and_the_step_that_fails():
    wrong = [(heartbeat("A"), Then("A NONE")), (heartbeat("A"), Then("A UNKNOWN_MEMBER_ID"))]
    with pytest.raises(AssertionError, match=r"^GroupMetadataManagerTest#mine, kafka-4.x, step 2: "):
        row(J("mine"), given=stable("A"), steps=wrong).play("kafka-4.x")
    unarmed = [(lambda stage: stage.until("sync"), Then())]
    with pytest.raises(
        AssertionError, match=r"^GroupMetadataManagerTest#mine, kafka-4.x, step 1: .*not armed"
    ):
        row(J("mine"), given=stable("A"), steps=unarmed).play("kafka-4.x")
    with pytest.raises(AssertionError, match=r"^GroupMetadataManagerTest#mine, kafka-4.x, given: "):
        row(J("mine"), given=lambda stage: stage.live, steps=[]).play("kafka-4.x")


def test_a_scenario_names_itself_and_its_last_step():
    def play(stage: Stage) -> None:
        stage.client("A").join()
        assert stage.members == "A", "nobody is in yet"

    wrong = Scenario("99", "99-mine", "", "", play)
    with pytest.raises(AssertionError, match=r"^99-mine, after step 2 of <Stage kafka-4.x at 0 ms: .*nobody"):
        wrong.perform(wrong.stage())


def test_a_stage_in_one_line():
    stage = Stage()
    assert repr(stage) == "<Stage kafka-4.x at 0 ms: absent; no members; no timers>"
    stage.stable(stage.client("A"), stage.client("B", session=20_000))
    told = "Stable 1; members A(m1) B(m2); due session A(m1) at 16,000, session B(m2) at 26,000"
    assert repr(stage) == f"<Stage kafka-4.x at 6,000 ms: {told}>"


def test_a_record_that_says_something_else_is_noticed():
    for wrong in ({"parts": {"A": "all"}}, {"leader": "B"}, {"generation": 2}, {"kind": "emptied"}):
        right = {"kind": "assignment", "generation": 1, "leader": "A", "parts": {"A": "half", "B": ""}}
        for fields in (right, right | wrong):
            steps = [(sync("A", {"A": "half", "B": ""}), Then("A NONE", written=(fields,)))]
            played = replace(UNLOADED, given=_joined, steps=tuple(steps))
            if fields == right:
                played.play("kafka-4.x")
            else:
                with pytest.raises(AssertionError, match="step 1"):
                    played.play("kafka-4.x")


def _joined(stage: Stage) -> None:
    stage.generation(*(stage.client(name) for name in "AB"))


def test_a_newcomer_of_old_needs_no_handshake():
    for version, asked in ((3, 1), (4, 2)):
        stage = Stage()
        assert stage.client("A").enter(version).address == f"r{asked}"
        assert stage.members == "A"


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("protocol", ["range", "sticky"])
def test_either_outcome_can_be_played(beside, protocol):
    """The core beside the spec is made to choose the same."""
    stage = Stage(BrokerConfig(group_initial_rebalance_delay_ms=0), PROFILES["kafka-4.x"], beside=beside)
    a, b = stage.client("A", "range", "sticky"), stage.client("B", "sticky", "range")
    stage.stable(a)
    b.enter()
    stage.chooses(protocol=protocol)
    a.join()
    assert (stage.tied, stage.live.protocol_name) == ("range sticky", protocol)


@pytest.mark.parametrize("name", ["B", "C"])
def test_either_may_lead(name):
    stage = Stage()
    a, *others = (stage.client(one) for one in "ABC")
    stage.stable(a, *others)
    stage.chooses(leader=stage.clients[name])
    a.leave()
    assert (stage.candidates, stage.leader) == ("B C", name)


def test_what_is_not_left_open_cannot_be_chosen():
    stage = Stage()
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a, b)
    stage.chooses(leader=a)
    with pytest.raises(AssertionError, match="is not left open"):
        a.leave()


def test_a_core_that_moved_is_the_one_that_is_compared():
    stage = Stage()
    a = stage.client("A")
    stage.stable(a)
    given_up(stage)
    assert stage.group is None
    stage.wait(4_000)
    loaded(stage)
    assert (stage.state, stage.left("session", a)) == ("Stable 1", 10_000)
    assert a.heartbeat().error == "NONE"


def test_after_a_core_has_resigned_it_is_not_told_what_the_log_says_of_its_appends():
    stage = Stage(log_answers=False)
    assert stage.client("A").enter(version=3).waits
    stage.give_up()
    assert not stage.appends
    stage.hosting = Hosting.ACTIVE
    again = stage.client("B").enter(version=3)
    stage.log()
    assert (stage.state, stage.members, again.waits) == ("PreparingRebalance 0", "B", True)
