"""Obligations decided in several processes: who is at what, what came back, who had to be stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic

from rota.cli.workers import Clock, Gone, Parent, Worker, Workers, served
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
    """What became of a question; see `rota.proofs.ObligationResult`."""

    verdict: Verdict
    seconds: float
    counterexample: Counterexample | None = None
    reason: str = ""


class Provers(Workers):
    """Workers that decide questions. A context manager: no worker outlives it.

    Parameters: questions; count, of processes; clock, seconds, for tests.
    """

    def __init__(self, questions: Sequence[Question], count: int, clock: Clock = monotonic) -> None:
        super().__init__(serve, count, clock)
        self._questions = questions
        self._waiting = list(range(len(questions)))

    def running(self) -> list[tuple[int, float]]:
        """(number of a question that is being decided, seconds since it began), the oldest first."""
        now = self._clock()
        at = [(_number(worker), now - worker.began) for worker in self.busy()]
        return sorted(at, key=lambda one: -one[1])

    def answers(self, tick: float = 0.2) -> Iterator[tuple[int, Answer] | None]:
        """(number of a question, its answer) as they come, and None whenever tick seconds passed without.

        Errors: whatever the claim's own code raised.
        """
        while True:
            while self._waiting and self.free():
                number = self._waiting.pop(0)
                self.give(number, self._questions[number])
            if not self.busy():
                return
            heard = False
            for answer in self._answered(tick):
                heard = True
                yield answer
            if not heard:
                yield None

    def _answered(self, tick: float) -> Iterator[tuple[int, Answer]]:
        """Answers of those that speak within tick seconds, and of those that had to be stopped."""
        for worker in self.speaking(tick):
            if (answer := self._listen(worker)) is not None:
                yield answer
        for worker in self.busy():
            if (stopped := self._overdue(worker)) is not None:
                yield stopped

    def _listen(self, worker: Worker) -> tuple[int, Answer] | None:
        """The answer, if that is what a worker says; else it says that it asks Z3, or that it is gone."""
        number = _number(worker)
        try:
            message = self.listen(worker)
        except Gone:
            return self._unknown(worker, number, "the process that asked Z3 died")
        if isinstance(message, Exception):
            raise message
        if not isinstance(message, Answer):
            return None
        worker.number = None
        return number, message

    def _overdue(self, worker: Worker) -> tuple[int, Answer] | None:
        """End a worker whose question takes far longer than it may."""
        number = _number(worker)
        limit = self._questions[number].asking.seconds
        if self._clock() - worker.heard <= limit * PATIENCE + GRACE:
            return None
        self.dismiss(worker)
        return self._unknown(worker, number, f"stopped: Z3 did not keep to its time-out of {limit:g} s")

    def _unknown(self, worker: Worker, number: int, reason: str) -> tuple[int, Answer]:
        return number, Answer("unknown", self._clock() - worker.began, None, reason)


def _number(worker: Worker) -> int:
    """Of the question that a busy worker is at."""
    assert worker.number is not None
    return worker.number


def serve(connection: Connection) -> None:
    """A worker's life: decide what comes; send None for each question to Z3, then the answer."""
    served(connection, _answer)


def _answer(question: Question, parent: Parent) -> Answer:
    outcome = prove(question.obligation(), question.asking, lambda: parent.send(None))
    return Answer(outcome.verdict, outcome.seconds, outcome.counterexample, outcome.reason)
