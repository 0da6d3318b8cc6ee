"""A dialogue as people read it: one line for each message, member ids by short names, times aligned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from rota.conformance.codes import error_name
from rota.conformance.model import Line


class Transcript:
    """What was said and heard, in order; each member id gets a short name, like `@a`."""

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._start = time.monotonic()
        self.lines: list[Line] = []
        self.names: dict[str, str] = {}

    def elapsed(self) -> float:
        """Seconds since the case began."""
        return time.monotonic() - self._start

    def add(self, who: str, mark: str, text: str) -> None:
        """Append one line with the present time."""
        self.lines.append(Line(self.elapsed() * 1000, who, mark, printable(text)))

    def learn(self, who: str, member_id: object) -> None:
        """Name a member id that was met for the first time after the member that was given it."""
        if not isinstance(member_id, str) or not member_id or member_id in self.names:
            return
        taken = set(self.names.values())
        name, number = f"@{who}", 2
        while name in taken:
            name, number = f"@{who}{number}", number + 1
        self.names[member_id] = name

    def named(self, member_id: object) -> str:
        """The short name of a member id, or the id itself in quotes."""
        if isinstance(member_id, str) and member_id in self.names:
            return self.names[member_id]
        return json.dumps(member_id) if isinstance(member_id, str) else repr(member_id)

    def request(self, api: str, version: int, body: Mapping[str, Any]) -> str:
        """A request in one line; the group is named only where it is not the group of the case."""
        words = [f"{api} v{version}"]
        group_id = body.get("group_id", self._group_id)
        if group_id != self._group_id:
            words.append(f"group_id {json.dumps(group_id)}")
        words += _REQUESTS[api](self, version, body) if api in _REQUESTS else []
        return "  ".join(words)

    def answer(self, api: str, body: Mapping[str, Any]) -> str:
        """An answer in one line: the error, and what a client would read on."""
        words = [api, error_name(body.get("error_code", 0))]
        words += _ANSWERS[api](self, body) if api in _ANSWERS else []
        return "  ".join(words)

    def _join_request(self, version: int, body: Mapping[str, Any]) -> list[str]:
        words = [f"member_id {self.named(body['member_id'])}"]
        if body["protocol_type"] != "consumer":
            words.append(f"protocol_type {json.dumps(body['protocol_type'])}")
        offered = ", ".join(f"{p['name']}({_digest(p['metadata'])})" for p in body["protocols"])
        words.append(f"protocols [{offered}]")
        words.append(f"session {_duration(body['session_timeout_ms'])}")
        if version >= 1:
            words.append(f"rebalance {_duration(body['rebalance_timeout_ms'])}")
        return words

    def _sync_request(self, version: int, body: Mapping[str, Any]) -> list[str]:
        words = [f"generation {body['generation_id']}", f"member_id {self.named(body['member_id'])}"]
        if version >= 5:
            words.append(f"protocol {body['protocol_type']!r}/{body['protocol_name']!r}")
        if body["assignments"]:
            given = (f"{self.named(a['member_id'])}: {_bytes(a['assignment'])}" for a in body["assignments"])
            words.append(f"assignments {{{', '.join(given)}}}")
        return words

    def _heartbeat_request(self, _version: int, body: Mapping[str, Any]) -> list[str]:
        return [f"generation {body['generation_id']}", f"member_id {self.named(body['member_id'])}"]

    def _leave_request(self, version: int, body: Mapping[str, Any]) -> list[str]:
        if version < 3:
            return [f"member_id {self.named(body['member_id'])}"]
        return [f"members [{self._ids(m['member_id'] for m in body['members'])}]"]

    def _join_answer(self, body: Mapping[str, Any]) -> list[str]:
        words = [f"generation {body['generation_id']}", f"member_id {self.named(body['member_id'])}"]
        if body.get("leader"):
            words.append(f"leader {self.named(body['leader'])}")
        if body.get("protocol_name"):
            words.append(f"protocol {body['protocol_name']}")
        if body.get("members"):
            words.append(f"members [{self._ids(m['member_id'] for m in body['members'])}]")
        return words

    def _sync_answer(self, body: Mapping[str, Any]) -> list[str]:
        refused = body["error_code"] != 0 and body["assignment"] == b""
        return [] if refused else [f"assignment {_bytes(body['assignment'])}"]

    def _leave_answer(self, body: Mapping[str, Any]) -> list[str]:
        each = body.get("members") or []
        said = (f"{self.named(m['member_id'])}: {error_name(m['error_code'])}" for m in each)
        return [f"members [{', '.join(said)}]"] if each else []

    def _ids(self, member_ids: Iterable[object]) -> str:
        return ", ".join(sorted(self.named(member_id) for member_id in member_ids))


_REQUESTS = {
    "JoinGroup": Transcript._join_request,
    "SyncGroup": Transcript._sync_request,
    "Heartbeat": Transcript._heartbeat_request,
    "LeaveGroup": Transcript._leave_request,
}
_ANSWERS = {
    "JoinGroup": Transcript._join_answer,
    "SyncGroup": Transcript._sync_answer,
    "LeaveGroup": Transcript._leave_answer,
}


def printable(text: str) -> str:
    """The text with control characters escaped: a target may send any, a terminal should see none."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def render(lines: Iterable[Line], names: Mapping[str, str]) -> list[str]:
    """The lines of a dialogue, aligned, times in milliseconds first; then what the short names stand for."""
    lines = list(lines)
    width = max((len(line.who) for line in lines), default=0)
    shown = []
    for line in lines:
        text = line.text
        for member_id, name in names.items():  # an id may be listed before its owner learns it
            text = text.replace(json.dumps(member_id), name)
        shown.append(f"{line.at_ms:8.0f} ms  {line.who:<{width}} {line.mark} {text}")
    return shown + [f"{name:>11}  is {json.dumps(member_id)}" for member_id, name in names.items()]


def _digest(metadata: bytes) -> str:
    """Metadata is opaque to a coordinator: its length and a check number tell two apart."""
    return f"{len(metadata)} B #{sum(metadata) % 1000:03d}"


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms % 1000 else f"{ms // 1000} s"


def _bytes(data: object) -> str:
    if not isinstance(data, bytes):
        return repr(data)
    return repr(data)[1:] if len(data) <= 40 else f"{len(data)} bytes"
