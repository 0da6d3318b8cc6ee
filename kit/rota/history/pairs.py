"""Requests with the responses that answer them, connection by connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from rota.history.event import Event, Kind

MOST_WAITING = 1000
"""Requests of a connection that may wait for an answer; of more the oldest is given up."""

CLOSED = "the connection was closed before an answer"
ENDED = "the history ends before an answer"
REUSED = "its correlation id was used again before an answer"
FORGOTTEN = f"no answer before {MOST_WAITING:,} further requests"
BEGUN_LATE = "the history begins after its request, or has lost it"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what answered it.

    connection: its name, another one for each connection of each source; asked: None of a response whose
    request was not seen; answered: None of a request that was not answered, or whose answer was not seen;
    lost: which of the two is missing and why, "" where both are there; gap: why frames of its connection were
    lost while it waited, "" where none were.
    """

    connection: str
    asked: Event | None
    answered: Event | None
    lost: str = ""
    gap: str = ""


@dataclass(slots=True)
class _Waiting:
    """What was asked on a connection and not answered yet: by correlation id, oldest first."""

    asked: dict[int, Event] = field(default_factory=dict)
    gaps: dict[int, str] = field(default_factory=dict)


def conversations(events: Iterable[Event]) -> Iterator[Exchange]:
    """The exchanges of a history, each when its answer was seen or when none can come any more.

    Events are in the order of their time, of any number of sources; what are no frames is passed over. Memory
    grows with what waits for an answer alone.
    """
    connections: dict[str, _Waiting] = {}
    for event in events:
        if event.kind not in _OF_CONNECTIONS or "connection" not in event.data:
            continue
        name = connection_of(event)
        if event.kind in (Kind.OPENED, Kind.CLOSED):
            yield from _given_up(name, connections.pop(name, _Waiting()), CLOSED)
            continue
        waiting = connections.setdefault(name, _Waiting())
        if event.kind is Kind.REQUEST:
            yield from _asked(name, waiting, event)
        elif event.kind is Kind.RESPONSE:
            yield _answered(name, waiting, event)
        else:
            waiting.gaps |= dict.fromkeys(waiting.asked, event.reason or "frames are missing")
    for name, waiting in connections.items():
        yield from _given_up(name, waiting, ENDED)


def connection_of(event: Event) -> str:
    """The name of an event's connection: sources number them anew."""
    return f"{event.origin.rpartition('#')[0]}#{event.data['connection']}"


def _asked(name: str, waiting: _Waiting, request: Event) -> Iterator[Exchange]:
    number = request.data["correlation"]
    if (before := waiting.asked.pop(number, None)) is not None:
        yield Exchange(name, before, None, REUSED, waiting.gaps.pop(number, ""))
    waiting.asked[number] = request
    for oldest in list(islice(waiting.asked, max(0, len(waiting.asked) - MOST_WAITING))):
        yield Exchange(name, waiting.asked.pop(oldest), None, FORGOTTEN, waiting.gaps.pop(oldest, ""))


def _answered(name: str, waiting: _Waiting, response: Event) -> Exchange:
    number = response.data["correlation"]
    request = waiting.asked.pop(number, None)
    lost = BEGUN_LATE if request is None else ""
    return Exchange(name, request, response, lost, waiting.gaps.pop(number, ""))


def _given_up(name: str, waiting: _Waiting, why: str) -> Iterator[Exchange]:
    for number, request in waiting.asked.items():
        yield Exchange(name, request, None, why, waiting.gaps.get(number, ""))


_OF_CONNECTIONS = (Kind.OPENED, Kind.REQUEST, Kind.RESPONSE, Kind.CLOSED, Kind.GAP)
