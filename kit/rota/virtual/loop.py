"""An event loop in virtual time with connections that exist in memory: a whole server without a socket.

Nothing happens by itself: `settle` runs what is ready, `advance` moves the clock. Deterministic.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from rota.server.connection import Connection
from rota.virtual.arrival import arrive

R = TypeVar("R")

if TYPE_CHECKING:
    AnyLoop = Any  # most of what a loop can do no server asks for
else:
    AnyLoop = asyncio.AbstractEventLoop

Called = Callable[..., object]

AT_ONE_MOMENT = 20_000
"""Callbacks that may run while the clock does not move, far more than any walk has at one."""


class TimeStandsStill(Exception):
    """What is called at one moment makes something else due at the same moment, again and again."""

    def __init__(self, now: float, called: object) -> None:
        super().__init__(
            f"virtual time stands still: {AT_ONE_MOMENT} callbacks ran at {now:g} s, last {_named(called)}"
        )


def _named(called: object) -> str:
    """What is called, in a word: a task by its coroutine, a bound method by its class."""
    task = getattr(called, "__self__", None)
    if isinstance(task, asyncio.Task):
        called = task.get_coro()
    return str(getattr(called, "__qualname__", None) or type(called).__qualname__)


class VirtualLoop(AnyLoop):  # type: ignore[misc]  # see AnyLoop
    """As much of a loop as a server needs. failures: what callbacks have raised."""

    def __init__(self) -> None:
        self.failures: list[dict[str, Any]] = []
        self._now = 1_000.0
        self._ready: deque[asyncio.Handle] = deque()
        self._later: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self._factory: Callable[[], Connection] | None = None
        self._moment, self._ran = self._now, 0

    def time(self) -> float:
        """Seconds, since some moment."""
        return self._now

    def call_soon(self, callback: Called, *args: Any, context: Context | None = None) -> asyncio.Handle:
        """As of a loop."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Called, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As of a loop."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Called, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As of a loop."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._later, (when, next(self._order), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled handles are skipped when they are due."""

    def create_future(self) -> asyncio.Future[Any]:
        """As of a loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, R], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[R]:
        """As of a loop."""
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def get_debug(self) -> bool:
        """As of a loop."""
        return False

    def is_running(self) -> bool:
        """As of a loop."""
        return True

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What a callback raised is kept, for whoever looks after the run."""
        self.failures.append(context)

    async def create_server(
        self, factory: Callable[[], Connection], host: Any = None, port: Any = None, **options: Any
    ) -> Listener:
        """A listener that nobody can reach but `connect`."""
        self._factory = factory
        return Listener()

    def connect(self, number: int) -> Transport:
        """A connection of a client; `number` is its port."""
        return self.run(lambda: Transport(self, self.accepted(), number))

    def accepted(self) -> Connection:
        """The server's side of a new connection, which has no transport yet."""
        assert self._factory is not None, "the server has not been started"
        return self._factory()

    def run(self, function: Callable[[], R]) -> R:
        """Call a function in the loop, and settle."""
        asyncio._set_running_loop(self)
        try:
            result = function()
        finally:
            asyncio._set_running_loop(None)
        self.settle()
        return result

    def complete(self, coro: Coroutine[Any, Any, R]) -> R:
        """The result of a coroutine that waits for no clock."""
        task = self.run(lambda: self.create_task(coro))
        return task.result()

    def settle(self) -> None:
        """Run what is ready, and what that makes ready, at this instant. Errors: TimeStandsStill."""
        asyncio._set_running_loop(self)
        try:
            while self._ready:
                handle = self._ready.popleft()
                if not handle.cancelled():
                    self._counted(handle)
                    handle._run()
        finally:
            asyncio._set_running_loop(None)

    def _counted(self, handle: asyncio.Handle) -> None:
        """One more runs at this moment."""
        self._moment, self._ran = self._now, self._ran + 1 if self._moment == self._now else 1
        if self._ran > AT_ONE_MOMENT:
            raise TimeStandsStill(self._now, handle._callback)  # type: ignore[attr-defined]

    def advance(self, seconds: float) -> None:
        """Move the clock, stopping wherever something is due."""
        end = self._now + seconds
        while self._later and self._later[0][0] <= end:
            when, _, handle = heapq.heappop(self._later)
            if not handle.cancelled():
                self._now = max(self._now, when)
                self._ready.append(handle)
                self.settle()
        self._now = end

    def onwards(self) -> bool:
        """Move the clock to what is due next; False if nothing is."""
        while self._later:
            when, _, handle = heapq.heappop(self._later)
            if not handle.cancelled():
                self._now = max(self._now, when)
                self._ready.append(handle)
                self.settle()
                return True
        return False

    def next_due(self) -> float | None:
        """Seconds until something is due, None if nothing will be."""
        due = [when for when, _, handle in self._later if not handle.cancelled()]
        return min(due) - self._now if due else None


class Listener:
    """Stands for the listening socket."""

    def __init__(self) -> None:
        self.sockets = [self]

    def getsockname(self) -> tuple[str, int]:
        """As of a socket."""
        return ("127.0.0.1", 9092)

    async def start_serving(self) -> None:
        """Connections come from VirtualLoop.connect."""


class Transport(asyncio.Transport):
    """The server's end of a connection, and the client's hands on it. written: what the server has sent."""

    def __init__(self, loop: VirtualLoop, protocol: Connection, number: int) -> None:
        super().__init__({"peername": ("127.0.0.1", number)})
        self.protocol = protocol
        self.written = bytearray()
        self.lost = False
        self._loop = loop
        self._closing = False
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """As of a transport."""
        assert not self.lost, "written to a connection that is lost"
        self.written += data

    def is_closing(self) -> bool:
        """As of a transport."""
        return self._closing

    def close(self) -> None:
        """As of a transport."""
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._lose, None)

    abort = close

    def pause_reading(self) -> None:
        """What comes here are a few bytes: nobody needs to hold them back."""

    resume_reading = pause_reading

    def arrives(self, data: bytes | bytearray) -> None:
        """Bytes of the client reach the server."""
        if not self._closing:
            self._loop.run(lambda: arrive(self.protocol, bytes(data)))

    def breaks(self) -> None:
        """The connection is lost."""
        if not self.lost:
            self._closing = True
            self._loop.run(lambda: self._lose(ConnectionResetError()))

    def slow(self, is_slow: bool) -> None:
        """The client reads nothing for a while, and then again."""
        end = self.protocol.pause_writing if is_slow else self.protocol.resume_writing
        self._loop.run(end)

    def _lose(self, why: Exception | None) -> None:
        if not self.lost:
            self.lost = True
            self.protocol.connection_lost(why)
