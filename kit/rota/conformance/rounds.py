"""Dialogues that are played several at a time, and what is done when a target dies that they share.

Of those that were played when it died one did it. They are played again alone, each on a target that is
started for it, until one ends it again; the others are played on as if nothing had been.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Generic, TypeVar

from rota.conformance.dialogues.failures import Interrupted
from rota.conformance.dialogues.script import Script
from rota.conformance.results import DialogueResult, Ending
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Target

S = TypeVar("S", bound=Script)

TICK = 0.2
"""Seconds after which whoever waits for a result looks around."""

RECENT = 5.0
"""Seconds before a death in which what was over may have caused it."""

COMES_BACK = 3.0
"""Seconds in which a target that somebody else runs may be started again by whoever runs it."""


class Gone(Exception):
    """The target died, and nobody started it again: what is left cannot be played."""


class Round(Generic[S]):
    """Plays scripts until all are over, the run is to stop, or a target that they share dies.

    `play` gives the result of one, perhaps some seconds later. After the death `suspects` are those that were
    played on the target at that time, with their results, the one first that met the death; `recent` those
    that had just been. `left` is what was not begun.
    """

    def __init__(
        self,
        scripts: Sequence[S],
        target: Target,
        play: Callable[[S], Future[DialogueResult]],
        stop: threading.Event,
        waiting: Callable[[], None],
    ) -> None:
        self._scripts = scripts
        self._target = target
        self._play = play
        self._stop = stop
        self._waiting = waiting
        self._lock = threading.Lock()
        self._in_flight: dict[str, S] = {}
        self._over: list[tuple[float, S]] = []
        self._died = False
        self.left: list[S] = []
        self.suspects: dict[str, S] = {}
        self.recent: list[S] = []
        self.results: dict[str, DialogueResult] = {}

    def over(self) -> Iterator[tuple[S, DialogueResult]]:
        """The results, each when it is there, but for those of suspects. Errors: KeyboardInterrupt."""
        pool = ThreadPoolExecutor(max_workers=self._target.parallel, thread_name_prefix="conform")
        plays = [(script, pool.submit(self._played, script)) for script in self._scripts]
        given: set[str] = set()

        def those_over() -> Iterator[tuple[S, DialogueResult]]:
            for script, future in plays:
                if script.id not in given and _is_over(future):
                    given.add(script.id)
                    played = future.result()
                    if played is not None and script.id not in self.suspects:
                        yield script, played.result()

        try:
            while len(given) < len(plays) and not self._stop.is_set():
                waiting = [_latest(future) for script, future in plays if script.id not in given]
                wait(waiting, TICK, FIRST_COMPLETED)
                self._waiting()
                yield from those_over()
        finally:
            if len(given) < len(plays):
                self._stop.set()  # whoever listens was interrupted between two results
            pool.shutdown(wait=True, cancel_futures=True)
        for _, future in plays:
            if not future.cancelled() and (played := future.result()) is not None:
                wait([played])
        yield from those_over()
        if self._stop.is_set() and any(_is_missing(future) for _, future in plays):
            raise KeyboardInterrupt

    def _played(self, script: S) -> Future[DialogueResult] | None:
        with self._lock:
            if self._died:
                self.left.append(script)
                return None
            self._in_flight[script.id] = script
        try:
            future = self._play(script)
        except Interrupted:
            return None
        if not self._target.fresh:
            self._note(script, future.result())
        return future

    def _note(self, script: S, result: DialogueResult) -> None:
        """A dialogue is over on a target that others use, too."""
        now = time.monotonic()
        with self._lock:
            if result.ending is Ending.DIED and not self._died:
                self._died = True
                settings = self._target.settings_for(script)
                alike = {
                    name: other
                    for name, other in self._in_flight.items()
                    if self._target.settings_for(other) == settings
                }
                self.suspects = {script.id: script, **alike}
                self.recent = [
                    other
                    for at, other in self._over
                    if now - at < RECENT and self._target.settings_for(other) == settings
                ]
            if script.id in self.suspects:
                self.results[script.id] = result
            self._over.append((now, script))
            del self._in_flight[script.id]


def _is_over(future: Future[Future[DialogueResult] | None]) -> bool:
    if not future.done() or future.cancelled():
        return False
    played = future.result()
    return played is None or played.done()


def _is_missing(future: Future[Future[DialogueResult] | None]) -> bool:
    return future.cancelled() or future.result() is None


def _latest(future: Future[Future[DialogueResult] | None]) -> Future[Any]:
    """What there is to wait for: the play, or what comes after it."""
    played = future.result() if future.done() and not future.cancelled() else None
    return played or future


def sort_out(
    ended: Round[S], target: Target, alone: Callable[[S], DialogueResult]
) -> Iterator[tuple[S, DialogueResult]]:
    """The results of those among which one has ended the target, and what is left for another round.

    `alone` plays one on a target of its own. Errors: Gone.
    """
    suspects = list(ended.suspects.values())
    first = ended.results[suspects[0].id]
    if len(suspects) == 1 and not ended.recent:
        yield suspects[0], first
        if ended.left and not comes_back(target, suspects[0]):
            raise Gone(f"the target died, and nobody started it again: {first.actual}")
        return
    if not comes_back(target, suspects[0]):
        yield from _in_doubt(ended, suspects)
        raise Gone(f"the target died, and nobody started it again: {first.actual}")
    found: list[tuple[S, DialogueResult]] = []
    for number, script in enumerate([*suspects, *ended.recent]):
        result = alone(script)
        found.append((script, result))
        if result.ending is Ending.DIED:
            ended.left[:0] = suspects[number + 1 :]
            break
    else:
        told = f"{first.actual}, while {_others(suspects)}; alone none of them ends it"
        found[0] = suspects[0], replace(first, ending=Ending.UNDECIDED, because=told, expected="", actual="")
    yield from (
        (script, result)
        for script, result in found
        if script.id in ended.suspects or result.ending is Ending.DIED
    )


def _in_doubt(ended: Round[S], suspects: Sequence[S]) -> Iterator[tuple[S, DialogueResult]]:
    """The results where nobody can play anything again: who ended the target cannot be told."""
    for script in suspects:
        result = ended.results[script.id]
        if result.ending is Ending.FINISHED or len(suspects) == 1:
            yield script, result
        else:
            told = f"the target died while {_others(suspects)}; play them one at a time to see which ends it"
            yield (
                script,
                replace(result, ending=Ending.UNDECIDED, because=told, expected="", actual="", late=False),
            )


def _others(suspects: Sequence[Script]) -> str:
    if len(suspects) == 1:
        return "this was played"
    return f"{len(suspects)} dialogues were played on it"


def comes_back(target: Target, script: Script) -> bool:
    """Whether a target that died is there again: it is started anew, or whoever runs it does that."""
    try:
        running = target.start(target.settings_for(script))
    except NotStarted:
        return False
    deadline = time.monotonic() + COMES_BACK
    try:
        while running.post_mortem(0) is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(TICK)
    finally:
        running.stop()
    return True
