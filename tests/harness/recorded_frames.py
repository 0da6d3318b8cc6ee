"""What clients of rota's server said in virtual time, as `rota record` writes it and as it is read.

The frames go through the recorder's own dialogue of each connection, and each line through its writer's form.
"""

from __future__ import annotations

from harness import scenes
from rota.generate.plan import Plan
from rota.generate.player import Stage
from rota.generate.virtual import in_virtual_time
from rota.history import event_of, line_of
from rota.linearise import Sent
from rota.record.dialogue import BROKER, CLIENT, CLOSED_BY, REQUEST_HEAD, RESPONSE_HEAD, Counted, Dialogue

NO_PLAN = Plan(0, 0, ())
BEGAN = 1_800_000_000.0
"""Seconds since 1970 at which virtual recordings begin."""

BROKER_AT = "127.0.0.1", 9092

LENGTH = 4
"""Bytes of a frame that tell its length."""


class Recorder:
    """Records what was played. name: of the file that it would write."""

    def __init__(self, name):
        self.events = []
        self._name, self._at, self._dialogues = name, 0.0, {}

    def record(self, played):
        """All messages, in their order."""
        lines = {one.number: one.connection for one in played.history.events if isinstance(one, Sent)}
        for place, one in enumerate(played.messages):
            self._at = one.at
            if one.api:
                self._frame(one, lines)
            elif not one.sent:
                self._dialogues.pop(one.version).closed(f"{CLOSED_BY} {_who_ends(played, place)}")
        return self.events

    def _frame(self, message, lines):
        payload = message.data[LENGTH:]
        head = REQUEST_HEAD if message.sent else RESPONSE_HEAD
        place = head - LENGTH
        dialogue = self._dialogue(lines[int.from_bytes(payload[place : place + LENGTH], "big")])
        begins = dialogue.ask_begins if message.sent else dialogue.answer_begins
        asked = begins(payload[:head], len(payload))
        if asked is not None and asked.recorded:
            (dialogue.asked if message.sent else dialogue.answered)(asked, payload)

    def _dialogue(self, line):
        if line not in self._dialogues:
            self._dialogues[line] = Dialogue(line, BROKER_AT, None, self._now, self._take, Counted())
        return self._dialogues[line]

    def _now(self):
        return BEGAN + self._at, f"{self._name}#{len(self.events) + 1}"

    def _take(self, event):
        self.events.append(event_of(line_of(event)))


def _who_ends(played, place):
    """Whose doing the end of a connection is: a client breaks its own, a restart all of them."""
    rest = played.messages[place:]
    after = next((one for one in rest if one.api or one.sent), None)
    is_restart = after is not None and not after.api
    return BROKER if played.odd or is_restart else CLIENT


def frames_of(played, name="proxy.jsonl"):
    """The frames of what was played, as events."""
    return Recorder(name).record(played)


def recorded(scene, profile="rota"):
    """The frames of a scene."""

    async def walk(coordinator):
        stage = Stage(coordinator, scene.__name__)
        await scene(scenes.Scene(stage))
        await stage.silence(0.5)
        stage.close()
        return stage.played(NO_PLAN)

    return frames_of(in_virtual_time(scenes.SETTINGS, walk, profile), f"{scene.__name__}.jsonl")
