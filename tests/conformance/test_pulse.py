"""On a machine that is overloaded nothing is held against a target that was seen only once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from itertools import count

import pytest

from harness.slow_target import Relayed
from rota.conformance import runner
from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, PendingRequest, Reply
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.waits import SLOW
from rota.conformance.pulse import BEAT, MISSED, Pulse
from rota.conformance.results import CaseResult, Ending, KnownFailure, Verdict
from rota.conformance.runner import Options, perform, play_all
from rota.conformance.steps.group_formation import lead
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.remote import Embedded
from rota.conformance.targets.target import Running, Target
from rota.report.text import _failed_at_first
from rota.server import running


class Machine:
    """A clock that goes on when somebody sleeps, by more than that where `late` says so."""

    def __init__(self) -> None:
        self.now, self.late, self.over = 100.0, 0.0, threading.Event()
        self._may, self._slept = threading.Semaphore(0), threading.Semaphore(0)

    def wait(self, seconds: float) -> bool:
        self._may.acquire()
        self.now += seconds + self.late
        self._slept.release()
        return self.over.is_set()

    def beat(self, late: float) -> None:
        """One beat, and the look at the clock before the next one's sleep."""
        self.late = late
        self._may.release()
        self._slept.acquire()


def test_a_beat_that_comes_late_is_noted() -> None:
    machine = Machine()
    pulse = Pulse(lambda: machine.now, machine.wait)
    for _ in range(3):
        machine.beat(MISSED / 2)
    assert not pulse.missed(since=0)
    machine.beat(MISSED * 2)
    machine.beat(0.0)
    assert pulse.missed(since=100)
    assert not pulse.missed(since=machine.now)
    machine.now += BEAT + 2 * MISSED
    assert pulse.missed(since=machine.now), "the present one is due for long"
    machine.over.set()
    machine.beat(0.0)
    pulse.close()


def waits_for_an_id(target: Target) -> float:
    """Seconds for which a newcomer's first answer is waited for in the next dialogue."""
    asked: list[float] = []

    def noting(request: PendingRequest, seconds: float, rule: str = "") -> Reply | None:
        asked.append(seconds)
        return request.poll(seconds)

    def play(d: Dialogue) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PendingRequest, "waited", noting)
            d.member("a").enter()

    (case,) = select(all_cases(), ["heartbeat.alive.stable"])
    (result,) = play_all([replace(case, play=play)], target, Options(seed=1), {})
    assert result.verdict is Verdict.PASS
    return asked[0]


def test_who_was_seen_to_hand_out_ids_is_waited_for() -> None:
    """In vain is waited only where nobody has seen that yet."""
    with closing(parse_target("rota")) as target:
        assert waits_for_an_id(target) == A_WHILE
        assert waits_for_an_id(target) == PROMPTLY
    with closing(parse_target("rota")) as other:
        assert waits_for_an_id(other) == A_WHILE


class Overloaded(Pulse):
    def missed(self, since: float) -> bool:
        return True


class AtEase(Pulse):
    def missed(self, since: float) -> bool:
        return False


def played(
    deviates: int, pulse: type[Pulse], monkeypatch: pytest.MonkeyPatch, *waited: tuple[str, float, str | None]
) -> tuple[CaseResult, int]:
    """A case that deviates so many times; its result, and how often it was played.

    waited: what else happened each time: API, seconds until its answer, with which error.
    """
    plays: list[Dialogue] = []

    def play(d: Dialogue) -> None:
        plays.append(d)
        for api, seconds, error in waited:
            d.waits.note(api, 0.0, seconds, error)
        if len(plays) <= deviates:
            raise Deviation("an early answer", "a late one")

    monkeypatch.setattr(runner, "Pulse", pulse)
    (case,) = select(all_cases(), ["heartbeat.alive.stable"])
    with closing(parse_target("rota")) as target:
        (result,) = play_all([replace(case, play=play)], target, Options(seed=1), {})
    return result, len(plays)


