"""Worker processes that are given one thing at a time: started where they are needed, asked, ended."""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from time import monotonic
from types import TracebackType
from typing import Any, Self

Clock = Callable[[], float]
"""Seconds since some moment."""


class Gone(Exception):
    """A worker has died."""


@dataclass(eq=False)
class Worker:
    """A process. number: of what it is at, None if it waits for something; began: when it was given that;
    heard: when it last said that it goes on; both by the clock of its crew.
    """

    process: SpawnProcess
    connection: Connection
    number: int | None = None
    began: float = 0.0
    heard: float = 0.0


class Workers:
    """Processes that live as long as this context manager; no worker outlives it.

    Parameters: serve, what a worker does, importable, given its end of a pipe; count, processes at most;
    clock.
    """

    def __init__(self, serve: Callable[[Connection], None], count: int, clock: Clock = monotonic) -> None:
        self._serve, self._count, self._clock = serve, count, clock
        self._all: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for worker in self._all:
            worker.process.kill()
        for worker in list(self._all):
            self.dismiss(worker)

    def busy(self) -> list[Worker]:
        """Those that are at something."""
        return [worker for worker in self._all if worker.number is not None]

    def free(self) -> bool:
        """Whether something more can be given away."""
        return len(self.busy()) < self._count

    def give(self, number: int, what: object) -> None:
        """Hand something, with its number, to who has nothing; there must be a free one."""
        worker = next((one for one in self._all if one.number is None), None) or self._hire()
        worker.number = number
        worker.began = worker.heard = self._clock()
        with suppress(OSError):  # it died; listening to it will show that
            worker.connection.send(what)

    def speaking(self, tick: float | None = None) -> Sequence[Worker]:
        """Busy workers that have something to say, or have died; waits for one, at most tick seconds."""
        by_connection = {worker.connection: worker for worker in self.busy()}
        return [by_connection[ready] for ready in wait(list(by_connection), tick)]  # type: ignore[index]

    def listen(self, worker: Worker) -> Any:
        """What a worker says. Errors: Gone; it is dismissed then."""
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self.dismiss(worker)
            raise Gone from None
        worker.heard = self._clock()
        return message

    def notify(self, worker: Worker, what: object) -> None:
        """Send something to a worker that is at its work, which it may look at or not."""
        with suppress(OSError):  # it died; listening to it will show that
            worker.connection.send(_Aside(what))

    def dismiss(self, worker: Worker) -> None:
        """End a process, and wait until it has ended."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        worker.number = None
        self._all = [other for other in self._all if other is not worker]

    def _hire(self) -> Worker:
        spawn = get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=self._serve, args=(theirs,), daemon=True)
        with theirs, _interrupts_held():
            process.start()
            worker = Worker(process, ours)
            self._all.append(worker)
        return worker


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """What is started meanwhile never sees Ctrl-C; this process sees it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first start would do it, and let interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class _Aside:
    """Something sent to a worker beside what it was given."""

    what: object


@dataclass(frozen=True)
class Parent:
    """The process that gives a worker its work, as the worker sees it."""

    connection: Connection

    def send(self, what: object) -> None:
        """Say something before the answer is ready."""
        _send(self.connection, what)

    def heard(self) -> Iterator[Any]:
        """What it has sent since it gave the work."""
        try:
            while self.connection.poll():
                message = self.connection.recv()
                assert isinstance(message, _Aside)
                yield message.what
        except (OSError, EOFError) as error:
            raise _Deaf from error


def served(connection: Connection, answer: Callable[[Any, Parent], object]) -> None:
    """A worker's life: answer what comes until nobody asks.

    answer: to something, given the parent. An error that it raises is its answer, as `portable` makes it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent ends us
    with suppress(_Deaf, EOFError):
        while True:
            given = connection.recv()
            if isinstance(given, _Aside):
                continue  # it is about what was answered meanwhile
            try:
                message = answer(given, Parent(connection))
            except _Deaf:
                raise
            except Exception as error:
                message = _portable(error)
            _send(connection, message)


class _Deaf(Exception):
    """The parent is gone."""


def _send(connection: Connection, what: object) -> None:
    try:
        connection.send(what)
    except OSError as error:
        raise _Deaf from error


def _portable(error: Exception) -> Exception:
    """The error, or its words where it cannot travel; its traceback is a note in either case."""
    words = f"{type(error).__name__}: {error}"
    traced = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(words)
    error.add_note(f"in a worker process:\n{traced}")
    return error
