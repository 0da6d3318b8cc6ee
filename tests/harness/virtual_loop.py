"""An event loop in virtual time with connections that exist in memory: a whole server without a socket.

Nothing happens by itself: `settle` runs what is ready, `advance` moves the clock. Deterministic.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from itertools import count

from harness.arrival import arrive


class VirtualLoop(asyncio.AbstractEventLoop):
    """As much of a loop as a server needs. failures: what callbacks have raised."""

    def __init__(self):
        self.failures = []
        self._now = 1_000.0
        self._ready = deque()
        self._later = []
        self._order = count()
        self._factory = None

    def time(self):
        return self._now

    def call_soon(self, callback, *args, context=None):
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._later, (when, next(self._order), handle))
        return handle

    def _timer_handle_cancelled(self, handle):
        """Cancelled handles are skipped when they are due."""

    def create_future(self):
        return asyncio.Future(loop=self)

    def create_task(self, coro, *, name=None, context=None):
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def get_debug(self):
        return False

    def is_running(self):
        return True

    def call_exception_handler(self, context):
        self.failures.append(context)

    async def create_server(self, factory, host=None, port=None, **options):
        """A listener that nobody can reach but `connect`."""
        self._factory = factory
        return Listener()

    def connect(self, number):
        """A connection of a client; `number` is its port."""
        return self.run(lambda: Transport(self, self._factory(), number))

    def run(self, function):
        """Call a function in the loop, and settle."""
        asyncio._set_running_loop(self)
        try:
            result = function()
        finally:
            asyncio._set_running_loop(None)
        self.settle()
        return result

    def complete(self, coro):
        """The result of a coroutine that waits for no clock."""
        task = self.run(lambda: self.create_task(coro))
        return task.result()

    def settle(self):
        """Run what is ready, and what that makes ready, at this instant."""
        asyncio._set_running_loop(self)
        try:
            while self._ready:
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            asyncio._set_running_loop(None)

    def advance(self, seconds):
        """Move the clock, stopping wherever something is due."""
        end = self._now + seconds
        while self._later and self._later[0][0] <= end:
            when, _, handle = heapq.heappop(self._later)
            if not handle.cancelled():
                self._now = max(self._now, when)
                self._ready.append(handle)
                self.settle()
        self._now = end

    def next_due(self):
        """Seconds until something is due, None if nothing will be."""
        due = [when for when, _, handle in self._later if not handle.cancelled()]
        return min(due) - self._now if due else None


class Listener:
    """Stands for the listening socket."""

    def __init__(self):
        self.sockets = [self]

    def getsockname(self):
        return ("127.0.0.1", 9092)

    async def start_serving(self):
        """Connections come from VirtualLoop.connect."""


class Transport(asyncio.Transport):
    """The server's end of a connection, and the client's hands on it."""

    def __init__(self, loop, protocol, number):
        super().__init__({"peername": ("127.0.0.1", number)})
        self.protocol = protocol
        self.written = bytearray()
        self.lost = False
        self._loop = loop
        self._closing = False
        protocol.connection_made(self)

    def write(self, data):
        assert not self.lost, "written to a connection that is lost"
        self.written += data

    def is_closing(self):
        return self._closing

    def close(self):
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._lose, None)

    abort = close

    def pause_reading(self):
        """Bytes of these tests are few: nobody needs to hold them back."""

    resume_reading = pause_reading

    def arrives(self, data):
        """Bytes of the client reach the server."""
        if not self._closing:
            self._loop.run(lambda: arrive(self.protocol, bytes(data)))

    def breaks(self):
        """The connection is lost."""
        if not self.lost:
            self._closing = True
            self._loop.run(lambda: self._lose(ConnectionResetError()))

    def slow(self, is_slow):
        """The client reads nothing for a while, and then again."""
        end = self.protocol.pause_writing if is_slow else self.protocol.resume_writing
        self._loop.run(end)

    def _lose(self, why):
        if not self.lost:
            self.lost = True
            self.protocol.connection_lost(why)
