"""Threads that wait for the disk, and for which the process does not wait at its end, as slow as it may be.

Those of the standard library's executors are waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


class DiskThreads:
    """Up to so many threads, made as they are needed. Calls are begun in the order in which they come."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._free = threading.Semaphore(0)

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Calls the function; the future has what it returns or raises."""
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)

        self._calls.put(call)
        if not self._free.acquire(blocking=False) and len(self._threads) < self._most:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def map(self, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """What the function returns for each item, in order. After an error no further call is begun."""
        futures = [self.submit(function, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()

    def shutdown(self) -> None:
        """The threads end when all calls have been made; returns then. Nothing is submitted any more."""
        self._calls.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _work(self) -> None:
        while (call := self._next()) is not None:
            call()
        self._calls.put(None)

    def _next(self) -> Callable[[], None] | None:
        with suppress(Empty):
            return self._calls.get_nowait()
        self._free.release()
        return self._calls.get()
