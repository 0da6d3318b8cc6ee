"""Plays cases against a target, several at a time, and turns what happened into verdicts."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar, cast

from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.connections.error_codes import with_codes
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.failures import Deviation, Interrupted, Late, SetupFailed, Undecidable
from rota.conformance.dialogues.negotiation import Unreadable, Unsupported, open_with
from rota.conformance.dialogues.script import Case, Script
from rota.conformance.dialogues.transcript import printable
from rota.conformance.dialogues.unreadable_versions import unreadable_versions
from rota.conformance.restarts import Restarts
from rota.conformance.results import (
    DEVIATION_VERDICT,
    CaseResult,
    DialogueResult,
    Ending,
    KnownFailure,
    NotChecked,
    Verdict,
)
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import NotSettable, Restartable, Running, Target

SLOW_SECONDS = 60.0
"""Cases that take longer are played only when asked for."""

PLAYS = 3
"""How often a dialogue is played in which the kit is late; a machine is rarely that busy for long."""

S = TypeVar("S", bound=Script)

TICK = 0.2
"""Seconds after which whoever waits for a result looks around."""

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
        return unreadable_versions(running.address, patience)
    except (Undecidable, Deviation, Closed, Garbage, NotListening):
        return {}  # whatever is wrong here, every case meets it and gives it a verdict
    finally:
        running.stop()


def play_all(
    cases: Sequence[Case], target: Target, options: Options, unreadable: Unreadable, watch: Watch = NOBODY
) -> Iterator[CaseResult]:
    """The verdicts, each when it is there; see `perform`."""
    for case, result in perform(cases, target, options, unreadable, watch):
        yield judge(case, result, options)


def judge(case: Case, result: DialogueResult, options: Options) -> CaseResult:
    """The verdict on a case, by how its dialogue ended and by the level of its rule."""
    verdict = _VERDICTS.get(result.ending, DEVIATION_VERDICT[case.level])
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

    The longest begin first, equals in an order drawn from the seed. Once `options.stop` is set, what was over
    already is given, and KeyboardInterrupt raised.
    """
    nonce = "" if target.fresh else f"-{os.urandom(4).hex()}"
    begun = list(scripts)
    random.Random(options.seed).shuffle(begun)
    begun.sort(key=lambda script: -script.seconds)
    pool = ThreadPoolExecutor(max_workers=target.parallel, thread_name_prefix="conform")

    def played(script: S) -> DialogueResult | None:
        watch.begun(script)
        try:
            group_id = f"rota-{options.seed}{nonce}-{script.id}"
            return play(script, target, options, unreadable, group_id)
        except Interrupted:
            return None
        finally:
            watch.over(script)

    plays = [(script, pool.submit(played, script)) for script in begun]
    given: set[str] = set()

    def those_over() -> Iterator[tuple[S, DialogueResult]]:
        for script, future in plays:
            if script.id not in given and future.done() and not future.cancelled():
                given.add(script.id)
                if (result := future.result()) is not None:
                    yield script, result

    try:
        while len(given) < len(plays) and not options.stop.is_set():
            wait([future for script, future in plays if script.id not in given], TICK, FIRST_COMPLETED)
            watch.waiting()
            yield from those_over()
    finally:
        if len(given) < len(plays):
            options.stop.set()  # whoever listens was interrupted between two results
        pool.shutdown(wait=True, cancel_futures=True)
    yield from those_over()
    if any(future.cancelled() or future.result() is None for _, future in plays):
        raise KeyboardInterrupt


def play(
    script: Script, target: Target, options: Options, unreadable: Unreadable, group_id: str
) -> DialogueResult:
    """Play one dialogue, in groups of that name or longer ones; again where the kit itself is late in it."""
    for number in range(1, PLAYS + 1):
        name = group_id if number == 1 else f"{group_id}-{number}"
        result = _play_once(script, target, options, unreadable, name)
        if not result.late or options.stop.is_set():
            break
    return result


def _play_once(
    script: Script, target: Target, options: Options, unreadable: Unreadable, group_id: str
) -> DialogueResult:
    """The result on a target that is started for it, if it can be started."""
    settings = target.settings_for(script)
    try:
        running = target.start_for(script)
    except NotSettable as error:
        return DialogueResult(ending=Ending.UNSUPPORTED, because=str(error))
    except NotStarted as error:
        return DialogueResult(ending=Ending.UNDECIDED, because=f"the target did not start: {error}")
    began = time.monotonic()
    played = _Play(script, running, settings[INITIAL_DELAY] / 1000, options)
    try:
        result = played.result(group_id, unreadable)
    finally:
        running.stop()
    return replace(result, group_id=group_id, seconds=time.monotonic() - began)


