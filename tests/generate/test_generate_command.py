"""`rota conform --generate`: what it prints and keeps, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from rota.cli.conform import conform as command
from rota.cli.conform_generate import CODES, _Met, _Now
from rota.cli.errors import run
from rota.cli.main import main
from rota.generate.plan import Ask, Plan
from rota.generate.player import Played
from rota.generate.run import Failure, Tally, _explained, _failures
from rota.generate.saved import path_of, read_saved, saved_text
from rota.generate.verdicts import Verdict, Walked
from rota.generate.walks import AT_ONCE
from rota.linearise import History
from rota.report.identity import UNIDENTIFIED
from rota.report.walks import WalksSeen
from rota.spec import ROTA, HeartbeatRequest


@pytest.fixture
def conform(tmp_path, capsys, monkeypatch):
    """Runs the command in an empty folder; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def conform(*arguments):
        code = run(lambda: main(["conform", *arguments], standalone_mode=False))
        return code, capsys.readouterr()

    return conform


def test_walks_on_rotas_own_server_over_sockets(conform):
    """Nothing fails; on a machine that is too busy to tell some are undecided, which is no failure."""
    code, said = conform("--generate", "--embedded", "--seconds", "2", "--seed", "3", "--json")
    found = json.loads(said.out)
    walks = found["walks"]
    assert (walks["failures"], found["died"]) == ([], None)
    assert code == {"conforms": 0, "undecided": 3}[found["verdict"]]
    assert walks["plans"] > 0
    assert walks["requests"] > 10
    assert any(rule.startswith("join.") for rule, _ in walks["reached"]) or walks["undecided"]


def test_so_many_groups_at_once(conform):
    """Each walk and what follows it takes a second at least; what is done by default stands in the help."""
    code, said = conform("--generate", "--embedded", "--seconds", "2", "--groups", "1", "--json")
    assert code in (0, 3)
    assert json.loads(said.out)["walks"]["plans"] <= 3
    (words,) = (one.help for one in command.params if one.name == "groups")
    assert f"[default: {AT_ONCE}]" in words


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--replay", "1-2"), 2, "there is no rota-out/walks/1-2.json"),
        (("--replay", "broken.json"), 2, "is no failure of a walk"),
        (("--generate", "--report", "html=a.html"), 2, "there is no html report of walks"),
        (("--generate", "join"), 2, "a selection of cases is for judging one target"),
        (("--generate", "--slow"), 2, "--slow is for judging one target"),
        (("--generate", "--clients"), 2, "--clients and --generate are two things to do"),
        (("--generate", "--diff", "rota", "rota"), 2, "--diff and --generate are two things to do"),
        (("--generate", "--list"), 2, "--generate and --list are two things to do"),
        (("--generate", "--replay", "1-2"), 2, "--generate and --replay are two things to do"),
        (("--seconds", "5", "heartbeat"), 2, "--seconds is for --generate"),
        (("--groups", "5", "heartbeat"), 2, "--groups is for --generate"),
        (("--protocol", "classic"), 2, "--protocol is for --generate"),
    ],
)
def test_what_cannot_be_asked_says_why(conform, tmp_path, arguments, code, says):
    """Cause and remedy, and the exit code of usage."""
    (tmp_path / "broken.json").write_text("{}")
    got, said = conform("--embedded", *arguments)
    assert got == code
    assert says in said.err


def test_what_a_run_does_is_told_until_it_is_over():
    """Also after its seconds, while the last walks end, and while failures are looked at."""
    now = _Now(tally_of(walked(0)), 40.0)
    assert now.words(7.4) == "7 of 40 s: 1 walk, 0 requests, 0 failed"
    assert now.words(44.0).startswith("44 of 40 s, waiting for the last walks to end: 1 walk, ")
    now.begin("making what fails shorter")
    assert now.words(50.0).startswith("50 s: making what fails shorter: 1 walk, ")
    now.begin("")
    assert now.words(51.0).startswith("51 of 40 s, waiting")


