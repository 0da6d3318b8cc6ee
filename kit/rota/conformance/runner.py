"""Plays cases against a target, several at a time, and turns what happened into verdicts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import TypeVar

from rota.conformance.aftermath import Aftermath, outlived, stopped
from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.detours import around
from rota.conformance.dialogues.failures import (
    Deviation,
    Interrupted,
    Undecidable,
)
from rota.conformance.dialogues.negotiation import GROUP_APIS, Unreadable
from rota.conformance.dialogues.script import Case, Level, Script
from rota.conformance.dialogues.unreadable_versions import unreadable_versions
from rota.conformance.dialogues.ways import USUAL, Way
from rota.conformance.order import in_order
from rota.conformance.play import Play
from rota.conformance.pulse import Pulse
from rota.conformance.results import (
    DECIDED,
    DEVIATION_VERDICT,
    DOUBTFUL,
    NOT_DECIDED,
    CaseResult,
    DialogueResult,
    Ending,
    KnownFailure,
    NotChecked,
    Verdict,
    passing_though_known,
)
from rota.conformance.rounds import Gone, Round, sort_out
from rota.conformance.skipped import skipped
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import NotSettable, Running, Target

SLOW_SECONDS = 60.0
"""Cases that take longer are played only when asked for."""

PLAYS = 3
"""How often a dialogue that was out of time is played again; a machine is rarely that busy for long."""

BUSY_SECONDS = 10.0
"""So long a machine counts as busy on which nobody had time."""

DOUBTS = 20
"""Failures on a target that many use at a time which are looked at again; one that fails more often fails."""

FRESH, MANY = 8, 16
"""Where dialogues were out of time, this many times fewer are played at a time than before: on targets of
their own, and on one that they share."""

AT_ONCE = 2 * (os.cpu_count() or 1)
"""So many targets start at once, where each dialogue has its own: starting is computing, and a hundred
together would keep those from their turn that have begun."""

S = TypeVar("S", bound=Script)

_Over = tuple[Running | None, DialogueResult]
"""A dialogue that is over, and what was started for it and still runs."""

_VERDICTS = {
    Ending.FINISHED: Verdict.PASS,
    Ending.MALFORMED: Verdict.FAIL,
    Ending.DIED: Verdict.DIED,
    Ending.SETUP_FAILED: Verdict.UNDECIDED,
    Ending.UNSUPPORTED: Verdict.UNSUPPORTED,
    Ending.UNDECIDED: Verdict.UNDECIDED,
}
"""What an ending says about the rule of a case; what a deviation does depends on the level."""


@dataclass(frozen=True)
class Options:
    """How to play: `seed` orders the cases and names the groups, `patience` is in seconds.

    `known` is what is known of cases, by id. Setting `stop` interrupts.
    """

    seed: int
    patience: float = 10.0
    slow: bool = False
    known: Mapping[str, KnownFailure] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event, compare=False)


@dataclass(frozen=True)
class Watch:
    """Who is told how a run goes: what begins and what is over, from any thread, and that time passes."""

    begun: Callable[[Script], None] = lambda script: None
    over: Callable[[Script], None] = lambda script: None
    waiting: Callable[[], None] = lambda: None


NOBODY = Watch()


def divide(scripts: Iterable[S], target: Target, options: Options) -> tuple[list[S], list[NotChecked]]:
    """The dialogues that can be played on this target, and the others with the reason."""
    playable: list[S] = []
    skipped: list[NotChecked] = []
    for script in scripts:
        if script.seconds > SLOW_SECONDS and not options.slow:
            skipped.append(NotChecked(script, f"takes {script.seconds:g} s; add --slow"))
        elif lack := target.lack(script):
            skipped.append(NotChecked(script, lack))
        else:
            playable.append(script)
    return playable, skipped


def find_unreadable(target: Target, patience: float) -> Unreadable:
    """The versions that the target advertises but cannot read; none where it cannot even be asked."""
    try:
        running = target.start({})
    except NotStarted:
        return {}
    try:
        return unreadable_versions(running.address, patience, (*GROUP_APIS, "Metadata"))
    except (Undecidable, Deviation, Closed, Garbage, NotListening):
        return {}  # whatever is wrong here, every case meets it and gives it a verdict
    finally:
        running.stop()


def play_all(
    cases: Sequence[Case], target: Target, options: Options, unreadable: Unreadable, watch: Watch = NOBODY
) -> Iterator[CaseResult]:
    """The verdicts, each when it is there; see `perform`.

    Cases that did not get to their rule since another one is broken come last: by then it is known whether
    that one has a case which says so.
    """
    judged: list[CaseResult] = []
    waiting: list[CaseResult] = []
    try:
        for case, result in perform(cases, target, options, unreadable, watch):
            one = judge(case, result, options)
            if one.deviation is Verdict.UNDECIDED and one.prerequisite:
                waiting.append(one)
            else:
                judged.append(one)
                yield one
    except (KeyboardInterrupt, Gone):
        yield from skipped(waiting, judged)
        raise
    yield from skipped(waiting, judged)


def judge(case: Case, result: DialogueResult, options: Options) -> CaseResult:
    """The verdict on a case, by how its dialogue ended and by the level of its rule.

    A set-up that fails since the rule of the case itself is broken is a deviation from it.
    """
    verdict = _VERDICTS.get(result.ending, DEVIATION_VERDICT[case.level])
    if result.ending is Ending.SETUP_FAILED and result.prerequisite == case.rule:
        verdict = DEVIATION_VERDICT[case.level]
    outcome_fields = {field.name: getattr(result, field.name) for field in fields(DialogueResult)}
    return CaseResult(case=case, deviation=verdict, known=options.known.get(case.id), **outcome_fields)


def perform(
    scripts: Sequence[S],
    target: Target,
    options: Options,
    unreadable: Unreadable,
    watch: Watch = NOBODY,
) -> Iterator[tuple[S, DialogueResult]]:
    """The results, each as soon as it is there.

    They begin as `in_order` says. What was out of time, with that many others at a time, is played again when
    these are over, with few, and so is what fails on a target that otherwise does what it should. Once
    `options.stop` is set, what was over already is given, and KeyboardInterrupt raised. Where a target dies
    that dialogues share, see `rounds`; what was over and is found out afterwards is given twice.
    Errors: Gone, when all is given that there is.
    """
    nonce = "" if target.fresh else f"-{os.urandom(4).hex()}"
    aftermath = Aftermath(2 * target.parallel, options.stop)
    starting = threading.Semaphore(AT_ONCE if target.fresh else target.parallel)
    player = _Player(target, options, unreadable, aftermath, Pulse(), watch, starting)
    fewer = target.parallel // (FRESH if target.fresh else MANY)
    few = replace(target, parallel=max(fewer, min(target.parallel, 4)))
    postponed: dict[str, tuple[S, DialogueResult]] = {}

    def group(script: S, more: str = "") -> str:
        return f"rota-{options.seed}{nonce}-{script.id}{more}"

    def alone(script: S) -> DialogueResult:
        try:
            return player.alone(script, group(script, "-alone"))
        except Interrupted:
            raise KeyboardInterrupt from None

    def rounds(
        left: Sequence[S], among: Target, play: Callable[[S], Future[DialogueResult]]
    ) -> Iterator[tuple[S, DialogueResult]]:
        while left:
            present = Round(left, among, play, options.stop, watch.waiting)
            yield from present.over()
            if present.suspects:
                yield from sort_out(present, target, alone)
            left = present.left

    try:
        ordered = in_order(scripts, target, options.seed)
        for script, result in rounds(ordered, target, lambda script: player.play(script, group(script))):
            if result.late or (len(postponed) < DOUBTS and _is_doubtful(script, result, target, options)):
                postponed[script.id] = script, result
            else:
                yield script, result
        again = [script for script, _ in postponed.values()]
        for script, result in rounds(
            again, few, lambda script: player.again(script, group(script, "-again"))
        ):
            _, before = postponed.pop(script.id, (script, result))
            yield script, _with_what_was_before(result, before)
    except (KeyboardInterrupt, Gone):
        yield from ((script, _settled(result)) for script, result in postponed.values())
        raise
    finally:
        aftermath.close()
        player.pulse.close()


def _is_doubtful(script: Script, result: DialogueResult, target: Target, options: Options) -> bool:
    """Whether it failed where many are played on one target, of which nothing of the kind is known."""
    expected = not isinstance(script, Case) or script.level is Level.INFO or script.id in options.known
    return result.ending in DOUBTFUL and not target.fresh and not expected


def _with_what_was_before(result: DialogueResult, before: DialogueResult) -> DialogueResult:
    """What passes among few and deviated among many says so."""
    if result.ending is not Ending.FINISHED or before.late or before.ending not in DOUBTFUL:
        return result
    seen = before.because or f"expected {before.expected}, got {before.actual}"
    return replace(result, because=f"failed when it was played with many others at a time: {seen}")


def _settled(result: DialogueResult) -> DialogueResult:
    """What is said in the end of one that was out of time: what deviated each time has deviated."""
    return replace(result, late=result.late and result.ending is Ending.UNDECIDED)


@dataclass(frozen=True)
class _Player:
    """Plays dialogues for a run."""

    target: Target
    options: Options
    unreadable: Unreadable
    aftermath: Aftermath
    pulse: Pulse
    watch: Watch
    starting: threading.Semaphore

    def play(self, script: Script, group_id: str) -> Future[DialogueResult]:
        """Play one dialogue, in groups of that name or longer ones; the result may come seconds later.

        It is played in other ways where its set-up fails, but not where it was out of time: `late` says so.
        """
        return self._watched(script, lambda: self._somehow(script, group_id, once=True))

    def again(self, script: Script, group_id: str) -> Future[DialogueResult]:
        """As `play`, again and again where it is out of time."""
        return self._watched(script, lambda: self._somehow(script, group_id))

    def _watched(self, script: Script, play: Callable[[], _Over]) -> Future[DialogueResult]:
        self.watch.begun(script)
        try:
            running, result = play()
        finally:
            self.watch.over(script)
        return self.aftermath.watch(running, result)

    def alone(self, script: Script, group_id: str) -> DialogueResult:
        """Play one dialogue, and see whether the target outlives it."""
        self.watch.begun(script)
        try:
            running, result = self._somehow(script, group_id)
            if running is not None and result.ending is not Ending.DIED:
                result = outlived(running, result, time.monotonic(), self.options.stop)
            return stopped(running, result)
        finally:
            self.watch.over(script)

    def _somehow(self, script: Script, group_id: str, once: bool = False) -> _Over:
        numbers = count(1)

        def name() -> str:
            number = next(numbers)
            return group_id if number == 1 else f"{group_id}-{number}"

        usual = self._once(script, name(), USUAL) if once else self._in_time(script, name, USUAL, apart=True)
        if once and usual[1].late:
            return usual
        failed, tried = usual[1], []
        for way in around(script, failed):
            if self.options.stop.is_set():
                break
            other = self._in_time(script, name, way, apart=not once)
            helped = other[1].ending in DECIDED and not other[1].late
            stopped(*(usual if helped else other))
            if helped:
                return other
            tried.append(way.name)
        because = failed.because + "".join(f"; nor {name}" for name in tried)
        return usual[0], replace(failed, because=because)

    def _in_time(self, script: Script, name: Callable[[], str], way: Way, apart: bool) -> _Over:
        """Again where the kit is late, or the target right but late, or nobody had time: a busy machine.

        Where it has been that just now, no target is hurried. apart: it is played with few others; then a
        target of its own that is late while the machine has time is so by itself.
        """
        began, hurried = time.monotonic(), True
        for plays in count(1):
            running, result = self._once(script, name(), way, hurried)
            by_itself = apart and self.target.fresh and not self.pulse.missed(began)
            if not result.late or by_itself or plays == PLAYS or self.options.stop.is_set():
                break
            stopped(running, result)
            began = time.monotonic()
            hurried = not self.pulse.missed(began - BUSY_SECONDS)
        return running, _settled(result)

    def _once(self, script: Script, group_id: str, way: Way, hurried: bool = True) -> _Over:
        """The result on a target that is started for it; it runs on unless others wait to restart it."""
        try:
            with self.starting:
                running = self.target.start_for(script)
        except NotSettable as error:
            return None, DialogueResult(ending=Ending.UNSUPPORTED, because=str(error))
        except NotStarted as error:
            return None, DialogueResult(ending=Ending.UNDECIDED, because=f"the target did not start: {error}")
        began = time.monotonic()
        played = Play(script, running, self.target, self.options.patience, self.options.stop, way, hurried)
        try:
            result = played.result(group_id, self.unreadable)
        except BaseException:
            running.stop()
            raise
        late = result.late or (result.ending in DOUBTFUL and self.pulse.missed(began))
        result = replace(result, group_id=group_id, seconds=time.monotonic() - began, late=late)
        return (running, result) if script.restarts is None else (None, stopped(running, result))


def exit_code(results: Sequence[CaseResult], strict: bool = False) -> int:
    """1 if a MUST case failed or any died; 3 if any is undecided or skipped, or none was judged; else 0.

    5 for no results. `strict`: 1 also where a case passes that is known to fail.
    """
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts or Verdict.DIED in verdicts:
        return 1
    if strict and passing_though_known(results):
        return 1
    if not verdicts:
        return 5
    return 3 if verdicts.intersection(NOT_DECIDED) or verdicts == {Verdict.UNSUPPORTED} else 0