class _Play:
    """One dialogue on one running target, from the opening to its end."""

    def __init__(self, script: Script, running: Running, initial_delay: float, options: Options) -> None:
        self._script = script
        self._running = running
        self._initial_delay = initial_delay
        self._patience = options.patience + initial_delay
        self._stop = options.stop
        self._dialogue: Dialogue | None = None

    def result(self, group_id: str, unreadable: Unreadable) -> DialogueResult:
        try:
            ended = self._ended(lambda: self._play(group_id, unreadable))
        finally:
            if self._dialogue is not None:
                self._dialogue.close()
        dialogue = self._dialogue
        if dialogue is None:
            return ended
        transcript = dialogue.transcript
        return replace(
            ended,
            expected=printable(with_codes(ended.expected)),
            actual=printable(with_codes(ended.actual)),
            because=printable(with_codes(ended.because)),
            lines=tuple(transcript.lines),
            folds=tuple(transcript.folds),
            names=dict(transcript.names),
            roles=dict(transcript.roles),
            generation=transcript.generation,
            versions=dict(dialogue.versions),
        )

    def _play(self, group_id: str, unreadable: Unreadable) -> None:
        def opened() -> tuple[tuple[str, int], dict[str, int]]:
            return open_with(
                self._script, self._running.address, group_id, unreadable, self._patience, self._stop
            )

        address, versions = opened()
        self._dialogue = Dialogue(
            address, group_id, versions, self._initial_delay, self._patience, self._stop
        )
        if self._script.restarts is not None:
            running = cast("Restartable", self._running)  # it was started for this dialogue
            self._dialogue.operator = Restarts(self._script, running, lambda: opened()[0], self._stop)
        self._script.play(self._dialogue)

    def _ended(self, play: Callable[[], None]) -> DialogueResult:
        try:
            play()
        except Deviation as deviation:
            return self._unless_dead(_deviated(deviation.expected, deviation.actual))
        except Garbage as garbage:
            wanted = "a well-formed answer to what was asked"
            return self._unless_dead(
                DialogueResult(ending=Ending.MALFORMED, expected=wanted, actual=str(garbage))
            )
        except Closed as closed:
            broken = _deviated("an answer", f"the target closed the connection ({closed})")
            return self._unless_dead(broken, grace=1.5)
        except SetupFailed as failed:
            return self._unless_dead(
                DialogueResult(
                    ending=Ending.SETUP_FAILED,
                    expected=failed.expected,
                    actual=failed.actual,
                    because=str(failed),
                )
            )
        except Unsupported as unsupported:
            return DialogueResult(ending=Ending.UNSUPPORTED, because=str(unsupported))
        except (Undecidable, NotListening) as unknown:
            late = isinstance(unknown, Late)
            return self._unless_dead(DialogueResult(ending=Ending.UNDECIDED, because=str(unknown), late=late))
        return self._unless_dead(DialogueResult(ending=Ending.FINISHED), grace=0.0)

    def _unless_dead(self, otherwise: DialogueResult, grace: float = 0.2) -> DialogueResult:
        """The ending `died` if the target is no more, else the one given."""
        obituary = self._running.post_mortem(grace)
        if obituary is None:
            return otherwise
        expected = otherwise.expected or "a target that goes on"
        return replace(otherwise, ending=Ending.DIED, late=False, expected=expected, actual=obituary)


def _deviated(expected: str, actual: str) -> DialogueResult:
    return DialogueResult(ending=Ending.DEVIATED, expected=expected, actual=actual)


def exit_code(results: Sequence[CaseResult], strict: bool = False) -> int:
    """1 if a MUST case failed or any died; 3 if any is undecided, or none was judged at all; else 0.

    5 for no results. `strict`: 1 also where a case passes that is known to fail.
    """
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts or Verdict.DIED in verdicts:
        return 1
    if strict and any(result.unexpected_pass for result in results):
        return 1
    if not verdicts:
        return 5
    return 3 if Verdict.UNDECIDED in verdicts or verdicts == {Verdict.UNSUPPORTED} else 0
