"""Plays cases against a target, several at a time, and turns what happened into verdicts."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from rota.conformance.connection import Closed, Garbage, NotListening
from rota.conformance.dialogue import Dialogue
from rota.conformance.model import (
    DEVIATION_VERDICT,
    INITIAL_DELAY,
    Case,
    CaseResult,
    Deviation,
    NotChecked,
    SetupFailed,
    Undecidable,
    Verdict,
)
from rota.conformance.opening import Unread, Unsupported, open_with
from rota.conformance.probe import unread_versions
from rota.conformance.process import NotStarted
from rota.conformance.targets import Running, Target
from rota.conformance.transcript import printable

SLOW_SECONDS = 60.0
"""Cases that take longer are played only when asked for."""

_DEVIATIONS = (*DEVIATION_VERDICT.values(), Verdict.DIED)


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


def divide(cases: Iterable[Case], target: Target, options: Options) -> tuple[list[Case], list[NotChecked]]:
    """The cases that can be played on this target, and the others with the reason."""
    playable: list[Case] = []
    skipped: list[NotChecked] = []
    for case in cases:
        if case.seconds > SLOW_SECONDS and not options.slow:
            skipped.append(NotChecked(case, f"takes {case.seconds:g} s; add --slow"))
        elif not target.delay_settable and target.initial_delay_ms < case.least_delay_ms:
            why = f"needs {INITIAL_DELAY} of at least {case.least_delay_ms}, the target has "
            skipped.append(NotChecked(case, f"{why}{target.initial_delay_ms}"))
        else:
            playable.append(case)
    return playable, skipped


def probe(target: Target, patience: float) -> Unread:
    """The versions that the target advertises but cannot read; none where it cannot even be asked."""
    try:
        running = target.start(0)
    except NotStarted:
        return {}
    try:
        return unread_versions(running.address, patience)
    except (Undecidable, Deviation, Closed, Garbage, NotListening):
        return {}  # whatever is wrong here, every case meets it and gives it a verdict
    finally:
        running.stop()


def play_all(cases: Sequence[Case], target: Target, options: Options, unread: Unread) -> Iterator[CaseResult]:
    """The results in the order of the cases, each as soon as it and those before it are there.

    The longest cases start first, equals in an order drawn from the seed. KeyboardInterrupt is passed on
    after the results that were there already.
    """
    nonce = "" if target.fresh else f"-{os.urandom(4).hex()}"
    begun = list(cases)
    random.Random(options.seed).shuffle(begun)
    begun.sort(key=lambda case: -case.seconds)
    pool = ThreadPoolExecutor(max_workers=target.parallel, thread_name_prefix="conform")
    try:
        futures: dict[str, Future[CaseResult]] = {
            case.id: pool.submit(play, case, target, options, unread, f"rota-{options.seed}{nonce}-{case.id}")
            for case in begun
        }
        given = 0
        try:
            for case in cases:
                result = futures[case.id].result()
                given += 1
                yield result
        except KeyboardInterrupt:
            finished = [case for case in cases[given:] if futures[case.id].done()]
            options.stop.set()
            yield from (futures[case.id].result() for case in finished)
            raise
    finally:
        options.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def play(case: Case, target: Target, options: Options, unread: Unread, group_id: str) -> CaseResult:
    """Play one case on a target that is started for it, if it can be started."""
    delay = case.initial_delay_ms if target.delay_settable else target.initial_delay_ms
    began = time.monotonic()
    try:
        running = target.start(delay)
    except NotStarted as error:
        return CaseResult(case, Verdict.UNDECIDED, because=f"the target did not start: {error}")
    try:
        play = _Play(case, running, delay / 1000, options)
        result = play.result(group_id, unread)
    finally:
        running.stop()
    if case.id in options.known and result.verdict in _DEVIATIONS:
        result = replace(result, verdict=Verdict.KNOWN)
    return replace(result, seconds=time.monotonic() - began)


class _Play:
    """One case on one running target, from the opening to the verdict."""

    def __init__(self, case: Case, running: Running, initial_delay: float, options: Options) -> None:
        self._case = case
        self._running = running
        self._initial_delay = initial_delay
        self._patience = options.patience + initial_delay
        self._stop = options.stop
        self._dialogue: Dialogue | None = None

    def result(self, group_id: str, unread: Unread) -> CaseResult:
        try:
            verdict = self._judge(lambda: self._talk(group_id, unread))
        finally:
            if self._dialogue is not None:
                self._dialogue.close()
        dialogue = self._dialogue
        if dialogue is None:
            return verdict
        heard = dialogue.transcript
        return replace(
            verdict,
            expected=printable(verdict.expected),
            actual=printable(verdict.actual),
            because=printable(verdict.because),
            lines=tuple(heard.lines),
            names=dict(heard.names),
            versions=dict(dialogue.versions),
        )

    def _talk(self, group_id: str, unread: Unread) -> None:
        address, versions = open_with(self._case, self._running.address, group_id, unread, self._patience)
        self._dialogue = Dialogue(
            address, group_id, versions, self._initial_delay, self._patience, self._stop
        )
        self._case.play(self._dialogue)

    def _judge(self, talk: Callable[[], None]) -> CaseResult:
        try:
            talk()
        except Deviation as deviation:
            return self._unless_dead(self._deviates(deviation.expected, deviation.actual))
        except Garbage as garbage:
            seen = CaseResult(
                self._case, Verdict.FAIL, "a well-formed answer to what was asked", str(garbage)
            )
            return self._unless_dead(seen)
        except Closed as closed:
            broken = self._deviates("an answer", f"the target closed the connection ({closed})")
            return self._unless_dead(broken, grace=1.5)
        except SetupFailed as failed:
            return self._unless_dead(
                CaseResult(self._case, Verdict.UNDECIDED, failed.expected, failed.actual, str(failed))
            )
        except Unsupported as unsupported:
            return CaseResult(self._case, Verdict.UNSUPPORTED, because=str(unsupported))
        except (Undecidable, NotListening) as unknown:
            return self._unless_dead(CaseResult(self._case, Verdict.UNDECIDED, because=str(unknown)))
        return self._unless_dead(CaseResult(self._case, Verdict.PASS), grace=0.0)

    def _deviates(self, expected: str, actual: str) -> CaseResult:
        return CaseResult(self._case, DEVIATION_VERDICT[self._case.level], expected, actual)

    def _unless_dead(self, otherwise: CaseResult, grace: float = 0.2) -> CaseResult:
        """The verdict `died` if the target is no more, else the one given."""
        obituary = self._running.post_mortem(grace)
        if obituary is None:
            return otherwise
        expected = otherwise.expected or "a target that goes on"
        return replace(otherwise, verdict=Verdict.DIED, expected=expected, actual=obituary)


def exit_code(results: Sequence[CaseResult]) -> int:
    """1 if a MUST case failed or any died, else 3 if any is undecided, else 0; 5 for no results at all."""
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts or Verdict.DIED in verdicts:
        return 1
    if not verdicts:
        return 5
    return 3 if Verdict.UNDECIDED in verdicts else 0
