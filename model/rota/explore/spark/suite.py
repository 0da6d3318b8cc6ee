"""Many systems on Spark, each explored whole by one task: as many at a time as there are cores.

What does not fit into a worker's memory is told so, and is for the engine that goes level by level.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from rota.explore.result import Result
from rota.explore.spark.memory import MEMORY
from rota.explore.spark.session import Cluster
from rota.explore.spark.worker.whole import TooLarge, Whole, explore_whole
from rota.kernel import SystemRef

BYTES = 128
"""For a state, while its set grows; what was learned of the machines comes beside it, as in every engine."""

PLAIN_BYTES = 8192
"""For a state of plain Python, with its transition and the state before it."""

AHEAD = 1
"""Jobs that wait in Spark, so that a core that comes free need not wait for the driver."""

WAIT = 0.2
"""Seconds between two tries to end what is still running."""


@dataclass(frozen=True)
class Lost:
    """Spark gave a task up, though nothing says that it would be the system's fault. cause: Spark's words."""

    cause: str


Answer = Result | TooLarge | Lost | Exception


class Tasks:
    """Systems being explored, each by a task of its own. A context manager: no task outlives it.

    Parameters: context; cluster, what its workers have; memory, bytes for the states of each task; ceiling,
    most bytes of data of a worker process; None: no bound.
    """

    def __init__(
        self, context: Any, cluster: Cluster, memory: int | None = None, ceiling: int | None = None
    ) -> None:
        self._context, self._ceiling = context, ceiling
        self._run = uuid4().hex[:12]
        self._running: dict[int, Thread] = {}
        self._withdrawn: list[tuple[int, Thread]] = []
        self._answers: SimpleQueue[tuple[int, Answer]] = SimpleQueue()
        self.count: int = max(1, context.defaultParallelism)
        self.room = (memory or MEMORY) // (BYTES if cluster.compiled else PLAIN_BYTES)
        """States that fit into a worker."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind:  # Spark would tell at length of tasks that end in their middle
            with suppress(Exception):
                self._context.setLogLevel("OFF")
        left = [*self._running.items(), *self._withdrawn]
        while left := [(number, thread) for number, thread in left if thread.is_alive()]:
            for number, _ in left:
                self._cancel(number)
            left[0][1].join(WAIT)

    @property
    def busy(self) -> frozenset[int]:
        """The numbers of those that are being explored."""
        return frozenset(self._running)

    @property
    def free(self) -> bool:
        """Whether another one can be given away."""
        return len(self._running) < self.count + AHEAD

    def give(
        self, number: int, name: str, ref: SystemRef, max_states: int | None, steps: int | None = None
    ) -> None:
        """Let a system be explored. name: for Spark's web interface; max_states, steps: see `Whole`."""
        task = Whole(ref, max_states, self.room, self._ceiling, steps)
        thread = Thread(target=self._ask, args=(number, name, task), name=f"rota {name}", daemon=True)
        self._running[number] = thread
        thread.start()

    def answer(self, patience: float | None = None) -> tuple[int, Answer] | None:
        """The next answer, with its number; None if there is none after so many seconds."""
        while True:
            try:
                number, answer = self._answers.get(timeout=patience)
            except Empty:
                return None
            if self._running.pop(number, None):  # else nobody wants it any more
                return number, answer

    def withdraw(self, number: int) -> None:
        """Nobody wants this answer any more."""
        self._withdrawn.append((number, self._running.pop(number)))
        self._cancel(number)

    def _ask(self, number: int, name: str, task: Whole) -> None:
        """In a thread of its own: a job of one task."""
        answer: Answer
        try:
            self._context.setJobGroup(self._group(number), name)
            (answer,) = self._context.parallelize([task], 1).flatMap(explore_whole).collect()
        except Exception as error:
            answer = _given_up(error)
        self._answers.put((number, answer))

    def _cancel(self, number: int) -> None:
        with suppress(Exception):  # in a context that has come to its end nothing is running
            self._context.cancelJobGroup(self._group(number))

    def _group(self, number: int) -> str:
        return f"rota-{self._run}-{number}"


def _given_up(error: Exception) -> Exception | Lost:
    """An error of the system's own code, or of Spark: lost workers, memory that even an answer needs."""
    text = str(error)
    own = "PythonException" in text and "MemoryError" not in text
    return error if own else Lost(text)
