"""A target that dies: who ended it is found out, nobody else is blamed, and its last words are told."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from tests.conformance.polite import UNKNOWN_MEMBER_ID, Polite, script

from rota.conformance import aftermath, rounds
from rota.conformance.aftermath import Aftermath, is_odd
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Script
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import DialogueResult, Ending
from rota.conformance.rounds import Gone
from rota.conformance.runner import Options, perform
from rota.conformance.targets.process import Process, Started, last_words
from rota.conformance.targets.target import Running, Target

PARALLEL = 4
INNOCENT = tuple(f"test.innocent.{number}" for number in range(3))
KILLER, LATER = "test.killer.leaves", "test.innocent.later"


class Mortal:
    """A target that dialogues share and that the LeaveGroup of a killer ends.

    comes_back: it is started again. late: seconds from the killer's answer to the first death.
    always: it dies not only the first time.
    """

    def __init__(self, comes_back: bool = True, late: float = 0.0, always: bool = True) -> None:
        self._comes_back = comes_back
        self._late = late
        self._always = always
        self._lock = threading.Lock()
        self._server = self._started()
        self._starts = 1
        self._first = self._server
        self._met = threading.Semaphore(0)

    def start(self, _settings: Any) -> Running:
        with self._lock:
            if self._server.dead.is_set() and self._comes_back:
                self._server = self._started()
                self._starts += 1
            return self._server

    def target(self, parallel: int = PARALLEL) -> Target:
        return Target("mortal", self.start, fresh=False, parallel=parallel, known={INITIAL_DELAY: 0})

    def lives(self, d: Dialogue) -> None:
        """Somebody who does no harm, and is there when the target dies for the first time."""
        self._met.release()
        while not self._first.dead.is_set():
            d.wait(0.05)
            d.expect(d.member("a").heartbeat(), error="UNKNOWN_MEMBER_ID")

    def kills(self, d: Dialogue) -> None:
        """Ends the target once all others are there."""
        for _ in INNOCENT if self._server is self._first else ():
            self._met.acquire()
        d.member("a").leave("killer")

    def alone(self, d: Dialogue) -> None:
        """Ends the target without waiting for anybody."""
        d.member("a").leave("killer")

    def _started(self) -> Polite:
        return Polite({"LeaveGroup": self._leave})

    def _leave(self, request: Any) -> dict[str, Any] | None:
        body = request.body
        leaving = body["members"][0]["member_id"] if request.version >= 3 else body["member_id"]
        if leaving != "killer" or (self._starts > 1 and not self._always):
            return {"error_code": UNKNOWN_MEMBER_ID}
        late = self._late if self._starts == 1 else 0.0
        self._server.die(late)
        return {"error_code": UNKNOWN_MEMBER_ID} if late else None


def scripts(mortal: Mortal) -> list[Script]:
    """Three who do no harm, and one who does."""
    innocent = [script(mortal.lives, name, seconds=2.0) for name in INNOCENT]
    return [*innocent, script(mortal.kills, KILLER, seconds=2.0)]


def later(d: Dialogue) -> None:
    d.expect(d.member("a").heartbeat(), error="UNKNOWN_MEMBER_ID")


def outcomes(target: Target, scripts: Sequence[Script]) -> tuple[dict[str, DialogueResult], str]:
    """What became of each, and why it was cut short if it was."""
    found: dict[str, DialogueResult] = {}
    try:
        for one, result in perform(scripts, target, Options(seed=1, patience=1.0), {}):
            found[one.id] = result
    except Gone as gone:
        return found, str(gone)
    return found, ""


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_only_the_culprit_died(late: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where death comes late, the culprit is over by then."""
    monkeypatch.setattr(aftermath, "LINGER", 0.1)
    mortal = Mortal(late=late)
    found, cut = outcomes(mortal.target(), [*scripts(mortal), script(later, LATER)])
    assert cut == ""
    wanted = {**dict.fromkeys((*INNOCENT, LATER), Ending.FINISHED), KILLER: Ending.DIED}
    assert {name: result.ending for name, result in found.items()} == wanted


def test_a_death_that_nobody_causes_alone_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aftermath, "LINGER", 0.1)
    mortal = Mortal(always=False)
    found, cut = outcomes(mortal.target(), scripts(mortal))
    assert cut == ""
    assert sorted(result.ending for result in found.values()) == [*[Ending.FINISHED] * 3, Ending.UNDECIDED]
    (told,) = {result.because for result in found.values()} - {""}
    assert told == "it is no more, while 4 dialogues were played on it; alone none of them ends it"


def test_what_nobody_starts_again_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "COMES_BACK", 0.2)
    mortal = Mortal(comes_back=False)
    found, cut = outcomes(mortal.target(), [*scripts(mortal), script(later, LATER)])
    assert cut == "the target died, and nobody started it again: it is no more"
    endings = {name: result.ending for name, result in found.items()}
    assert endings == dict.fromkeys((*INNOCENT, KILLER), Ending.UNDECIDED)
    told = "the target died while 4 dialogues were played on it; play them one at a time to see which ends it"
    assert {result.because for result in found.values()} == {told}


