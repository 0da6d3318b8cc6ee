"""Plays cases against a target, several at a time, and turns what happened into verdicts."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.failures import Deviation, Late, SetupFailed, Undecidable
from rota.conformance.dialogues.negotiation import Unreadable, Unsupported, open_with
from rota.conformance.dialogues.script import Case, Script
from rota.conformance.dialogues.transcript import printable
from rota.conformance.dialogues.unreadable_versions import unreadable_versions
from rota.conformance.results import (
    DEVIATION_VERDICT,
    CaseResult,
    DialogueResult,
    Ending,
    NotChecked,
    Verdict,
)
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import NotSettable, Running, Target

SLOW_SECONDS = 60.0
"""Cases that take longer are played only when asked for."""

PLAYS = 3
"""How often a dialogue is played in which the kit is late; a machine is rarely that busy for long."""

S = TypeVar("S", bound=Script)

_MAY_BE_KNOWN = (*DEVIATION_VERDICT.values(), Verdict.DIED)

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

    Deviations in the cases whose ids are in `known` get the verdict `known`. Setting `stop` interrupts.
    """

    seed: int
    patience: float = 10.0
    slow: bool = False
    known: frozenset[str] = frozenset()
    stop: threading.Event = field(default_factory=threading.Event, compare=False)


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
    cases: Sequence[Case], target: Target, options: Options, unreadable: Unreadable
) -> Iterator[CaseResult]:
    """The verdicts in the order of the cases; see `perform`."""
    for case, result in perform(cases, target, options, unreadable):
        yield judge(case, result, options)


def judge(case: Case, result: DialogueResult, options: Options) -> CaseResult:
    """The verdict on a case, by how its dialogue ended and by the level of its rule."""
    verdict = _VERDICTS.get(result.ending, DEVIATION_VERDICT[case.level])
    if case.id in options.known and verdict in _MAY_BE_KNOWN:
        verdict = Verdict.KNOWN
    outcome_fields = {field.name: getattr(result, field.name) for field in fields(DialogueResult)}
    return CaseResult(case=case, verdict=verdict, **outcome_fields)


def perform(
    scripts: Sequence[S],
    target: Target,
    options: Options,
    unreadable: Unreadable,
    done: Callable[[], None] = lambda: None,
) -> Iterator[tuple[S, DialogueResult]]:
    """The results in the order of the dialogues, each as soon as it and those before it are there.

    The longest begin first, equals in an order drawn from the seed. `done` is called, from any thread, after
    each. KeyboardInterrupt is passed on after the results that were there already.
    """
    nonce = "" if target.fresh else f"-{os.urandom(4).hex()}"
    begun = list(scripts)
    random.Random(options.seed).shuffle(begun)
    begun.sort(key=lambda script: -script.seconds)
    pool = ThreadPoolExecutor(max_workers=target.parallel, thread_name_prefix="conform")
    try:
        futures: dict[str, Future[DialogueResult]] = {}
        for script in begun:
            group_id = f"rota-{options.seed}{nonce}-{script.id}"
            futures[script.id] = pool.submit(play, script, target, options, unreadable, group_id)
            futures[script.id].add_done_callback(lambda _: done())
        given = 0
        try:
            for script in scripts:
                result = futures[script.id].result()
                given += 1
                yield script, result
        except KeyboardInterrupt:
            finished = [script for script in scripts[given:] if futures[script.id].done()]
            options.stop.set()
            yield from ((script, futures[script.id].result()) for script in finished)
            raise
    except GeneratorExit:
        options.stop.set()  # whoever listens was interrupted between two results
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def play(
    script: Script, target: Target, options: Options, unreadable: Unreadable, group_id: str
) -> DialogueResult:
    """Play one dialogue, in groups of that name or longer ones; again where the kit itself is late in it."""
    for number in range(1, PLAYS + 1):
        name = group_id if number == 1 else f"{group_id}-{number}"
        result, late = _play_once(script, target, options, unreadable, name)
        if not late or options.stop.is_set():
            break
    return result


def _play_once(
    script: Script, target: Target, options: Options, unreadable: Unreadable, group_id: str
) -> tuple[DialogueResult, bool]:
    """The result on a target that is started for it, if it can be started; whether the kit was late."""
    settings = target.settings_for(script)
    try:
        running = target.start(settings)
    except NotSettable as error:
        return DialogueResult(ending=Ending.UNSUPPORTED, because=str(error)), False
    except NotStarted as error:
        return DialogueResult(ending=Ending.UNDECIDED, because=f"the target did not start: {error}"), False
    began = time.monotonic()
    played = _Play(script, running, settings[INITIAL_DELAY] / 1000, options)
    try:
        result = played.result(group_id, unreadable)
    finally:
        running.stop()
    return replace(result, group_id=group_id, seconds=time.monotonic() - began), played.late


class _Play:
    """One dialogue on one running target, from the opening to its end. late: whether the kit was in it."""

    def __init__(self, script: Script, running: Running, initial_delay: float, options: Options) -> None:
        self._script = script
        self._running = running
        self._initial_delay = initial_delay
        self._patience = options.patience + initial_delay
        self._stop = options.stop
        self._dialogue: Dialogue | None = None
        self.late = False

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
            expected=printable(ended.expected),
            actual=printable(ended.actual),
            because=printable(ended.because),
            lines=tuple(transcript.lines),
            folds=tuple(transcript.folds),
            names=dict(transcript.names),
            roles=dict(transcript.roles),
            generation=transcript.generation,
            versions=dict(dialogue.versions),
        )

    def _play(self, group_id: str, unreadable: Unreadable) -> None:
        address, versions = open_with(
            self._script, self._running.address, group_id, unreadable, self._patience
        )
        self._dialogue = Dialogue(
            address, group_id, versions, self._initial_delay, self._patience, self._stop
        )
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
            self.late = isinstance(unknown, Late)
            return self._unless_dead(DialogueResult(ending=Ending.UNDECIDED, because=str(unknown)))
        return self._unless_dead(DialogueResult(ending=Ending.FINISHED), grace=0.0)

    def _unless_dead(self, otherwise: DialogueResult, grace: float = 0.2) -> DialogueResult:
        """The ending `died` if the target is no more, else the one given."""
        obituary = self._running.post_mortem(grace)
        if obituary is None:
            return otherwise
        expected = otherwise.expected or "a target that goes on"
        return replace(otherwise, ending=Ending.DIED, expected=expected, actual=obituary)


def _deviated(expected: str, actual: str) -> DialogueResult:
    return DialogueResult(ending=Ending.DEVIATED, expected=expected, actual=actual)


def exit_code(results: Sequence[CaseResult]) -> int:
    """1 if a MUST case failed or any died, else 3 if any is undecided, else 0; 5 for no results at all."""
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts or Verdict.DIED in verdicts:
        return 1
    if not verdicts:
        return 5
    return 3 if Verdict.UNDECIDED in verdicts else 0
