"""How cases get to what they judge: with patience, in several ways, in bounds; and what is said else."""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.polite import Polite, played, script, shared, slowly

import rota.conformance
from rota.conformance import runner
from rota.conformance.catalogue import all_cases
from rota.conformance.connections.connection import Connection
from rota.conformance.dialogues.dialogue import A_WHILE, Dialogue, PendingRequest
from rota.conformance.dialogues.expectations import Wanted
from rota.conformance.dialogues.negotiation import Wait, until_all_is_loaded, until_it_coordinates
from rota.conformance.dialogues.transcript import Transcript
from rota.conformance.dialogues.waits import Waits
from rota.conformance.dialogues.ways import Way
from rota.conformance.families.axes import MEMBERS, OUTSIDERS, Phase, Role
from rota.conformance.families.situations import Situation
from rota.conformance.pulse import Pulse
from rota.conformance.results import DialogueResult, Ending, Verdict
from rota.conformance.runner import Options, exit_code, judge, perform
from rota.conformance.skipped import skipped
from rota.conformance.steps.group_formation import (
    ROUNDS,
    awaiting_assignments,
    join_together,
    lead,
    stable,
)
from rota.conformance.steps.membership import pending_member
from rota.conformance.steps.offsets import commit, expect_each, fetched, topic
from rota.conformance.targets.grammar import parse_target
from rota.spec import RULES

LOADING = 14
UNKNOWN_TOPIC = 3
STRANGER = {"error_code": 25}
HANDED_OUT = {"error_code": 79, "member_id": "m"}
OFFSETS = {"OffsetCommit": (0, 9), "OffsetFetch": (0, 9)}


@pytest.fixture
def polite() -> Iterator[Any]:
    """Starts servers that die when the test is over."""
    servers: list[Polite] = []

    def start(*arguments: Any, **named: Any) -> Polite:
        servers.append(Polite(*arguments, **named))
        return servers[-1]

    yield start
    for server in servers:
        server.die()


def test_an_exception_in_a_dialogue_is_its_outcome_and_a_fault_of_ours(polite: Any) -> None:
    def play(d: Dialogue) -> None:
        d.expect(d.member("a").heartbeat(), error="UNKNOWN_MEMBER_ID")
        raise KeyError("topics")

    result = played(play, polite())
    assert result.ending is Ending.UNDECIDED
    assert result.because.startswith("a fault of the kit's own: KeyError: 'topics' (")
    assert "test_set_ups.py, line " in result.because
    assert [line.mark for line in result.lines] == ["→", "←"]


def test_the_others_are_played_on_after_an_exception(polite: Any) -> None:
    def play(_: Dialogue) -> None:
        raise ZeroDivisionError

    def fine(d: Dialogue) -> None:
        d.member("a").heartbeat()

    scripts = [script(play, "test.of.fault"), script(fine, "test.of.fine")]
    found = {one.id: result.ending for one, result in perform(scripts, shared(polite()), Options(1, 1.0), {})}
    assert found == {"test.of.fault": Ending.UNDECIDED, "test.of.fine": Ending.FINISHED}


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([], "the answer to OffsetFetch: groups of no entries"),
        ([{}, {}], "the answer to OffsetFetch: groups of 2 entries"),
        ([{"topics": []}], "the answer to OffsetFetch: groups[0].topics of no entries"),
        (
            [{"topics": [{"name": "t", "partitions": []}]}],
            "the answer to OffsetFetch: groups[0].topics[0].partitions of no entries",
        ),
    ],
)
def test_a_list_that_is_too_short_is_a_deviation(polite: Any, groups: list[Any], told: str) -> None:
    filled = [{"group_id": "g", "topics": [], "error_code": 0, **group} for group in groups]
    server = polite({"OffsetFetch": lambda _: {"groups": filled}}, OFFSETS)
    result = played(lambda d: (fetched(d), None)[1], server, needs={"OffsetFetch": (8, 9)})
    assert (result.ending, result.actual) == (Ending.DEVIATED, told)


