"""Well-behaved members: their heartbeats are sent by the clock, whether the last one was answered or not.

A client that waits for its answers sends nothing while the server is frozen, and so hides the freeze. Here
each heartbeat has a moment when it is due, and its latency counts from then.
"""

from __future__ import annotations

import os
import selectors
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from multiprocessing.connection import Connection as Pipe
from time import monotonic

from bench.server_client import Member, group

MEMBERS = 20
EVERY = 0.1
"""Seconds between two heartbeats of one member."""

_ANSWER = 4 + 4 + 1 + 4 + 2 + 1
_ERROR = slice(13, 15)


@dataclass(frozen=True)
class Beat:
    """One heartbeat. due: on the monotonic clock; sent, answered: seconds after that, None if never."""

    due: float
    sent: float | None
    answered: float | None
    error: int


@dataclass(frozen=True)
class Summary:
    """The heartbeats of a stretch of time. Milliseconds; late: how late the clock itself sent at most."""

    beats: int
    p50: float
    p99: float
    most: float
    late: float
    unanswered: int
    refused: int


def summary(beats: Sequence[Beat], since: float, until: float) -> Summary:
    """What was due in this stretch; what has no answer has waited until the end."""
    chosen = [beat for beat in beats if since <= beat.due < until]
    waits = sorted(until - beat.due if beat.answered is None else beat.answered for beat in chosen)
    late = max((beat.sent for beat in chosen if beat.sent is not None), default=0.0)
    unanswered = sum(beat.answered is None for beat in chosen)
    refused = sum(beat.error != 0 for beat in chosen)
    return Summary(
        len(chosen),
        *(_ms(_quantile(waits, share)) for share in (0.5, 0.99, 1)),
        _ms(late),
        unanswered,
        refused,
    )


def _quantile(ascending: Sequence[float], share: float) -> float:
    return ascending[ceil(share * len(ascending)) - 1] if ascending else 0.0


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


@dataclass
class _Member:
    """One connection. out: bytes that the system has not taken; waiting: unanswered beats, in order."""

    connection: Member
    request: bytes
    out: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    closed: bool = False

    def beat(self, due: float) -> None:
        """Sends the heartbeat that was due, as far as the system takes it."""
        self.out += self.request
        self.waiting.append((due, monotonic() - due))
        if self.closed:
            return
        try:
            del self.out[: self.connection.socket.send(self.out)]
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True

    def answers(self) -> Iterator[Beat]:
        """What has been answered."""
        try:
            data = self.connection.socket.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.closed = self.closed or not data
        self.received += data
        while len(self.received) >= _ANSWER:
            due, sent = self.waiting.popleft()
            error = int.from_bytes(self.received[_ERROR], "big", signed=True)
            del self.received[:_ANSWER]
            yield Beat(due, sent, monotonic() - due, error)


CONNECTION_LOST = -2
"""In place of an error code: the heartbeats of a connection that the server has closed."""


def members(address: str, pipe: Pipe, count: int = MEMBERS) -> None:
    """The process: says when all are there, beats until it is told to stop, then says how that went."""
    entered = group(address, count)  # never left: what is measured may have frozen the server
    those = [_Member(each, each.heartbeat()) for each in entered.__enter__()]
    selector = selectors.DefaultSelector()
    for one in those:
        one.connection.socket.setblocking(False)
        selector.register(one.connection.socket, selectors.EVENT_READ, one)
    selector.register(pipe, selectors.EVENT_READ)
    pipe.send("ready")
    pipe.send(_until_told(those, selector, pipe))
    pipe.close()
    os._exit(0)


def _until_told(those: Sequence[_Member], selector: selectors.BaseSelector, pipe: Pipe) -> list[Beat]:
    beats: list[Beat] = []
    begun, number, step = monotonic(), 0, EVERY / len(those)
    while not pipe.poll():
        while (due := begun + number * step) <= monotonic():
            those[number % len(those)].beat(due)
            number += 1
        for key, _ in selector.select(max(0.0, due - monotonic())):
            if isinstance(one := key.data, _Member):
                beats += one.answers()
                if one.closed:
                    selector.unregister(one.connection.socket)
    for one in those:
        error = CONNECTION_LOST if one.closed else 0
        beats += [Beat(due, sent, None, error) for due, sent in one.waiting]
    return beats