def test_a_run_in_which_no_walk_ended_says_what_to_do():
    """Not the list of all rules, none of which could be reached."""
    told = "\n".join(seen(Tally()).lines())
    assert "give more --seconds" in told
    assert "not reached" not in told
    assert "give more --seconds" not in "\n".join(seen(tally_of(walked(0))).lines())


def test_a_run_that_was_interrupted_is_so_also_where_walks_failed():
    """As a run of cases is; what has failed until then is told and kept."""
    one = walked(1, Verdict.FAIL, rule="join.first", why="x", cause=("1",))
    told = replace(seen(tally_of(one), [Failure(one, ("1-1",))]), interrupted=True)
    assert told.verdict == "interrupted"
    assert CODES[told.verdict] == 130
    assert "1 failed (1 cause)" in told.line()
    assert len(told.as_json()["walks"]["failures"]) == 1


def walked(number, verdict=Verdict.PASS, **fields):
    """A walk of one heartbeat."""
    plan = Plan(1, number, (Ask(0, "a", 0, 4, HeartbeatRequest("the group", 1, "<0>")),))
    return Walked(Played(plan, History("g", (), ROTA), ()), verdict, **fields)


def seen(tally, failures=()):
    return WalksSeen("rota", "rota", 1, tally, failures, 60.0, UNIDENTIFIED)


def tally_of(*walks):
    tally = Tally()
    for one in walks:
        tally.add(one)
    return tally


def test_more_than_one_walk_in_a_hundred_undecided_is_undecided():
    """One of a hundred is let pass, one of ninety-nine is not; nothing walked is nothing judged."""
    passing = [walked(n) for n in range(98)]
    lost = walked(98, Verdict.UNDECIDED, why="too many")
    assert seen(tally_of(*passing, lost, walked(99))).verdict == "conforms"
    assert seen(tally_of(*passing, lost)).verdict == "undecided"
    assert seen(Tally()).verdict == "undecided"


def test_failures_are_grouped_by_cause_and_kept(tmp_path):
    """Two walks with one cause are one failure, whose file is read as it was written."""
    fails = [walked(n, Verdict.FAIL, rule="heartbeat.alive", why="x", cause=("c",)) for n in (1, 2)]
    tally = tally_of(*fails)
    assert list(tally.failed) == [("c",)]
    failure = Failure(fails[0], ("1-1", "1-2"), 4)
    told = seen(tally, [failure])
    assert told.verdict == "violated"
    assert "2 failed (1 cause)" in told.line()
    path = path_of(tmp_path, "1-1")
    path.parent.mkdir()
    path.write_text(saved_text(failure, "rota", "rota", {"group.max.size": 3}))
    saved = read_saved(tmp_path, "1-1")
    assert (saved.plan, saved.cause, saved.settings) == (fails[0].played.plan, ("c",), {"group.max.size": 3})
    assert told.as_json()["walks"]["failures"][0]["runs"] == "4 of 5 runs"


def test_the_first_failure_of_a_cause_is_kept_while_the_run_goes_on(tmp_path):
    """A run of hours may be lost; each cause is told once, and what is kept can be played again."""
    met, tally = _Met(tmp_path, "rota", "rota", {"group.max.size": 3}), tally_of(walked(0))
    assert list(met.kept(tally)) == []
    for number, cause in enumerate("cdc", 1):
        tally.add(walked(number, Verdict.FAIL, rule="join.first", why=f"{cause}\nmore", cause=(cause,)))
        told = [f"walk 1-{number} fails, join.first: {cause} (kept in {path_of(tmp_path, f'1-{number}')})"]
        assert list(met.kept(tally)) == (told if number < 3 else [])
    assert read_saved(tmp_path, "1-2").cause == ("d",)
    assert not path_of(tmp_path, "1-3").exists()


