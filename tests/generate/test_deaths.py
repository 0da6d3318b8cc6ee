"""A target that dies while it is walked on: it is told which walk ends it, and the walks go on."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from harness import mortal_server
from harness.walk_terms import TERMS
from rota.cli.errors import run as run_command
from rota.cli.main import main
from rota.conformance.targets.grammar import parse_target
from rota.generate import run as running
from rota.generate.bystander import Bystander
from rota.generate.deaths import Alone, Death, culprit
from rota.generate.fatal import Fatal
from rota.generate.host import Host
from rota.generate.lateness import Lateness
from rota.generate.life import Died, Life
from rota.generate.plan import Ask, Plan, Silence
from rota.generate.player import Coordinator, Played
from rota.generate.reach import reach
from rota.generate.run import Failure, Tally, run
from rota.generate.saved import path_of, saved_text
from rota.generate.verdicts import LIVES, Verdict
from rota.generate.verdicts import Walked as Verdicted
from rota.generate.walks import Judges, Walks
from rota.linearise import Answered, History
from rota.report.identity import UNIDENTIFIED
from rota.report.walks import WalksSeen
from rota.spec import (
    KAFKA_4,
    ErrorCode,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ProtocolMetadata,
)
from rota.spec.admin_messages import DescribeGroupsRequest

TARGET = f"cmd:{sys.executable} {Path(mortal_server.__file__)} {{port}}"


def plans(number):
    return [Plan(1, n, ()) for n in range(number)]


@pytest.mark.parametrize(("guilty", "of"), [(0, 1), (0, 20), (7, 20), (19, 20)])
@pytest.mark.parametrize(("targets", "plays"), [(1, 10), (4, 5)])
def test_the_plan_that_ends_the_target_is_found_in_a_few_plays(guilty, of, targets, plays):
    """Whichever it is; as many plays as halving takes, and a few; the fewer, the more targets there are."""
    played = []

    async def dies(groups):
        assert len(groups) <= targets
        played.append(groups)
        return [any(plan.number == guilty for plan in some) for some in groups]

    found = asyncio.run(culprit(plans(of), dies, targets))
    assert found.number == guilty
    assert len(played) <= plays


@pytest.mark.parametrize("targets", [1, 2, 4])
def test_plans_that_end_it_only_together_have_no_culprit(targets):
    """What is left in the end is played alone before it is blamed."""

    async def dies(groups):
        return [{1, 2} <= {plan.number for plan in some} for some in groups]

    assert asyncio.run(culprit(plans(8), dies, targets)) is None


def test_plans_are_played_each_on_a_target_of_its_own(monkeypatch):
    """As many targets at a time as there may be; all but the host's own are ended."""
    busy, most, stopped = set(), [], []

    async def again(host):
        return Coordinator(host, None, KAFKA_4, Lateness())

    async def unjudged(walks, some):
        host = id(walks.coordinator.open)
        assert host not in busy
        busy.add(host)
        most.append(len(busy))
        await asyncio.sleep(0.01)
        busy.remove(host)
        return [Played(some[0], History("g", (), KAFKA_4), ())]

    monkeypatch.setattr(Host, "again", again)
    monkeypatch.setattr(Walks, "unjudged", unjudged)
    monkeypatch.setattr(Host, "stop", lambda host: stopped.append(host))
    found = asyncio.run(Alone(Host(None, None, targets=3)).each(plans(7)))
    assert [one.played.plan.number for one in found] == [*range(7)]
    assert (max(most), len(stopped)) == (3, 2)


def test_the_search_ends_in_time():
    """After so many seconds nothing more is begun."""

    async def dies(groups):
        raise AssertionError("nothing is played")

    assert asyncio.run(culprit(plans(8), dies, seconds=-1)) is None


class Gone:
    """A target that is dead."""

    def post_mortem(self, grace):
        return "it is gone"


def test_a_target_that_is_seen_to_be_dead_when_a_walk_is_over_died_of_it(monkeypatch):
    """Nothing is under way any more, and nobody has got what was played."""
    life = Life(Gone())
    coordinator = Coordinator(None, None, KAFKA_4, Lateness(), life=life)

    async def over(walks, plan):
        played = Played(plan, History("g", (), KAFKA_4), ())
        walks._over.append((asyncio.get_running_loop().time(), played))
        life.suspected = True
        return played, None

    async def again(host):
        return coordinator

    monkeypatch.setattr(Walks, "_walked", over)
    monkeypatch.setattr(Host, "again", again)
    (walked,) = asyncio.run(Alone(Host(None, None)).each(plans(1)))
    assert (walked.id, walked.rule, walked.why) == ("1-0", LIVES, "it is gone")


