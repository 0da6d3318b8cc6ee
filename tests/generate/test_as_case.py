"""A failure written as a case runs as one: a sound server passes it, and one with the bug fails."""

from __future__ import annotations

import importlib.util
from contextlib import closing
from pathlib import Path

import pytest

from harness.own_server import OPTIONS, own_server
from harness.walk_terms import TERMS
from rota.cli.errors import run as run_command
from rota.cli.main import main
from rota.conformance.dialogues.registry import CASES
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.runner import play_all
from rota.generate.consumer.planned import (
    Beat,
    Changing,
    Committing,
    Fetching,
    Leaving,
    Listing,
    Looking,
    Planned,
)
from rota.generate.plan import CLASSIC, CONSUMER, GROUP, Ask, Break, Plan, Restart, Silence
from rota.generate.player import Played
from rota.generate.run import Failure
from rota.generate.saved import case_path_of, path_of, saved_text
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict as Judged
from rota.generate.verdicts import Walked
from rota.linearise import History
from rota.mutants.core import consumer_bugs, core_bugs, planted
from rota.spec import (
    KAFKA_4,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.admin_messages import DescribeGroupsRequest, ListGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetFetchRequest,
    TopicPartitions,
)

RANGE = (ProtocolMetadata("range", b"\xff\x00"),)


def join(member_id="", instance=None):
    return JoinGroupRequest(GROUP, 2500, 3000, member_id, "consumer", RANGE, instance)


def whole_life():
    """One member from its first request to its end, and what is asked about its group meanwhile."""
    topics = (OffsetCommitTopic("rota-probe", (OffsetCommitPartition(0, 7, -1, "m"),)),)
    asks = iter(range(100))

    def ask(client, version, request, **more):
        number = next(asks)
        return Ask(number, client, more.pop("line", 0), version, request, **more)

    told = {"told_by": 1, "generation": 1}
    return (
        ask("a", 9, join()),
        ask("a", 9, join("<0>")),
        Silence(1.5),
        ask("a", 5, SyncGroupRequest(GROUP, 1, "<0>", (), "consumer", "range"), shares=True, **told),
        ask("a", 4, HeartbeatRequest(GROUP, 1, "<0>"), **told),
        ask("a", 4, HeartbeatRequest(GROUP, 3, "<0>"), **told),
        ask("a", 8, OffsetCommitRequest(GROUP, topics, 1, "<0>"), **told),
        ask("op", 7, OffsetFetchRequest(GROUP, (TopicPartitions("rota-probe", (0,)),)), line=1),
        ask("op", 5, DescribeGroupsRequest(GROUP), line=1),
        ask("op", 4, ListGroupsRequest(GROUP), line=1),
        ask("b", 9, join("nobody-knows-me"), line=2),
        Break(2),
        ask("a", 5, LeaveGroupRequest(GROUP, (LeavingMember("<0>"), LeavingMember("x")))),
        ask("a", 9, join("<0>")),
        Silence(0.5),
    )


def life_of_a_consumer():
    """As `whole_life`, of two members of the consumer protocol, and a topic that is made in it."""
    asks = iter(range(100))

    def ask(client, version, request, line=0):
        return Ask(next(asks), client, line, version, request)

    def beat(member_id, *by, **said):
        return Beat(member_id, by, **{"since": "told" if by else "zero", **said})

    joins = {"timeout_ms": 5000, "names": ("rota-walk-2", f"{GROUP}-x"), "owns": "nothing"}
    offsets = ((f"{GROUP}-x", 0, 7, "m"), ("nowhere", 0, 1, ""))
    return (
        ask("op", 7, Changing("CreateTopics", f"{GROUP}-x", 1), 9),
        Silence(0.5),
        ask("a", 1, beat("a1", **joins)),
        ask("a", 1, beat("a1", 1, owns="assigned")),
        ask("b", 0, beat("", **joins), 1),
        Silence(1.2),
        ask("a", 1, beat("a1", 1, 2)),
        ask("b", 1, beat("<3>", 3), 1),
        ask("a", 1, beat("a1", 1, 2, 4)),
        ask("a", 1, beat("a1", 1, 2, 4, 6, owns="held")),
        ask("a", 1, beat("a1", 1, 2, 4, 6, 7, owns="assigned")),
        ask("b", 1, beat("<3>", 3, 5), 1),
        ask("a", 1, beat("a1", 1, 2, 4, 6, 7, 8, ahead=1)),
        ask("a", 9, Committing("a1", offsets, (1, 2, 4, 6, 7, 8))),
        ask("op", 9, Fetching((("rota-walk-2", 0), (f"{GROUP}-x", 0))), 9),
        ask("op", 1, Looking("ConsumerGroupDescribe"), 9),
        ask("op", 5, Listing((), ("consumer",)), 9),
        ask("op", 9, Looking("JoinGroup"), 9),
        Break(1),
        ask("op", 2, Leaving(("<3>",)), 9),
        ask("op", 2, Looking("DeleteGroups"), 9),
    )