def test_many_causes_are_told_in_a_table_and_the_first_of_them_in_full():
    """One cause alone is told in full; of seven each has its line, with the walk that shows it again."""
    fails = [walked(n, Verdict.FAIL, rule=f"rule.{n}", why=f"why {n}", cause=(f"{n}",)) for n in range(7)]
    failures = [Failure(one, (one.id,) * (n + 1), n or None) for n, one in enumerate(fails)]
    told = "\n".join(seen(tally_of(*fails), failures).lines())
    assert [n for n in range(7) if f" rule.{n}  walk " in told] == [0, 1, 2, 3, 4]
    rows = [line.split() for line in told.splitlines() if " rule." in line and "  walk " not in line]
    assert rows[0] == ["1", "rule.0", "1-0", "why", "0"]
    assert rows[6] == ["7", "rule.6", "6", "of", "5", "1-6", "why", "6"]
    alone = "\n".join(seen(tally_of(fails[0]), failures[:1]).lines())
    assert " rule.0  walk " in alone
    assert "replay" not in alone


def test_what_was_late_once_and_never_again_is_undecided():
    """Told as what it is, with the walks; what has failed for another reason too, or again, is a failure."""
    others = [walked(n) for n in range(10, 210)]
    fields = {"rule": "timer.session", "why": "x is late", "cause": ("t",)}
    late = [walked(n, Verdict.FAIL, **fields) for n in (1, 2)]
    failure = Failure(late[0], ("1-1", "1-2"), 0)
    tally = tally_of(*late, *others)
    assert tally.let_pass(failure, lambda one: True)
    told = seen(tally)
    assert told.verdict == "conforms"
    assert "0 failed, 2 undecided (1.0%)" in told.line()
    lines = "\n".join(told.lines())
    assert "x is late (walk 1-1, 1-2, 0 of 5 runs)" in lines
    assert "undecided: x is late" not in lines
    assert told.as_json()["walks"]["once"][0]["runs"] == "0 of 5 runs"


@pytest.mark.parametrize(
    ("runs", "out_of_time"), [(1, (True, True)), (None, (True, True)), (0, (True, False)), (0, (False, True))]
)
def test_what_was_late_and_more_than_that_fails(runs, out_of_time):
    """It was late again, or was not tried again, or one of the walks was not only late."""
    fails = [walked(n, Verdict.FAIL, cause=("t",)) for n in range(2)]
    late = {one.id for one, is_late in zip(fails, out_of_time, strict=True) if is_late}
    tally = tally_of(*fails)
    assert not tally.let_pass(Failure(fails[0], ("1-0", "1-1"), runs), lambda one: one.id in late)
    assert list(tally.failed) == [("t",)]
    assert not tally.undecided


def test_what_is_found_is_not_lost_where_rota_fails_to_explain_it():
    """A defect of ours in the search for the cause is told, and the failure stands as it was met."""
    told = []
    failure = Failure(walked(1, Verdict.FAIL), ("1-1",))

    async def explaining(failed, others):
        raise IndexError("tuple index out of range")

    assert asyncio.run(_explained(failure, [], explaining, told.append)) is failure
    assert len(told) == 1
    assert "IndexError" in told[0]


async def _never(*_):
    await asyncio.Event().wait()


class _Stuck:
    """Walks whose plans never end."""

    each = _never


@pytest.mark.parametrize("explains", [False, True], ids=["made shorter", "explained"])
def test_a_run_that_is_stopped_while_it_looks_at_failures_ends_at_once(monkeypatch, explains):
    """What was met is told as it was; nobody waits a minute for shorter walks, or for rules."""
    first, second = (walked(n, Verdict.FAIL, rule="join.first", why="x", cause=(f"{n}",)) for n in (1, 2))
    tally, stopping = tally_of(first, second), threading.Event()

    async def failure(walks, each):
        return Failure(each[0], (each[0].id,), 5)

    if explains:
        monkeypatch.setattr("rota.generate.run._failure", failure)

    def tell(text):
        if "rules" in text or not explains:
            stopping.set()

    async def looked_at():
        return await asyncio.wait_for(_failures(_Stuck(), tally, _never, stopping.is_set, tell), 10)

    found = asyncio.run(looked_at())
    assert [(one.walked, one.runs) for one in found] == [
        (one, 5 if explains else None) for one in (first, second)
    ]
