"""What was played in virtual time, as `rota record` writes it: by its own dialogue of each connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rota.generate.player import Message, Played
from rota.history import Event, event_of, line_of
from rota.linearise import Sent
from rota.record.dialogue import (
    BROKER,
    CLIENT,
    CLOSED_BY,
    REQUEST_HEAD,
    RESPONSE_HEAD,
    Counted,
    Dialogue,
)

BEGAN = 1_800_000_000.0
"""Seconds since 1970 at which virtual recordings begin."""

BROKER_AT = "127.0.0.1", 9092

PRODUCERS = 1_000_000_000
"""The number of the first producer's connection, above all others."""

LENGTH = 4
"""Bytes of a frame that tell its length."""


class Recorder:
    """Records what was played. name: of the file that it would write; began: seconds since 1970."""

    def __init__(self, name: str, began: float = BEGAN) -> None:
        self.events: list[Event] = []
        self._name, self._began, self._at = name, began, 0.0
        self._dialogues: dict[int, Dialogue] = {}
        self._lines: dict[str, int] = {}

    def record(self, played: Played) -> list[Event]:
        """All messages, in their order."""
        lines = {one.number: one.connection for one in played.history.events if isinstance(one, Sent)}
        produced = deque(played.produced)
        for place, one in enumerate(played.messages):
            while produced and produced[0][0] <= place:
                self._producers(produced.popleft()[1])
            self._at = one.at
            if one.data:
                self._frame(one, lines[_correlation(one)])
            elif not one.api and not one.sent:
                self._dialogues.pop(one.version).closed(f"{CLOSED_BY} {_who_ends(played, place)}")
        for _, one in produced:
            self._producers(one)
        return self.events

    def _producers(self, message: Message) -> None:
        """A producer has a connection of its own."""
        self._at = message.at
        self._frame(message, self._lines.setdefault(message.client, PRODUCERS + len(self._lines)))

    def _frame(self, message: Message, line: int) -> None:
        payload = message.data[LENGTH:]
        head = REQUEST_HEAD if message.sent else RESPONSE_HEAD
        dialogue = self._dialogue(line)
        begins = dialogue.ask_begins if message.sent else dialogue.answer_begins
        asked = begins(payload[:head], len(payload))
        if asked is not None and asked.recorded:
            (dialogue.asked if message.sent else dialogue.answered)(asked, payload)

    def _dialogue(self, line: int) -> Dialogue:
        if line not in self._dialogues:
            self._dialogues[line] = Dialogue(line, BROKER_AT, None, self._now, self._take, Counted())
        return self._dialogues[line]

    def _now(self) -> tuple[float, str]:
        return self._began + self._at, f"{self._name}#{len(self.events) + 1}"

    def _take(self, event: Event) -> None:
        self.events.append(event_of(line_of(event)))


def _correlation(message: Message) -> int:
    place = REQUEST_HEAD if message.sent else RESPONSE_HEAD
    return int.from_bytes(message.data[place : place + LENGTH], "big")


def _who_ends(played: Played, place: int) -> str:
    """Whose doing the end of a connection is: a client breaks its own, a restart all of them."""
    rest: Sequence[Message] = played.messages[place:]
    after = next((one for one in rest if one.api or one.sent), None)
    is_restart = after is not None and not after.api
    return BROKER if played.odd or is_restart else CLIENT


def frames_of(played: Played, name: str = "proxy.jsonl", began: float = BEGAN) -> list[Event]:
    """The frames of what was played, as events."""
    return Recorder(name, began).record(played)
