"""The reader of captures."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from rota.history import Event
from rota.record.capture.conversation import Conversation
from rota.record.capture.segment import PCAP, PCAPNG, Place, Segment
from rota.record.dialogue import Counted, Dialogue

if TYPE_CHECKING:
    from rota.reading.source import OpenSource  # which imports all readers

MOST_OVER = 10_000
"""So many connections that are over are remembered: what comes late of them begins no new one."""

Ends = frozenset[Place]


@dataclass(frozen=True)
class Captures:
    """Reads pcap and pcapng."""

    name: str = "pcap"
    rotated: bool = False

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether it begins as one of the two formats does."""
        return head.startswith((*PCAP, PCAPNG))

    def read(self, source: OpenSource) -> Iterator[Event]:
        """What clients and brokers say to each other in it."""
        return _Capture(source).events()


class _Capture:
    """The connections of a capture."""

    def __init__(self, source: OpenSource) -> None:
        self._source = source
        self._name = PurePath(source.name).name
        self._events: deque[Event] = deque()
        self._counted = Counted()
        self._open: dict[Ends, Conversation] = {}
        self._over: dict[Ends, None] = {}
        self._segment: Segment | None = None

    def events(self) -> Iterator[Event]:
        from rota.record.capture.packets import Packets  # dpkt is optional

        packets = Packets(self._source.stream())
        for segment in packets:
            self._segment = segment
            self._take(segment)
            yield from self._told()
        for conversation in self._open.values():
            conversation.end()
        yield from self._told()
        if packets.trouble:
            self._source.quarantine(packets.trouble, self._name)
        for what, number in packets.other.items():
            self._source.quarantine(f"{number:,} {what}", self._name)

    def _told(self) -> Iterator[Event]:
        while self._events:
            yield self._events.popleft()

    def _take(self, segment: Segment) -> None:
        ends = frozenset((segment.source, segment.target))
        if len(ends) < 2:
            return
        if segment.syn and segment.acknowledged is None:
            self._over.pop(ends, None)
            if (before := self._open.pop(ends, None)) is not None:
                before.end()
        elif ends in self._over:
            return
        if (conversation := self._open.get(ends)) is None:
            conversation = Conversation(segment, self._source.options.ports, self._begun)
            self._open[ends] = conversation
        conversation.take(segment)
        if conversation.is_tls:
            self._source.quarantine("a connection in TLS, of which nothing can be read", self._origin())
        if conversation.is_over or conversation.is_other:
            del self._open[ends]
            self._over[ends] = None
            if len(self._over) > MOST_OVER:
                del self._over[next(iter(self._over))]

    def _begun(self, client: Place, broker: Place) -> Dialogue:
        number = self._counted.connections + 1
        return Dialogue(number, broker, client, self._now, self._events.append, self._counted)

    def _now(self) -> tuple[float | None, str]:
        return (self._segment.at if self._segment else None), self._origin()

    def _origin(self) -> str:
        return f"{self._name}#{self._segment.number if self._segment else 0}"
