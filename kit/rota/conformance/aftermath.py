"""What becomes of a process when its dialogue is over: some die of it seconds later."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import DialogueResult, Ending
from rota.conformance.targets.process import Started
from rota.conformance.targets.remote import Remote
from rota.conformance.targets.target import Running
from rota.wire.error_codes import ERROR_CODES

LINGER = 3.5
"""Seconds for which a process is watched whose dialogue was odd."""

_SLICE = 0.25
"""Seconds after which whoever watches looks whether the run is to stop."""

_USUAL = {"NONE", "MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"}
"""Errors that every client meets every day."""

_ODD = ERROR_CODES.keys() - _USUAL

_ERROR = re.compile("[A-Z_]+")


def is_odd(lines: Sequence[Line]) -> bool:
    """Whether something was refused, or left without an answer: that is what targets die of."""
    asked, answered = (sum(line.mark == mark for line in lines) for mark in ("→", "←"))
    words = (_ERROR.findall(line.text) for line in lines if line.mark == "←")
    return asked > answered or any(not _ODD.isdisjoint(said) for said in words)


def died(result: DialogueResult, obituary: str) -> DialogueResult:
    """The result of a dialogue after which, or in which, the target died."""
    expected = result.expected or "a target that goes on"
    return replace(
        result,
        ending=Ending.DIED,
        late=False,
        prerequisite="",
        because="",
        expected=expected,
        actual=obituary,
    )


class Aftermath:
    """Watches processes in the background, so many at a time, while the next dialogues are played."""

    def __init__(self, number: int, stop: threading.Event) -> None:
        self._stop = stop
        self._room = threading.Semaphore(number)
        self._pool = ThreadPoolExecutor(number, thread_name_prefix="aftermath")

    def watch(self, running: Running | None, result: DialogueResult) -> Future[DialogueResult]:
        """Stop what was started for a dialogue: at once, or some seconds later where it was odd."""
        ours = isinstance(running, Started)
        if running is None or not ours or result.ending is Ending.DIED or not is_odd(result.lines):
            done: Future[DialogueResult] = Future()
            done.set_result(stopped(running, result))
            return done
        self._room.acquire()
        return self._pool.submit(self._watched, running, result, time.monotonic())

    def close(self) -> None:
        """Wait until everything is stopped."""
        self._pool.shutdown(wait=True)

    def _watched(self, running: Running, result: DialogueResult, since: float) -> DialogueResult:
        try:
            return stopped(running, outlived(running, result, since, self._stop))
        finally:
            self._room.release()


def outlived(running: Running, result: DialogueResult, since: float, stop: threading.Event) -> DialogueResult:
    """The result of a dialogue that was over at `since`, once the target has been watched for a while."""
    while (past := time.monotonic() - since) < LINGER and not stop.is_set():
        if (obituary := running.post_mortem(_SLICE)) is not None:
            return died(result, f"{obituary}, {past:.0f} s after the last line" if past >= 1 else obituary)
        if isinstance(running, Remote):
            stop.wait(_SLICE)  # nobody can wait for the death of what somebody else runs
    return result


def stopped(running: Running | None, result: DialogueResult) -> DialogueResult:
    """The result once what was started for the dialogue is stopped; what fails in that has died, too."""
    try:
        if running is not None:
            running.stop()
    except Exception as error:
        return died(result, f"it failed by the time that it was stopped: {type(error).__name__}: {error}")
    return result