def test_no_dialogue_takes_a_list_of_an_answer_apart_unchecked() -> None:
    """`(one,) = reply["groups"]` is a fault of ours where there are two; `.only()` is a deviation."""
    root = Path(rota.conformance.__path__[0])
    files = [file for name in ("cases", "families", "steps", "probes") for file in (root / name).glob("*.py")]
    assert len(files) > 30
    assert [where for file in files for where in _taken_apart(file.name, file.read_text("utf-8"))] == []
    assert _taken_apart("x", '(group,) = d.fetch()["groups"]') == ["x: 1"]


def _taken_apart(name: str, text: str) -> list[str]:
    return [
        f"{name}: {node.lineno}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple | ast.List)
        and isinstance(node.value, ast.Subscript)
        and isinstance(node.value.slice, ast.Constant)
        and isinstance(node.value.slice.value, str)
    ]


def test_a_late_answer_is_told_from_none(polite: Any) -> None:
    def play(d: Dialogue) -> None:
        d.expect(d.member("a").join("x", within=0.1), error="UNKNOWN_MEMBER_ID")

    late = played(play, polite({"JoinGroup": slowly(0.4, STRANGER)}))
    assert late.ending is Ending.DEVIATED
    assert late.actual.startswith("JoinGroup  UNKNOWN_MEMBER_ID")
    assert late.actual.split()[-3:-2] == ["after"]
    assert float(late.actual.split()[-2]) >= 0.4
    none = played(play, polite({"JoinGroup": lambda _: None}), patience=0.3)
    assert none.actual == "no answer in 0.1 s"


