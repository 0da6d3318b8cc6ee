"""Obligations decided in several processes: who is at what, what came back, who had to be stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from time import monotonic
from types import TracebackType
from typing import Self

from rota.cli.check_workers import interrupts_held, portable
from rota.proofs import Asking, Counterexample, Family, Obligation, Verdict, prove

PATIENCE, GRACE = 2.0, 10.0
"""A process is stopped when a question takes so many times its time limit and these seconds: Z3 does not
always look at the clock."""


@dataclass(frozen=True)
class Question:
    """An obligation as it travels to a worker: where it stands, and how it is asked.

    Parameters: family, that it is part of; name; asking; mutant, one of `Obligation.mutated`, '' for none.
    """

    family: Family
    name: str
    asking: Asking
    mutant: str = ""

    def obligation(self) -> Obligation:
        """The obligation that is asked. Errors: KeyError."""
        found = {one.name: one for one in self.family.obligations()}[self.name]
        return found.mutated(self.mutant) if self.mutant else found


@dataclass(frozen=True)
class Answer:
    """What became of a question; see `rota.proofs.Outcome`."""

    verdict: Verdict
    seconds: float
    counterexample: Counterexample | None = None
    reason: str = ""


@dataclass(eq=False)
class _Worker:
    """A process, the number of the question that it is at, when that began, and when it last asked Z3."""

    process: SpawnProcess
    connection: Connection
    number: int | None = None
    began: float = 0.0
    asked: float = 0.0


class Crew:
    """Workers that decide questions. A context manager: no worker outlives it.

    Parameters: questions; count, of processes; clock, seconds, for tests.
    """

    def __init__(
        self, questions: Sequence[Question], count: int, clock: Callable[[], float] = monotonic
    ) -> None:
        self._questions, self._count, self._clock = questions, count, clock
        self._waiting = list(range(len(questions)))
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in list(self._workers):
            self._dismiss(worker)

    def running(self) -> list[tuple[int, float]]:
        """(number of a question that is being decided, seconds since it began), the oldest first."""
        now = self._clock()
        at = [(worker.number, now - worker.began) for worker in self._workers if worker.number is not None]
        return sorted(at, key=lambda one: -one[1])

    def answers(self, tick: float = 0.2) -> Iterator[tuple[int, Answer] | None]:
        """(number of a question, its answer) as they come, and None whenever tick seconds passed without.

        Errors: whatever the claim's own code raised.
        """
        while True:
            self._hand_out()
            busy = {worker.connection: worker for worker in self._workers if worker.number is not None}
            if not busy:
                return
            heard = False
            for ready in wait(list(busy), tick):
                if (told := self._listen(busy[ready])) is not None:  # type: ignore[index]  # what wait() was given
                    heard = True
                    yield told
            for worker in busy.values():
                if (stopped := self._overdue(worker)) is not None:
                    heard = True
                    yield stopped
            if not heard:
                yield None

    def _hand_out(self) -> None:
        """A question for everyone who has none, as long as there are questions."""
        while self._waiting:
            idle = next((worker for worker in self._workers if worker.number is None), None)
            if idle is None and len(self._workers) == self._count:
                return
            worker = idle or self._hire()
            worker.number = self._waiting.pop(0)
            worker.began = worker.asked = self._clock()
            with suppress(OSError):  # it died; listening to it will tell
                worker.connection.send(self._questions[worker.number])

    def _hire(self) -> _Worker:
        spawn = get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=serve, args=(theirs,), daemon=True)
        with theirs, interrupts_held():
            process.start()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _listen(self, worker: _Worker) -> tuple[int, Answer] | None:
        """The answer, if that is what a worker says; else it says that it asks Z3, or that it is gone."""
        try:
            told = worker.connection.recv()
        except (EOFError, OSError):
            return self._stop(worker, "the process that asked Z3 died")
        if isinstance(told, Exception):
            raise told
        if not isinstance(told, Answer):
            worker.asked = self._clock()
            return None
        number, worker.number = worker.number, None
        assert number is not None
        return number, told

    def _overdue(self, worker: _Worker) -> tuple[int, Answer] | None:
        """End a worker whose question takes far longer than it may."""
        if worker.number is None:
            return None
        limit = self._questions[worker.number].asking.seconds
        if self._clock() - worker.asked <= limit * PATIENCE + GRACE:
            return None
        return self._stop(worker, f"stopped: Z3 did not keep to its time-out of {limit:g} s")

    def _stop(self, worker: _Worker, reason: str) -> tuple[int, Answer]:
        number = worker.number
        assert number is not None
        self._dismiss(worker)
        return number, Answer("unknown", self._clock() - worker.began, None, reason)

    def _dismiss(self, worker: _Worker) -> None:
        """End a process, and wait until it has ended."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        worker.number = None
        self._workers = [other for other in self._workers if other is not worker]


def serve(connection: Connection) -> None:
    """A worker's life: decide what comes, tell of each question to Z3 and then the answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent ends us
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            question = connection.recv()
            try:
                outcome = prove(question.obligation(), question.asking, lambda: connection.send(None))
                connection.send(
                    Answer(outcome.verdict, outcome.seconds, outcome.counterexample, outcome.reason)
                )
            except OSError:
                raise
            except Exception as error:
                connection.send(portable(error))
