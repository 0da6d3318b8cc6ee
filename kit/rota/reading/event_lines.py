"""The reader of the line format itself: what `rota record` writes, and any other reader's output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rota.history import Event, LineError, event_of
from rota.reading.source import OpenSource

KEYS = (b'"schema"', b'"origin"', b'"kind"')


@dataclass(frozen=True)
class EventLines:
    """Reads events, one JSON object a line."""

    name: str = "events"
    rotated: bool = True

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether one of the first lines is an event, keys in whatever order."""
        return any(
            line.startswith(b"{") and all(key in line for key in KEYS) for line in head.split(b"\n", 20)[:20]
        )

    def read(self, source: OpenSource) -> Iterator[Event]:
        """The events, with the origin that they were told with."""
        return (event for _, event in told(source))


def told(source: OpenSource) -> Iterator[tuple[bytes, Event]]:
    """Each event with its line."""
    for line in source.lines():
        if not line or line.isspace():
            continue
        try:
            yield line, event_of(line)
        except LineError as error:
            source.quarantine("the last line is cut off" if source.is_cut else str(error))
