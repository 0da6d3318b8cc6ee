"""Whose turn it is: connections with something to do go on one after the other, each for a short while.

So a request that takes long, or many of one client, hold up the others by milliseconds. What follows from it:
no stretch of the event loop is longer than ITERATION_SECONDS and the longest step that cannot be divided.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol

TURN_SECONDS = 0.002
"""How long one connection goes on while others wait."""

ITERATION_SECONDS = 0.008
"""How long all connections together go on in one iteration of the event loop."""


class Worker(Protocol):
    """Somebody who has things to do; hashed by identity."""

    def work(self, until: float) -> bool:
        """Goes on until then, at least by one step. Whether there is more to do. Never raises."""


class Turns:
    """The queue of those who have more to do than their turn had room for; `clock` is the loop's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.clock = loop.time
        self._waiting: OrderedDict[Worker, None] = OrderedDict()
        self._spent = 0.0
        self._next: asyncio.Handle | None = None

    def __contains__(self, worker: Worker) -> bool:
        """Whether it waits for its turn."""
        return worker in self._waiting

    def go_on(self, worker: Worker) -> None:
        """Lets the worker go on, at once if nobody else waits and there is time left, else in its turn."""
        if self._waiting or self._spent >= ITERATION_SECONDS:
            self.go_on_later(worker)
        else:
            self._work(worker)

    def go_on_later(self, worker: Worker) -> None:
        """Lets the worker go on in its turn, and not before the loop's next iteration."""
        self._waiting[worker] = None
        if self._next is None:
            self._next = self._loop.call_soon(self._iteration)

    def _work(self, worker: Worker) -> None:
        begun = self.clock()
        if worker.work(begun + TURN_SECONDS):
            self.go_on_later(worker)
        self._spent += self.clock() - begun

    def _iteration(self) -> None:
        """What was spent counts until here: an iteration of the loop begins, or one long after it."""
        self._next = None
        self._spent = 0.0
        while self._waiting and self._spent < ITERATION_SECONDS:
            self._work(self._waiting.popitem(last=False)[0])
        if self._waiting and self._next is None:
            self._next = self._loop.call_soon(self._iteration)