def kept(folder, steps, rule="heartbeat.alive"):
    """A failure in the folder that rota writes to; its id."""
    planned = any(isinstance(step, Ask) and isinstance(step.request, Planned) for step in steps)
    plan = Plan(7, 3, tuple(steps), protocol=CONSUMER if planned else CLASSIC)
    walked = Walked(Played(plan, History("g", (), KAFKA_4), ()), Judged.FAIL, rule, "why", cause=(rule,))
    path = path_of(folder / "rota-out", plan.id)
    path.parent.mkdir(parents=True)
    path.write_text(saved_text(Failure(walked, (plan.id,)), "t", "kafka-4.x", SETTINGS))
    return plan.id


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a failure as a case and drops it into the catalogue until the test is over; the case."""
    monkeypatch.chdir(tmp_path)
    before = dict(CASES)

    def write(steps, rule="heartbeat.alive"):
        name = kept(tmp_path, steps, rule)
        arguments = ["conform", "--replay", name, "--as", "case"]
        assert run_command(lambda: main(arguments, standalone_mode=False)) == 0
        path = case_path_of(Path("rota-out"), name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
        (name,) = CASES.keys() - before.keys()
        return CASES[name]

    yield write
    for name in CASES.keys() - before.keys():
        del CASES[name]


def played(case):
    with closing(own_server("kafka-4.x")) as target:
        (result,) = play_all([case], target, OPTIONS, {})
    return result


def test_a_sound_server_passes(written):
    """Every kind of request and step that a walk has, with what the spec answers to each."""
    case = written(whole_life())
    assert case.rule == "heartbeat.alive"
    result = played(case)
    assert result.verdict is Verdict.PASS, (result.expected, result.actual, result.because)
    assert sum(line.mark == "←" for line in result.lines) >= 11


def test_a_server_with_the_bug_fails(written):
    """One that the walk has met."""
    bug = core_bugs()["unknown-member-starts-anew"]
    case = written(whole_life(), bug.rule)
    with planted(bug):
        assert played(case).verdict is Verdict.FAIL


def test_a_sound_server_passes_a_walk_of_the_consumer_protocol(written):
    """Ids, epochs, partitions and topics are those of the dialogue; of several targets one is seen."""
    result = played(written(life_of_a_consumer(), "consumer.leave.member"))
    assert result.verdict is Verdict.PASS, (result.expected, result.actual, result.because)
    assert result.case.rule == "consumer.leave.member"


@pytest.mark.parametrize("name", ["takes-what-others-own", "ahead-accepted"])
def test_a_server_with_a_bug_of_the_consumer_protocol_fails(written, name):
    """A partition too many, and a heartbeat that is granted though it should be fenced."""
    bug = consumer_bugs()[name]
    case = written(life_of_a_consumer(), f"consumer.{bug.rule}")
    with planted(bug):
        assert played(case).verdict in DEVIATION_VERDICT.values()


def test_a_walk_of_the_kits_own_rules_is_one_of_the_wire(written):
    """What no rule of the spec is broken in has to have a name all the same."""
    assert written(whole_life()[:1], "walks.others-go-on").id == "wire.walk-7-3"


def test_what_cannot_be_written_says_why(tmp_path, monkeypatch, capsys):
    """A restart; `--as` without a failure."""
    monkeypatch.chdir(tmp_path)
    name = kept(tmp_path, [Restart("SIGKILL")])
    for arguments, says in (
        (["--replay", name, "--as", "case"], "it restarts the target"),
        (["--as", "case", "--embedded"], "name it with --replay ID"),
        (["--replay", "9-9", "--as", "case"], "there is no"),
    ):
        code = run_command(lambda given=arguments: main(["conform", *given], standalone_mode=False))
        assert code == 2
        assert says in capsys.readouterr().err


def test_terms_have_every_version_of_this_file():
    """Else the plan above could not be drawn."""
    for step in whole_life():
        assert not isinstance(step, Ask) or step.version in TERMS.spoken(step.api)
