"""A walk as people read it: the dialogue as those of cases are, a line for each message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rota.conformance.connections.error_codes import with_codes
from rota.conformance.dialogues.transcript import Line, Transcript, printable, render
from rota.generate.player import Message

SILENCE = "·"
"""The mark of a line that no message is."""

LONG = 0.05
"""Seconds from which on a silence is worth a line."""


def dialogue(messages: Sequence[Message], group_id: str) -> list[str]:
    """The lines of a dialogue, times in milliseconds first; then what the short names stand for."""
    return render(*lines_of(messages, group_id))


def lines_of(messages: Sequence[Message], group_id: str) -> tuple[list[Line], Mapping[str, str]]:
    """A line for each message, and one for a long silence before it; and what the short names stand for."""
    transcript = Transcript(group_id)
    lines: list[Line] = []
    began = messages[0].at if messages else 0.0
    before = began
    for one in messages:
        if one.at - before > LONG * 10:
            lines.append(Line((before - began) * 1000, "", SILENCE, f"{one.at - before:.1f} s pass"))
        before = one.at
        mark, text = _words(transcript, one)
        lines.append(Line((one.at - began) * 1000, one.client, mark, printable(with_codes(text)), one.data))
    return lines, transcript.names


def _words(transcript: Transcript, one: Message) -> tuple[str, str]:
    if not one.api and one.sent:
        chosen = ", ".join(f"{name}={value}" for name, value in one.body["settings"].items())
        other = f" with {chosen}" if chosen else ""
        return "⟳", f"the target is ended by {one.body['how']} and started again{other}"
    if not one.api:
        return "×", f"connection {one.version} ends"
    if one.sent:
        return "→", transcript.request(one.api, one.version, one.body)
    if one.api == "JoinGroup":
        transcript.learn(one.client, one.body["member_id"])
    return "←", transcript.answer(one.api, one.body)