def asking(number, request):
    """A plan of this request between others."""
    other = [Ask(n, "a", 0, 5, DescribeGroupsRequest("the group")) for n in (0, 2)]
    return Plan(1, number, (other[0], Silence(0.1), Ask(1, "a", 0, 5, request), other[1]))


class Walked:
    """What becomes of walks on the mortal server: three that do no harm, and one that ends it."""

    def __init__(self):
        nobody, somebody = LeaveGroupRequest("the group", ()), (LeavingMember("x"),)
        left = [asking(n, LeaveGroupRequest("the group", somebody)) for n in (0, 1, 3)]
        left.insert(2, asking(2, nobody))

        async def following():
            return left.pop(0) if left else Plan(1, 9, (Silence(1_000),))

        self.tally = Tally()
        target = parse_target(TARGET)
        settings = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 6000}
        host = Host(lambda: target.start({}), lambda running: reach(running.address, settings, KAFKA_4, 10.0))
        host.begin()
        try:
            self.failures = asyncio.run(run(host, following, 1.0, self.tally, Judges(), at_once=4))
        finally:
            host.stop()


@pytest.fixture(scope="module")
def walked():
    return Walked()


def test_a_death_is_told_with_last_words_and_culprit(walked):
    """Who was under way, which of them it was, and how the process ended."""
    (death,) = walked.tally.died
    assert death.culprit == "1-2"
    assert "1-2" in death.under_way
    assert mortal_server.LAST_WORDS in death.words


def test_a_death_fails_by_its_own_rule_with_the_request_that_led_there(walked):
    """The one request that matters is left, it kills in every run, and nothing else is told."""
    (failure,) = walked.failures
    assert (failure.walked.rule, failure.runs) == (LIVES, 5)
    (step,) = failure.walked.played.plan.steps
    assert step.request == LeaveGroupRequest("the group", ())
    assert not walked.tally.failed


def test_a_death_is_a_violation_in_words_and_as_json(walked):
    """With its words in the report, whatever else passes."""
    seen = WalksSeen("t", "kafka-4.x", 1, walked.tally, (), 60.0, UNIDENTIFIED)
    assert seen.verdict == "violated"
    (told,) = seen.as_json()["died"]
    assert told["culprit"] == "1-2"
    assert any(line.startswith("died: ") and "walk 1-2 alone ends it" in line for line in seen.lines())
    assert "died 1 time" in seen.line()


@pytest.mark.long
def test_a_target_that_dies_of_a_failure_that_was_kept_is_told_again(walked, tmp_path, monkeypatch, capsys):
    """`--replay` starts it for each run."""
    monkeypatch.chdir(tmp_path)
    (failure,) = walked.failures
    path = path_of(Path("rota-out"), failure.walked.id)
    path.parent.mkdir(parents=True)
    path.write_text(saved_text(failure, "t", "kafka-4.x", {"group.initial.rebalance.delay.ms": 0}))
    arguments = ["conform", "--target", TARGET, "--replay", failure.walked.id, "--quiet"]
    assert run_command(lambda: main(arguments, standalone_mode=False)) == 1
    assert "5 of 5 runs fail for the same cause" in capsys.readouterr().out
    assert json.loads(path.read_text())["rule"] == LIVES