@pytest.mark.parametrize(("looks", "ending"), [(0.2, Ending.DEVIATED), (5.0, Ending.UNDECIDED)])
def test_whoever_looks_late_cannot_say_that_an_answer_was_early(
    polite: Any, looks: float, ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit wakes up when so many seconds are over; the answer is there since the beginning."""
    clock = [0.0]
    monkeypatch.setattr(Transcript, "elapsed", lambda _: clock[0])

    def play(d: Dialogue) -> None:
        joining = d.member("a").send_join("x")
        poll = joining.poll

        def late(_seconds: float) -> Any:
            clock[0] += looks
            return poll(5.0)

        monkeypatch.setattr(joining, "poll", late)
        joining.silent(1.0)

    result = played(play, polite(), needs={"JoinGroup": (9, 9), "SyncGroup": (5, 5)})
    assert result.ending is ending


@pytest.mark.parametrize(
    ("late", "wanted", "ending", "plays"),
    [
        (3, "UNKNOWN_MEMBER_ID", Ending.FINISHED, 4),
        (9, "UNKNOWN_MEMBER_ID", Ending.DEVIATED, 4),
        (9, "MEMBER_ID_REQUIRED", Ending.DEVIATED, 1),
    ],
)
def test_what_is_right_but_late_is_played_again(
    polite: Any, late: int, wanted: str, ending: Ending, plays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the last of four plays is believed; what is wrong is believed at once."""
    monkeypatch.setattr(Pulse, "missed", lambda _pulse, since: False)
    asked: list[Any] = []

    def join(request: Any) -> Any:
        asked.append(request)
        return slowly(0.4 if len(asked) <= late else 0.0, STRANGER)(request)

    def play(d: Dialogue) -> None:
        d.expect(d.member("a").join("x", within=0.1), error=wanted)

    result = played(play, polite({"JoinGroup": join}))
    assert (result.ending, result.late, len(asked)) == (ending, False, plays)


def test_set_ups_have_the_patience_of_the_case(polite: Any) -> None:
    def play(d: Dialogue) -> None:
        with d.reaching("an id"):
            d.expect(d.member("a").join("", within=0.1), error="MEMBER_ID_REQUIRED")
        d.expect(d.member("b").heartbeat(), error="UNKNOWN_MEMBER_ID")

    slow = {"JoinGroup": slowly(0.4, HANDED_OUT)}
    assert played(play, polite(slow)).ending is Ending.FINISHED
    assert played(play, polite(slow), patience=0.2).ending is Ending.SETUP_FAILED


def test_an_id_that_is_handed_out_late_is_used_all_the_same(polite: Any) -> None:
    def joining(request: Any) -> dict[str, Any]:
        if request.body["member_id"]:
            return {
                "error_code": 0,
                "member_id": "m",
                "leader": "m",
                "generation_id": 1,
                "protocol_name": "range",
            }
        time.sleep(A_WHILE + 0.2)
        return HANDED_OUT

    def play(d: Dialogue) -> None:
        d.expect(d.member("a").enter().answer(), error="NONE", generation_id=1)

    server = polite({"JoinGroup": joining})
    assert played(play, server).ending is Ending.FINISHED
    assert server.asked["JoinGroup"] == 2


def test_a_group_that_never_comes_together_is_given_up_after_some_rounds(polite: Any) -> None:
    """Each JoinGroup is answered at once, in a generation of its own."""
    generations: Counter[str] = Counter()

    def join(request: Any) -> dict[str, Any]:
        generations[""] += 1
        own = request.body["member_id"] or f"m{generations['']}"
        granted = {"generation_id": generations[""], "protocol_name": "range", "members": []}
        return {"error_code": 0, "member_id": own, "leader": own, **granted}

    server = polite({"JoinGroup": join})

    def play(d: Dialogue) -> None:
        stable(d, d.member("a"), d.member("b"))

    result = played(play, server, patience=5.0, needs={"JoinGroup": (9, 9)})
    assert (result.ending, result.prerequisite) == (Ending.SETUP_FAILED, "join.barrier")
    assert result.actual.startswith(f"told to join again {ROUNDS} times: a in generation ")
    assert server.asked["JoinGroup"] < 200


def test_a_coordinator_that_is_loading_is_waited_for(polite: Any) -> None:
    """It answers heartbeats NONE meanwhile, as Kafka does, but refuses LeaveGroup and ListGroups."""
    left = {"LeaveGroup": 2, "ListGroups": 2}

    def loading(name: str, ready: dict[str, Any]) -> Any:
        def answer(_: Any) -> dict[str, Any]:
            left[name] -= 1
            return {"error_code": LOADING} if left[name] >= 0 else ready

        return answer

    answers = {
        "Heartbeat": lambda _: {"error_code": 0 if left["LeaveGroup"] > 0 else 25},
        "LeaveGroup": loading("LeaveGroup", STRANGER),
        "ListGroups": loading("ListGroups", {"error_code": 0, "groups": []}),
    }
    server = polite(answers, {"ListGroups": (0, 5)})
    versions = {"Heartbeat": 4, "LeaveGroup": 5, "ListGroups": 5}
    connection = Connection(server.address, "test")
    until_it_coordinates(connection, versions, "g", Wait(1.0))
    assert (left["LeaveGroup"], server.asked["Heartbeat"]) == (0, 3)
    until_all_is_loaded(connection, versions, Wait(1.0))
    assert (left["ListGroups"], server.asked["ListGroups"]) == (-1, 3)
    connection.close()


def topics_of(error: int) -> Any:
    partition = {"error_code": 0, "partition_index": 0, "leader_id": 1}
    return lambda _: {
        "brokers": [],
        "topics": [{"error_code": error, "name": "rota-probe", "partitions": [] if error else [partition]}],
    }


def commits(d: Dialogue) -> None:
    topic(d)
    expect_each(d, commit(d.member("a")), "NONE")


GRANTED = {
    "OffsetCommit": lambda _: {
        "topics": [{"name": "rota-probe", "partitions": [{"partition_index": 0, "error_code": 0}]}]
    }
}


@pytest.mark.parametrize("versions", [(0, 0), (1, 3), (9, 9), (10, 13), (13, 13)])
def test_any_version_of_metadata_serves(polite: Any, versions: tuple[int, int]) -> None:
    server = polite({**GRANTED, "Metadata": topics_of(0)}, {**OFFSETS, "Metadata": versions})
    result = played(commits, server, needs={"OffsetCommit": (2, 9)})
    assert (result.ending, result.versions["Metadata"]) == (Ending.FINISHED, versions[1])


def test_a_target_without_topics_is_not_asked_for_any(polite: Any) -> None:
    result = played(commits, polite(GRANTED, OFFSETS), needs={"OffsetCommit": (2, 9)})
    assert result.ending is Ending.FINISHED
    assert "has no Metadata" in result.lines[0].text


def test_topics_are_created_where_asking_for_them_makes_none(polite: Any) -> None:
    made: list[str] = []

    def create(request: Any) -> dict[str, Any]:
        made.extend(one["name"] for one in request.body["topics"])
        return {"topics": [{"name": "rota-probe", "error_code": 0}]}

    answers = {**GRANTED, "CreateTopics": create}
    answers["Metadata"] = lambda request: topics_of(0 if made else UNKNOWN_TOPIC)(request)
    server = polite(answers, {**OFFSETS, "Metadata": (0, 12), "CreateTopics": (0, 7)})
    assert played(commits, server, needs={"OffsetCommit": (2, 9)}).ending is Ending.FINISHED
    assert made == ["rota-probe"]


@pytest.mark.parametrize("brokers", [1, 3])
def test_each_broker_has_a_replica_of_a_topic_that_is_created(polite: Any, brokers: int) -> None:
    """Otherwise it has no leader once the only broker that has one is ended."""
    made: list[int] = []

    def create(request: Any) -> dict[str, Any]:
        made.extend(one["replication_factor"] for one in request.body["topics"])
        return {"topics": [{"name": "rota-probe", "error_code": 0}]}

    def told(request: Any) -> dict[str, Any]:
        there = [{"node_id": number, "host": "127.0.0.1", "port": 1} for number in range(brokers)]
        return {**topics_of(0 if made else UNKNOWN_TOPIC)(request), "brokers": there}

    server = polite(
        {**GRANTED, "CreateTopics": create, "Metadata": told},
        {**OFFSETS, "Metadata": (0, 12), "CreateTopics": (0, 7)},
    )
    assert played(commits, server, needs={"OffsetCommit": (2, 9)}).ending is Ending.FINISHED
    assert made == [brokers]


def test_what_needs_a_topic_is_unsupported_where_there_is_none(
    polite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.conformance.steps.offsets._TOPIC_SECONDS", 0.3)
    server = polite({**GRANTED, "Metadata": topics_of(UNKNOWN_TOPIC)}, {**OFFSETS, "Metadata": (0, 12)})
    result = played(commits, server, needs={"OffsetCommit": (2, 9)})
    assert result.ending is Ending.UNSUPPORTED
    assert result.because == "needs a topic; Metadata makes none, and there is no CreateTopics"


def broken_handshake(request: Any) -> dict[str, Any]:
    """Whoever joins is admitted in versions before the handshake, and never in later ones."""
    if request.version >= 4:
        return STRANGER
    granted = {"generation_id": 1, "protocol_name": "range", "members": [], "leader": "m"}
    return {"error_code": 0, "member_id": "m", **granted}


FORMS = {"JoinGroup": broken_handshake, "SyncGroup": lambda _: {"error_code": 0, "assignment": b"all"}}


def needs_a_group(d: Dialogue) -> None:
    stable(d, d.member("a"))
    d.expect(d.member("b").heartbeat(), error="UNKNOWN_MEMBER_ID")


def test_what_fails_in_one_way_is_tried_in_another(polite: Any) -> None:
    result = played(needs_a_group, polite(FORMS))
    assert (result.ending, result.versions["JoinGroup"]) == (Ending.FINISHED, 3)
    told = "played with JoinGroup v3, which has no handshake, since what is needed was not reached otherwise"
    assert result.lines[0].text == told


@pytest.mark.parametrize(("form", "generation"), [(stable, 2), (awaiting_assignments, 1), (join_together, 1)])
def test_members_come_one_by_one_where_only_a_stable_group_is_wanted(
    form: Any, generation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case may be about the first generation, or about a group that has never been Stable."""
    monkeypatch.setattr(runner, "USUAL", Way("one by one", one_by_one=True))

    def play(d: Dialogue) -> None:
        formed = form(d, d.member("a"), d.member("b"))
        assert {member.generation_id for member in formed.everyone} == {generation}

    ((_, result),) = perform([script(play)], parse_target("rota"), Options(1, 5.0), {})
    assert (result.ending, result.because) == (Ending.FINISHED, "")


def test_ways_that_a_case_cannot_go_are_not_tried(polite: Any) -> None:
    server = polite(FORMS)
    result = played(needs_a_group, server, needs={"JoinGroup": (6, 9)})
    assert (result.ending, result.prerequisite) == (Ending.SETUP_FAILED, "join.new-member")
    assert result.because.endswith("; nor with JoinGroup v5 and SyncGroup v3")
    assert server.asked["JoinGroup"] == 2


def test_which_ways_are_tried_does_not_depend_on_what_came_of_others(polite: Any) -> None:
    """Else two runs would judge different cases, for which is over first is chance."""
    server = polite({"JoinGroup": lambda _: STRANGER})
    scripts = [script(needs_a_group, f"test.of.{number}", needs={"JoinGroup": (6, 9)}) for number in range(9)]
    results = [result for _, result in perform(scripts, shared(server), Options(1, 1.0), {})]
    assert {result.because.partition("; nor ")[2] for result in results} == {
        "with JoinGroup v5 and SyncGroup v3"
    }
    assert server.asked["JoinGroup"] == 9 * 2


def alone_in_it(request: Any) -> dict[str, Any]:
    """Each JoinGroup makes a generation of one member, as on a broker that serves one consumer alone."""
    member_id = request.body["member_id"] or f"m{next(NUMBERS)}"
    members = [{"member_id": member_id, "metadata": b""}]
    named = {"protocol_type": "consumer", "protocol_name": "range"}
    return {"generation_id": 1, "leader": member_id, "member_id": member_id, "members": members, **named}


NUMBERS = count(1)
ALONE = {"JoinGroup": alone_in_it, "SyncGroup": lambda _: {}, "Heartbeat": lambda _: {}}


@pytest.mark.parametrize(
    ("askers", "ending", "told"),
    [
        ((Role.LEADER, Role.FOLLOWER), Ending.FINISHED, "played with two members fewer, since"),
        (
            (Role.FOLLOWER,),
            Ending.SETUP_FAILED,
            "; nor one member after the other; nor with one member fewer",
        ),
    ],
)
def test_what_a_lone_member_can_ask_is_asked_where_there_is_no_second(
    polite: Any, askers: tuple[Role, ...], ending: Ending, told: str
) -> None:
    situation = Situation(Phase.STABLE, 3)
    asked: list[str] = []

    def play(d: Dialogue) -> None:
        scene = situation.reach(d)
        asked.extend(member.name for role in askers for member in scene.askers(role))

    result = played(play, polite(ALONE), spare=situation.spare(askers))
    assert result.ending is ending
    assert told in result.lines[0].text + result.because
    assert asked == (["lena"] if ending is Ending.FINISHED else [])


@pytest.mark.parametrize(
    ("phase", "number", "again", "askers", "spare"),
    [
        (Phase.STABLE, 1, False, MEMBERS, 0),
        (Phase.STABLE, 1, True, MEMBERS, 1),
        (Phase.STABLE, 3, False, MEMBERS, 2),
        (Phase.STABLE, 3, False, (Role.FOLLOWER,), 1),
        (Phase.REJOINING, 3, False, MEMBERS, 1),
        (Phase.STABLE, 2, True, (Role.FORMER,), 0),
        (Phase.EMPTIED, 2, False, OUTSIDERS, 0),
    ],
)
def test_as_many_members_are_done_without_as_the_question_allows(
    phase: Phase, number: int, again: bool, askers: tuple[Role, ...], spare: int
) -> None:
    assert Situation(phase, number, again=again).spare(askers) == spare


def test_some_questions_take_two_members() -> None:
    spare = {case.id: case.spare for case in all_cases()}
    assert spare["sync.leader-assigns.some-left-out.completing-three-mixed.leader"] == 1
    assert spare["sync.leader-assigns.nobody.completing-three-mixed.leader"] == 2


def test_who_is_answered_before_the_leader_joins_again_breaks_the_barrier(polite: Any) -> None:
    result = played(lambda d: (lead(d, d.member("a"), d.member("b")), None)[1], polite(ALONE))
    assert (result.ending, result.prerequisite) == (Ending.SETUP_FAILED, "join.barrier")
    assert result.expected == "no answer to JoinGroup before the leader joins again"


@pytest.mark.parametrize(
    ("waited", "rule", "told"),
    [
        (1.9, "join.barrier", "1.9 s of them in a wait for an answer to JoinGroup"),
        (0.5, "", "the kit was late"),
    ],
)
def test_a_target_that_is_slow_is_told_from_a_kit_that_is_late(waited: float, rule: str, told: str) -> None:
    waits = Waits()
    waits.note("SyncGroup", 0.0, 5.0, "NONE")  # before the steps that have to be in time
    waits.note("JoinGroup", 6.0, 6.0 + waited, "NONE")
    late = waits.late(since=5.5, now=8.0, limit=1.0)
    assert late.rule == rule
    assert told in str(late)


def test_nobody_waits_for_an_id_where_a_newcomer_was_granted_its_first_request(
    polite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []
    patient = PendingRequest.waited

    def noted(request: PendingRequest, seconds: float, rule: str = "") -> Any:
        waited.append(rule)
        return patient(request, seconds, rule)

    monkeypatch.setattr(PendingRequest, "waited", noted)

    def play(d: Dialogue) -> None:
        stable(d, d.member("a"))
        waited.clear()
        d.expect(d.member("b").enter().answer(), error="NONE")

    assert played(play, polite(ALONE)).ending is Ending.FINISHED
    assert waited == [""]


@pytest.mark.parametrize(
    ("wanted", "actual", "rule"),
    [
        ({"error": "MEMBER_ID_REQUIRED"}, {"error": "NONE"}, "join.member-id-required"),
        ({"error": "MEMBER_ID_REQUIRED"}, None, "join.member-id-required"),
        ({"error": "MEMBER_ID_REQUIRED"}, {"error": "GROUP_MAX_SIZE_REACHED"}, "join.group-max-size-reached"),
        ({"error": "NONE"}, {"error": "UNKNOWN_MEMBER_ID"}, "join.new-member"),
        ({"error": "NONE"}, None, "join.barrier"),
        ({"error": "NONE", "leader": "a"}, {"error": "NONE", "leader": "b"}, "join.leader"),
        ({"generation_id": 2}, {"generation_id": 3}, "join.next-generation"),
        ({"error": "NONE", "skip_assignment": True}, {"error": "NONE", "skip_assignment": False}, ""),
    ],
)
def test_which_rule_is_broken_on_the_way(
    wanted: dict[str, Any], actual: dict[str, Any] | None, rule: str
) -> None:
    """Somebody who is refused out of place meets the rule by which that is done."""
    of = Wanted("JoinGroup", wanted, Transcript("g"), "")
    body = {"error_code": 0, "generation_id": 1, "member_id": "m"}
    deviation = of.missing("no answer") if actual is None else of.differs(actual, body)
    assert deviation.rule == rule
    assert rule in ("", *RULES)


def test_a_step_may_know_the_rule_better() -> None:
    of = Wanted("JoinGroup", {"error": "NONE"}, Transcript("g"), "static.new-member")
    body = {"error_code": 25, "generation_id": -1, "member_id": ""}
    assert of.differs({"error": "UNKNOWN_MEMBER_ID"}, body).rule == "static.new-member"
    assert of.differs({"error": "FENCED_INSTANCE_ID"}, body).rule == "join.fenced-instance-id"


def failed(rule: str) -> DialogueResult:
    told = DialogueResult(ending=Ending.SETUP_FAILED, expected="one thing", actual="another")
    return replace(told, prerequisite=rule, because="could not reach it")


CASES = {case.id: case for case in all_cases()}
OPTIONS = Options(seed=1)
RULE = "join.member-id-required"
OF_RULE = CASES["join.member-id-required.id-handed-out"]
RESTS_ON_IT = CASES["heartbeat.unknown-member.pending"]


def test_a_case_is_skipped_whose_prerequisite_has_a_deviating_case() -> None:
    broken = judge(OF_RULE, DialogueResult(ending=Ending.DEVIATED), OPTIONS)
    waiting = judge(RESTS_ON_IT, failed(RULE), OPTIONS)
    (result,) = skipped([waiting], [broken])
    assert (broken.verdict, result.verdict) == (Verdict.FAIL, Verdict.SKIPPED)
    assert result.because == f"needs {RULE}, which {OF_RULE.id} finds broken: could not reach it"


def test_of_several_cases_that_of_the_highest_level_is_named() -> None:
    noted = judge(CASES["join.member-id-required.id-form"], DialogueResult(ending=Ending.DEVIATED), OPTIONS)
    broken = judge(OF_RULE, DialogueResult(ending=Ending.DEVIATED), OPTIONS)
    assert noted.verdict is Verdict.NOTED
    for judged in ([noted, broken], [broken, noted]):
        (result,) = skipped([judge(RESTS_ON_IT, failed(RULE), OPTIONS)], judged)
        assert f"which {OF_RULE.id} finds broken" in result.because


def test_a_case_stays_undecided_whose_prerequisite_nobody_finds_broken() -> None:
    holds = judge(OF_RULE, DialogueResult(ending=Ending.FINISHED), OPTIONS)
    (result,) = skipped([judge(RESTS_ON_IT, failed(RULE), OPTIONS)], [holds])
    assert (result.verdict, result.because) == (Verdict.UNDECIDED, "could not reach it")


def test_a_prerequisite_fails_the_cases_of_its_own_rule() -> None:
    assert judge(OF_RULE, failed(RULE), OPTIONS).verdict is Verdict.FAIL


def test_who_is_handed_out_no_id_says_which_rule_that_breaks(polite: Any) -> None:
    def play(d: Dialogue) -> None:
        pending_member(d, "b")

    assert played(play, polite()).prerequisite == RULE


@pytest.mark.parametrize(
    ("endings", "code"),
    [
        ((Ending.FINISHED,), 0),
        ((Ending.FINISHED, Ending.SETUP_FAILED), 3),
        ((Ending.DEVIATED, Ending.SETUP_FAILED), 1),
    ],
)
def test_what_is_skipped_was_not_judged(endings: tuple[Ending, ...], code: int) -> None:
    results = [judge(OF_RULE, DialogueResult(ending=endings[0]), OPTIONS)]
    broken = judge(OF_RULE, DialogueResult(ending=Ending.DEVIATED), OPTIONS)
    if len(endings) > 1:
        results += skipped([judge(RESTS_ON_IT, failed(RULE), OPTIONS)], [broken])
        assert results[-1].verdict is Verdict.SKIPPED
    assert exit_code(results) == code
