"""What `rota check` makes of results: verdicts, known weaknesses, coverage, growth; and the progress line."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from ticket_office import office

from rota.cli.check_plan import parse_settings
from rota.explore import Limits, Result
from rota.explore.reference import explore
from rota.kernel import Rule
from rota.report.check_model import Explored, Job, Plan, Report
from rota.report.check_progress import Explorations
from rota.report.check_text import lines, verdict_line
from rota.report.live_line import CLEAR, LiveLine
from rota.report.progress import duration, rest

WITNESS = "can_hold_a_ticket"


def job(name: str = "office", **more: object) -> Job:
    return replace(Job(name, office), **more)  # type: ignore[arg-type]


def report(*runs: Explored, **more: object) -> Report:
    plan = Plan("classic", "toy", "reference", tuple(run.job for run in runs), scope="toys", profile="p")
    return Report(replace(plan, **more), runs, None, 1.0)  # type: ignore[arg-type]


def result(fault: str = "", people: int = 2, limits: Limits | None = None) -> Result:
    return explore(office(people, fault), limits)


def test_a_known_weakness_that_is_found_is_known_and_holds() -> None:
    told = report(Explored(job(), result()), known=frozenset({WITNESS}))
    assert told.verdict == "holds"
    assert {claim.name: claim.verdict for claim in told.claims()}[WITNESS] == "known"
    shown = "\n".join(lines(told, stats=False))
    assert "known weaknesses of this profile, found anew\n  can_hold_a_ticket" in shown
    assert "witnesses\n" not in shown


def test_a_known_weakness_that_suddenly_holds_is_a_failure() -> None:
    told = report(Explored(job(), result("can_hold_a_ticket")), known=frozenset({WITNESS}))
    assert told.verdict == "violated"
    assert list(told.reasons()) == [f"{WITNESS} holds in office, where it is known not to"]


def test_the_worst_verdict_of_all_runs_is_told_and_the_least_depth() -> None:
    bounded = Explored(job("bounded"), result(limits=Limits(1)))
    told = report(Explored(job("whole"), result(people=3)), bounded)
    claims = {claim.name: claim for claim in told.claims()}
    assert told.verdict == "undecided"
    assert (claims["tickets.differ"].verdict, claims["tickets.differ"].runs) == ("undecided", 2)
    assert (claims[WITNESS].depth, claims[WITNESS].where) == (1, "whole")


def test_a_run_that_is_missing_leaves_it_undecided() -> None:
    run = Explored(job(), result())
    told = report(run, jobs=(run.job, job("second")))
    assert told.verdict == "undecided"
    assert list(told.reasons()) == ["1 of 2 configurations did not run"]


def test_counts_are_judged_only_where_every_state_was_visited() -> None:
    wrong = job(expected={"distinct": 1})
    assert Explored(wrong, result()).differing == ("distinct",)
    assert Explored(wrong, result(limits=Limits(1))).differing is None
    assert Explored(wrong, result("deadlock")).differing is None
    assert Explored(job(expected={"distinct": result().distinct}), result()).differing == ()


@pytest.mark.parametrize(("names", "words"), [("abcd", "a, b, c, d"), ("abcdef", "a, b, c and 3 more")])
def test_many_differing_counts_are_told_in_few_words(names: str, words: str) -> None:
    runs = [Explored(job(name, expected={"distinct": 1}), result()) for name in names]
    assert list(report(*runs).reasons()) == [f"the counts of {words} differ from the pinned ones"]


def test_rules_that_decide_are_not_missed() -> None:
    rules = {
        slug: Rule(slug, office, "all versions", "nowhere", decides)
        for slug, decides in (("office.next", False), ("office.closed", False), ("office.vote", True))
    }
    assert report(Explored(job(), result()), rules=rules).not_fired == ("office.closed",)


@pytest.mark.parametrize(
    ("people", "pinned", "growth"), [(3, 8, "x2.00"), (2, 5, "+0"), (3, 17, "-1"), (2, 10, "x0.50")]
)
def test_growth_is_a_factor_or_a_small_difference(people: int, pinned: int, growth: str) -> None:
    base = job("base", expected={"distinct": pinned})
    run = Explored(job("more", feature="more people", compared_with="base"), result(people=people))
    row = next(line for line in lines(report(run, jobs=(base, run.job)), stats=False) if "->" in line)
    assert row.split() == [
        "more",
        "people",
        growth,
        "base",
        str(pinned),
        "->",
        "more",
        str(run.result.distinct),
    ]


def test_the_verdict_line_counts_in_singular_and_plural() -> None:
    line = verdict_line(report(Explored(job(), result())), quiet=True)
    counted = "1 configuration, 5 states, engine reference, 3 properties, 1 witness, "
    assert line.startswith(f"\x1b[32m\x1b[1mholds\x1b[0m: {counted}")


def test_settings_are_numbers_booleans_arrays_tables_or_text() -> None:
    assert parse_settings(
        ["a=3", "b=true", "c=text", "d=[[1], ['x']]", "e={y = 1, x = 2}", "f=1.5", "g="]
    ) == {
        "a": 3,
        "b": True,
        "c": "text",
        "d": ((1,), ("x",)),
        "e": (("x", 2), ("y", 1)),
        "f": "1.5",
        "g": "",
    }


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Time as the test wants it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(stream: io.StringIO, times: list[float], silent: bool = False) -> str:
    clock = Clock()
    progress = Explorations(LiveLine(stream, silent, clock), "check", {"fault": 3_000}, clock=clock)
    progress.begin("fault")
    for seconds in times:
        clock.now = seconds
        progress.level("fault", depth=7, distinct=1_000, frontier=200, generated=2_500, seconds=seconds)
    progress.end("fault")
    return stream.getvalue()


def test_a_pipe_gets_a_line_every_ten_seconds() -> None:
    told = shown(io.StringIO(), [1.0, 9.0, 10.0, 12.0, 20.0, 25.0])
    assert told == (
        "check: 10 s, about 9 s left; "
        "fault: 1,000 of 3,000 states, depth 7, frontier 200, 100 states/s\n"
        "check: 20 s, about 19 s left; "
        "fault: 1,000 of 3,000 states, depth 7, frontier 200, 50 states/s\n"
    )


def explorations(stream: io.StringIO, clock: Clock, **sizes: int | None) -> Explorations:
    return Explorations(LiveLine(stream, clock=clock), "check", sizes, clock=clock)


def test_several_explorations_share_a_line() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = explorations(stream, clock, fault=3_000, three=None)
    progress.begin("fault")
    clock.now = 4.0
    progress.begin("three")
    progress.level("fault", depth=7, distinct=1_000, frontier=200, generated=2_500, seconds=4.0)
    clock.now = 10.0
    progress.level("three", depth=7, distinct=600, frontier=200, generated=2_500, seconds=6.0)
    progress.end("three")
    progress.line.note("something happened")
    clock.now = 20.0
    progress.level("fault", depth=8, distinct=2_000, frontier=200, generated=2_500, seconds=20.0)
    assert stream.getvalue() == (
        "check: 0 of 2 configurations, 10 s; "
        "fault: 1,000 of 3,000 states, three: 600 states, 350 states/s\n"
        "something happened\n"
        "check: 1 of 2 configurations, 20 s; "
        "fault: 2,000 of 3,000 states, depth 8, frontier 200, 100 states/s\n"
    )


def test_what_is_pinned_for_a_suite_tells_how_long_the_rest_takes() -> None:
    clock = Clock()
    progress = explorations(io.StringIO(), clock, core=1_000, fault=3_000, three=4_000)
    progress.begin("core")
    progress.end("core")
    progress.begin("fault")
    clock.now = 10.0
    progress.level("fault", depth=7, distinct=1_000, frontier=200, generated=2_500, seconds=5.0)
    assert progress.text().startswith("check: 1 of 3 configurations, 10 s, about 16 s left; fault: 1,000")
    progress.end("fault", again=True)
    assert progress.text() == "check: 1 of 3 configurations, 10 s, about 42 s left"
    progress.unpredictable()
    assert progress.text() == "check: 1 of 3 configurations, 10 s"


def test_where_a_size_is_not_known_nothing_is_said_of_the_rest() -> None:
    clock = Clock()
    progress = explorations(io.StringIO(), clock, core=1_000, fault=None)
    progress.begin("core")
    progress.end("core")
    clock.now = 10.0
    assert progress.text() == "check: 1 of 2 configurations, 10 s"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3661.0, "1 h 1 min")]
)
def test_durations_are_told_in_what_people_count(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("share", "seconds", "left"),
    [(0.25, 10.0, 30.0), (0.04, 10.0, None), (0.25, 4.0, None), (None, 10.0, None), (1.0, 9.0, 0.0)],
)
def test_the_rest_is_estimated_when_enough_is_known(
    share: float | None, seconds: float, left: float | None
) -> None:
    assert rest(share, seconds) == left


def test_a_terminal_gets_one_live_line_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    told = shown(Terminal(), [0.1, 1.0, 1.1, 2.0])
    assert told.count(CLEAR) == 3
    assert "\n" not in told
    assert told.endswith(CLEAR)


def test_the_live_line_does_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("rota.report.live_line.NARROWEST", 30)
    assert shown(Terminal(), [1.0]) == f"{CLEAR}{'check: 1 s; fault: 1,000 of 3,000 states'[:29]}{CLEAR}"


def test_a_dumb_terminal_is_treated_like_a_pipe_and_silence_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(io.StringIO(), [10.0], silent=True) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert CLEAR not in shown(Terminal(), [10.0])