def test_a_target_that_does_not_start_again_is_no_fault_of_ours(walked, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (failure,) = walked.failures
    path = path_of(Path("rota-out"), failure.walked.id)
    path.parent.mkdir(parents=True)
    path.write_text(saved_text(failure, "t", "kafka-4.x", {"group.initial.rebalance.delay.ms": 0}))

    async def never(host):
        return None

    monkeypatch.setattr(Host, "again", never)
    arguments = ["conform", "--target", TARGET, "--replay", failure.walked.id, "--quiet"]
    assert run_command(lambda: main(arguments, standalone_mode=False)) == 3
    assert "died, and it does not start again; start it by hand" in capsys.readouterr().err


def joining(number, *names, member_id="", session_ms=6000):
    """Somebody joins with these protocols."""
    lists = tuple(ProtocolMetadata(name, b"x") for name in names)
    return Ask(
        number, "a", 0, 5, JoinGroupRequest("the group", session_ms, 6000, member_id, "consumer", lists)
    )


def answered(*asks):
    """A walk in which all of them were answered."""
    events = tuple(Answered(1.0, number, JoinGroupReply(ErrorCode.NONE)) for number in range(len(asks)))
    return Played(
        Plan(1, 0, asks), History("g", events, KAFKA_4), (), asked=tuple(one.number for one in asks)
    )


def test_what_is_like_the_request_that_ended_it_is_left_out():
    """That nobody has an id yet did not end it before, so it is not that."""
    fatal = Fatal()
    fatal.learn(Plan(1, 0, (joining(0), joining(1, session_ms=-1))), [answered(joining(0, "range"))])
    assert fatal.known == [("JoinGroup", {".protocols is []", ".session_timeout_ms is negative"})]
    fatal = Fatal()
    fatal.learn(Plan(1, 0, (joining(0),)), [answered(joining(0, "range"))])
    others = joining(1, "range"), asking(0, LeaveGroupRequest("the group", ())).steps[2]
    plan = Plan(1, 7, (joining(0), others[0], joining(2, member_id="x"), others[1]))
    assert fatal.without(plan) == Plan(1, 7, others, left_out=1)
    assert fatal.without(Plan(1, 8, others)) == Plan(1, 8, others)


def test_where_nothing_is_odd_in_it_all_of_its_kind_are_left_out():
    fatal = Fatal()
    fatal.learn(Plan(1, 0, (joining(3, "range"),)), [answered(joining(0, "range"))])
    assert fatal.without(Plan(1, 8, (joining(1, "range"), joining(2, "other", member_id="x")))).steps == (
        joining(2, "other", member_id="x"),
    )


def test_walks_go_on_without_what_has_ended_the_target(monkeypatch):
    """What is drawn later has it no more. Deaths that nobody can explain end the walks."""
    got, nobody = [], asking(2, LeaveGroupRequest("the group", ()))
    first = nobody.steps[2]
    shortest = Played(Plan(1, 2, (first,)), History("g", (), KAFKA_4), ())
    blamed = [Failure(Verdicted(shortest, Verdict.FAIL), ()), None]

    async def beside(walks, plans, *_):
        got.append(await plans())
        if len(got) < 9:
            raise Died("it is gone")

    async def account(walks, words, host, tally, stopped):
        found = blamed.pop(0) if len(blamed) > 1 else None
        tally.died.append(Death(words, (), "" if found is None else "1-2"))
        return found

    async def following():
        return nobody

    monkeypatch.setattr(running, "_walk_beside", beside)
    monkeypatch.setattr(running, "_account", account)
    host = Host(None, None, coordinator=Coordinator(None, None, KAFKA_4, Lateness()))
    asyncio.run(run(host, following, 1.0, Tally(), Judges()))
    assert first in got[0].steps
    assert all(first not in plan.steps for plan in got[1:])
    assert len(got) == 1 + running.MOST_UNEXPLAINED
    assert [one for one in nobody.steps if one is not first] == [*got[-1].steps]


def test_what_was_seen_before_a_death_counts(monkeypatch):
    """How often walks avoided something, what was left out, and how the bystander fared."""

    async def dies(walks, *_):
        walks.avoiding.walked += 3
        walks.unread.first["JoinGroup"] = 6
        raise Died("it is gone")

    monkeypatch.setattr(Walks, "many", dies)
    tally, coordinator = Tally(), Coordinator(None, TERMS, KAFKA_4, Lateness())
    for _ in range(2):
        walks = Walks(coordinator, "t")
        beside = running._walk_beside(walks, None, 1.0, tally, 1, lambda: False, lambda _: None)
        with pytest.raises(Died):
            asyncio.run(beside)
    assert (tally.avoiding, tally.unread) == (6, {"JoinGroup": 6})
    first, second = Bystander(None, heartbeats=2, slowest=0.5, harm="x"), Bystander(None, heartbeats=3)
    both = second.and_before(first)
    assert (both.heartbeats, both.slowest, both.harm) == (5, 0.5, "x")
    assert second.and_before(None) is second
    assert tally.bystander is not None