@pytest.mark.parametrize(
    ("deviates", "pulse", "verdict", "number"),
    [
        (1, Overloaded, Verdict.PASS, 2),
        (3, Overloaded, Verdict.PASS, 4),
        (4, Overloaded, Verdict.FAIL, 4),
        (1, AtEase, Verdict.FAIL, 1),
        (0, Overloaded, Verdict.PASS, 1),
    ],
)
def test_what_deviates_when_nobody_had_time_is_looked_at_again(
    deviates: int, pulse: type[Pulse], verdict: Verdict, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, plays = played(deviates, pulse, monkeypatch)
    assert (result.verdict, plays, result.late) == (verdict, number, False)


@pytest.mark.parametrize(
    ("api", "seconds", "error", "number"),
    [
        ("Heartbeat", 2 * SLOW, "", 2),
        ("Heartbeat", SLOW / 2, "", 1),
        ("Heartbeat", 2 * SLOW, None, 1),
        ("JoinGroup", 2 * SLOW, "NONE", 1),
        ("JoinGroup", 2 * SLOW, "MEMBER_ID_REQUIRED", 2),
        ("JoinGroup", 2 * SLOW, None, 1),
        ("SyncGroup", 2 * SLOW, "NONE", 1),
    ],
)
def test_so_is_what_deviates_where_the_target_had_no_time(
    api: str, seconds: float, error: str | None, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that takes long for a heartbeat may have frozen, whereas a JoinGroup waits for others."""
    result, plays = played(1, AtEase, monkeypatch, (api, seconds, error))
    assert (result.verdict, plays) == (Verdict.FAIL if number == 1 else Verdict.PASS, number)


def test_it_is_looked_at_again_when_most_others_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is mostly made so by the run itself: at once there would be as little time again."""
    monkeypatch.setattr(runner, "Pulse", AtEase)
    lock, playing, beside = threading.Lock(), 0, list[int]()

    def play(d: Dialogue) -> None:
        nonlocal playing
        with lock:
            playing += 1
        d.wait(0.3)
        with lock:
            others, playing = playing - 1, playing - 1
        beside.append(others)
        if others >= 64 // runner.FRESH:
            d.waits.note("Heartbeat", 0.0, 2 * SLOW, "")
            raise Deviation("an early answer", "a late one")

    cases = [replace(case, play=play, needs={}) for case in select(all_cases(), ["heartbeat"])[:40]]
    with closing(parse_target("rota")) as target:
        verdicts = {result.verdict for result in play_all(cases, target, Options(seed=1), {})}
    assert verdicts == {Verdict.PASS}
    assert len(beside) > len(cases), "some were played again"


@pytest.mark.parametrize(
    ("pulse", "fresh", "verdict", "number"),
    [
        (Overloaded, True, Verdict.PASS, 3),
        (AtEase, True, Verdict.FAIL, 2),
        (AtEase, False, Verdict.FAIL, 4),
    ],
)
def test_where_nobody_has_time_no_target_is_hurried(
    pulse: type[Pulse], fresh: bool, verdict: Verdict, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is right and late passes there, when it comes again for the second time; elsewhere it fails, at
    once where the target has nobody else to answer.
    """
    plays: list[Dialogue] = []

    def play(d: Dialogue) -> None:
        plays.append(d)
        d.expect(d.member("a").join(within=0.1), error="NONE")

    monkeypatch.setattr(runner, "Pulse", pulse)
    (case,) = select(all_cases(), ["heartbeat.alive.stable"])
    with closing(parse_target("rota")) as target:
        slow = replace(case, play=play, needs={"JoinGroup": (3, 3)}, initial_delay_ms=500)
        (result,) = play_all([slow], replace(target, fresh=fresh), Options(seed=1), {})
    assert (result.verdict, len(plays)) == (verdict, number)


def test_only_a_few_targets_start_at_a_time() -> None:
    """Starting is computing, and those that wait for an answer meanwhile would wait for that."""
    lock, starting, at_most = threading.Lock(), 0, 0

    def start(settings: Mapping[str, int]) -> Running:
        nonlocal starting, at_most
        with lock:
            starting += 1
            at_most = max(at_most, starting)
        time.sleep(0.05)
        with lock:
            starting -= 1
        return Embedded(settings)

    cases = [replace(case, play=lambda d: None) for case in select(all_cases(), ["heartbeat"])[:40]]
    with closing(parse_target("rota")) as target:
        over = list(play_all(cases, replace(target, start=start), Options(seed=1), {}))
    assert len(over) == len(cases)
    assert at_most == runner.AT_ONCE


JOIN_GROUP = 11


@pytest.mark.parametrize(("overtaken", "ending"), [(1, Ending.FINISHED), (9, Ending.SETUP_FAILED)])
def test_a_newcomer_that_the_leader_overtakes_is_no_failure_of_the_target(
    overtaken: int, ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In so many plays its JoinGroup, which was sent first, is there after the leader's next one.

    It is static: for one who has an id and has not come yet the others wait.
    """
    monkeypatch.setattr(runner, "Pulse", AtEase)
    starts: list[Relayed] = []

    def start(settings: Mapping[str, int]) -> Relayed:
        joins = count(1)
        late = 0.6 if len(starts) < overtaken else 0.0

        def delay(api_key: int) -> float:
            newcomers = api_key == JOIN_GROUP and next(joins) == 3  # two are the leader's
            return late if newcomers else 0.0

        starts.append(Relayed(settings, delay))
        return starts[-1]

    newest = {"JoinGroup": (9, 9), "SyncGroup": (5, 5)}
    (case,) = select(all_cases(), ["heartbeat.alive.stable"])
    script = replace(
        case,
        play=lambda d: (lead(d, d.member("a"), d.member("b", group_instance_id="two")), None)[1],
        needs=newest,
    )
    slow = Target("slow", start, fresh=True, parallel=1, settable=True)
    ((_, result),) = perform([script], slow, Options(seed=1, patience=2.0), {})
    assert (result.ending, result.late) == (ending, False)
    assert len(starts) >= 2


@pytest.mark.parametrize(
    ("deviates", "level", "known", "verdict", "number"),
    [
        (1, Level.MUST, False, Verdict.PASS, 2),
        (2, Level.MUST, False, Verdict.FAIL, 2),
        (1, Level.INFO, False, Verdict.NOTED, 1),
        (1, Level.MUST, True, Verdict.FAIL, 1),
    ],
)
def test_what_fails_among_many_on_one_target_is_looked_at_among_few(
    deviates: int, level: Level, known: bool, verdict: Verdict, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests on different connections overtake each other there; that it failed once is said."""
    plays: list[Dialogue] = []

    def play(d: Dialogue) -> None:
        plays.append(d)
        if len(plays) <= deviates:
            raise Deviation("one thing", "another")

    monkeypatch.setattr(runner, "Pulse", AtEase)
    (case,) = select(all_cases(), ["heartbeat.alive.stable"])
    case = replace(case, play=play, level=level)
    options = Options(seed=1, known={case.id: KnownFailure(case.id)} if known else {})
    with (
        running({"group.initial.rebalance.delay.ms": 100}) as address,
        closing(parse_target(address)) as target,
    ):
        (result,) = play_all([case], target, options, {})
    assert (result.deviation, len(plays)) == (verdict, number)
    told = "failed when it was played with many others at a time: expected one thing, got another"
    assert result.because == (told if verdict is Verdict.PASS else "")
    seen = "".join(_failed_at_first([result]))
    assert (case.id in seen) == (verdict is Verdict.PASS)


def test_where_much_fails_it_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "Pulse", AtEase)
    monkeypatch.setattr(runner, "DOUBTS", 3)
    plays: Counter[str] = Counter()

    def deviate(d: Dialogue) -> None:
        plays[d.group_id.partition("-again")[0]] += 1
        raise Deviation("one thing", "another")

    cases = [replace(case, play=deviate, level=Level.MUST) for case in select(all_cases(), ["heartbeat"])[:8]]
    with (
        running({"group.initial.rebalance.delay.ms": 100}) as address,
        closing(parse_target(address)) as target,
    ):
        verdicts = [result.verdict for result in play_all(cases, target, Options(seed=1), {})]
    assert verdicts == [Verdict.FAIL] * len(cases)
    assert sorted(plays.values()) == [1] * 5 + [2] * 3


def test_a_restart_that_comes_after_the_initial_delay_is_held_against_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first JoinGroup is answered by then: it does not wait any more when another takes its place."""
    wait = Dialogue.wait
    monkeypatch.setattr(Dialogue, "wait", lambda d, seconds: wait(d, seconds + d.initial_delay))
    monkeypatch.setattr(runner, "Pulse", AtEase)
    (case,) = select(all_cases(), ["static.replaced.waiting-join-fenced"])
    with closing(parse_target("rota")) as target:
        (result,) = play_all([replace(case, initial_delay_ms=200)], target, Options(seed=1), {})
    assert (result.verdict, result.late) == (Verdict.UNDECIDED, True)