def test_who_was_alone_is_the_culprit_and_the_rest_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "COMES_BACK", 0.2)
    mortal = Mortal(comes_back=False)
    both = [script(mortal.alone, KILLER, seconds=2.0), script(later, LATER)]
    found, cut = outcomes(mortal.target(parallel=1), both)
    assert {name: result.ending for name, result in found.items()} == {KILLER: Ending.DIED}
    assert cut.startswith("the target died, and nobody")


class Dying(Process):
    """A process that is dead when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.stopped = False

    def post_mortem(self, grace: float) -> str | None:
        self.looks -= 1
        return "the process ended with signal SIGABRT" if self.looks < 0 else None

    def stop(self) -> None:
        self.stopped = True


REFUSED = Line(1.0, "a", "←", "JoinGroup  INCONSISTENT_GROUP_PROTOCOL  generation -1")
EVERYDAY = (
    Line(0.0, "a", "→", "JoinGroup v9"),
    Line(1.0, "a", "←", "JoinGroup  MEMBER_ID_REQUIRED  generation -1"),
    Line(2.0, "a", "→", "Heartbeat v4"),
    Line(3.0, "a", "←", "Heartbeat  REBALANCE_IN_PROGRESS"),
)


@pytest.mark.parametrize(
    ("lines", "odd"),
    [
        (EVERYDAY, False),
        ((*EVERYDAY, Line(4.0, "a", "→", "JoinGroup v9"), REFUSED), True),
        ((*EVERYDAY, Line(4.0, "a", "→", "JoinGroup v9")), True),
        ((EVERYDAY[0], Line(1.0, "a", "←", "LeaveGroup  NONE  members [@a: UNKNOWN_MEMBER_ID]")), True),
    ],
    ids=["everyday", "refused", "not answered", "refused within"],
)
def test_what_is_odd(lines: Sequence[Line], odd: bool) -> None:
    assert is_odd(lines) is odd


def result_of(*lines: Line) -> DialogueResult:
    return DialogueResult(ending=Ending.DEVIATED, expected="this", actual="that", lines=lines)


def test_a_process_that_dies_when_its_dialogue_is_over_has_died() -> None:
    watching, process = Aftermath(1, threading.Event()), Dying(looks=3)
    result = watching.watch(Started(process, ("127.0.0.1", 1)), result_of(REFUSED)).result()
    watching.close()
    assert (result.ending, result.expected) == (Ending.DIED, "this")
    assert result.actual.startswith("the process ended with signal SIGABRT")
    assert process.stopped


def test_after_an_everyday_dialogue_nobody_waits() -> None:
    watching, process = Aftermath(1, threading.Event()), Dying(looks=1000)
    future = watching.watch(Started(process, ("127.0.0.1", 1)), result_of(*EVERYDAY))
    assert future.done()
    assert (process.looks, process.stopped) == (1000, True)
    watching.close()


def test_the_next_dialogue_is_played_meanwhile() -> None:
    """The process outlives it, for as long as it is watched; only `stop` ends that here."""
    stop = threading.Event()
    watching, process = Aftermath(2, stop), Dying(looks=10**9)
    future = watching.watch(Started(process, ("127.0.0.1", 1)), result_of(REFUSED))
    assert not process.stopped
    stop.set()
    watching.close()
    assert (future.result().ending, process.stopped) == (Ending.DEVIATED, True)


CRASHES = {
    "logged by Java": (
        "fatal error during startup\nCaused by: java.net.BindException: Address already in use\n"
        "\tat java.base/sun.nio.ch.Net.bind0(Native Method)\n\t... 17 more\n",
        "Caused by: java.net.BindException: Address already in use",
    ),
    "go": (
        "listening on 9092\npanic: runtime error: index out of range [0] with length 0\n\n"
        "goroutine 25 [running]:\nmain.main()\n\t/src/main.go:7 +0x1d\nexit status 2\n",
        "panic: runtime error: index out of range [0] with length 0",
    ),
    "go, fatal": (
        "fatal error: concurrent map writes\n\ngoroutine 7 [running]:\n",
        "fatal error: concurrent map writes",
    ),
    "rust": (
        "thread 'main' panicked at src/group.rs:41:9:\ncalled `Option::unwrap()` on a `None` value\n"
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
        "thread 'main' panicked at src/group.rs:41:9: called `Option::unwrap()` on a `None` value",
    ),
    "rust, older": (
        "thread 'tokio-runtime-worker' panicked at 'index out of bounds', src/a.rs:1:2\nnote: run with\n",
        "thread 'tokio-runtime-worker' panicked at 'index out of bounds', src/a.rs:1:2",
    ),
    "java": (
        'Exception in thread "main" java.lang.NullPointerException: group\n\tat A.b(A.java:7)\n'
        "\tat A.main(A.java:3)\n",
        'Exception in thread "main" java.lang.NullPointerException: group',
    ),
    "java, memory": (
        "[1.2s] up\nTerminating due to java.lang.OutOfMemoryError: Java heap space\nbye\n",
        "Terminating due to java.lang.OutOfMemoryError: Java heap space",
    ),
    "c": (
        "mock: cgrp.c:88: elect: Assertion `best' failed.\nAborted (core dumped)\n",
        "mock: cgrp.c:88: elect: Assertion `best' failed.",
    ),
    "something else": ("one\ntwo\n\n", "two"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("text", CRASHES)
def test_last_words_are_those_that_name_the_crash(text: str) -> None:
    written, told = CRASHES[text]
    assert last_words(written) == told
