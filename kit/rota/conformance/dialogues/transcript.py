"""A dialogue as people read it: one line for each message, member ids by short names, times aligned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from rota.conformance.connections.error_codes import error_name, with_codes

RESTARTED = "↻"
"""The mark of a line that says that the target is ended or started again."""

KEPT = 4096
"""Bytes of a frame that a transcript keeps: some cases send a megabyte."""


@dataclass(frozen=True)
class Line:
    """One line of the transcript of a dialogue.

    `at_ms` counts from the start of the case; `who` is the name of the member; `mark` is `→` for a request,
    `←` for an answer, `…` for a silence that was waited out, `×` for a broken connection, `↻` for a target
    that is ended or started again, `·` for a remark. `data` is the frame on the wire, its first `KEPT` bytes,
    and `size` how long it is. `early`: see `Transcript.early`.
    """

    at_ms: float
    who: str
    mark: str
    text: str
    data: bytes = field(default=b"", repr=False, compare=False)
    size: int = field(default=0, repr=False, compare=False)
    early: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True)
class Fold:
    """Lines `first` to `last`, the latter not included, that only lead to something: `lines` say to what.

    How newcomers come together depends on whose request is first, so it is left out of comparisons.
    """

    first: int
    last: int
    lines: tuple[Line, ...]


class Transcript:
    """Requests, answers and remarks, in order; each member id gets a short name, like `@a`.

    `topics`: id of a topic -> its name, which stands for it.
    """

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._start = time.monotonic()
        self.lines: list[Line] = []
        self.folds: list[Fold] = []
        self.names: dict[str, str] = {}
        self.roles: dict[str, str] = {}
        self.topics: dict[object, str] = {}
        self.generation: int | None = None

    def elapsed(self) -> float:
        """Seconds since the case began."""
        return time.monotonic() - self._start

    def add(self, who: str, mark: str, text: str, data: bytes = b"") -> int:
        """Append one line with the present time, and the frame that it tells of; the number of the line."""
        self.lines.append(Line(self.elapsed() * 1000, who, mark, printable(with_codes(text))))
        self.carried(len(self.lines) - 1, data)
        return len(self.lines) - 1

    def carried(self, number: int, data: bytes) -> None:
        """The frame of the line of this number."""
        self.lines[number] = replace(self.lines[number], data=data[:KEPT], size=len(data))

    def early(self, first: int) -> None:
        """Everything since line `first` came too early and is asked again, so it is left out of comparisons.

        What was sent on another connection had not been read yet: that is up to the machine.
        """
        self.lines[first:] = [replace(line, early=True) for line in self.lines[first:]]

    def fold(self, first: int, *summary: tuple[str, str, str]) -> None:
        """Everything since line `first` is summed up by lines given as (who, mark, text); see `Fold`."""
        now = self.elapsed() * 1000
        lines = tuple(Line(now, who, mark, printable(with_codes(text))) for who, mark, text in summary)
        self.folds = [fold for fold in self.folds if fold.first < first]
        self.folds.append(Fold(first, len(self.lines), lines))

    def formed(self, roles: Mapping[str, str], generation: int) -> None:
        """A group has formed in which members have these roles; the first one in a dialogue counts."""
        if self.generation is None:
            self.roles.update(roles)
            self.generation = generation

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
        rest = {name: value for name, value in body.items() if name != "group_id"}
        known = api in _REQUESTS
        words += _REQUESTS[api](self, version, body) if known else self._fields(rest, sort=False)
        return "  ".join(words)

    def answer(self, api: str, body: Mapping[str, Any]) -> str:
        """An answer in one line: the error, and what a client would read on."""
        words = [api, error_name(body["error_code"])] if "error_code" in body else [api]
        words += _ANSWERS[api](self, body) if api in _ANSWERS else self._fields(body, sort=True)
        return "  ".join(words)

    def value(self, name: str, value: Any) -> str:
        """What a field of an answer holds; error codes in it are named."""
        return error_name(value) if name == "error_code" else self._value(name, value, sort=True)

    def _fields(self, body: Mapping[str, Any], sort: bool) -> list[str]:
        """A message without words of its own, field by field. In answers the order in lists means nothing."""
        return [
            f"{name} {self._value(name, body[name], sort)}" for name in body if _is_shown(name, body[name])
        ]

    def _value(self, name: str, value: Any, sort: bool) -> str:
        if isinstance(value, list):
            shown = [self._value(name, item, sort) for item in value]
            means_nothing = sort or name == "topic_partitions"
            return f"[{', '.join(sorted(shown) if means_nothing else shown)}]"
        if isinstance(value, dict):
            fields = self._fields(value, sort)
            if "error_code" in value:
                fields.append(error_name(value["error_code"]))
            return f"({', '.join(fields)})"
        if name == "member_metadata" and value:
            return _digest(value)
        if name in ("group_id", "group_ids", "groups", "groups_names") and value == self._group_id:
            return "the group's"
        if name == "topic_id":
            value = self.topics.get(value, value)
        if isinstance(value, str) and value.startswith(f"{self._group_id}-"):
            return f"the group's{value.removeprefix(self._group_id)}"
        if isinstance(value, bytes):
            return _bytes(value)
        return self.named(value) if name == "member_id" else json.dumps(value, default=str)

    def _join_request(self, version: int, body: Mapping[str, Any]) -> list[str]:
        words = [f"member_id {self.named(body['member_id'])}", *_instance(body)]
        if body["protocol_type"] != "consumer":
            words.append(f"protocol_type {json.dumps(body['protocol_type'])}")
        offered = ", ".join(f"{p['name']}({_digest(p['metadata'])})" for p in body["protocols"])
        words.append(f"protocols [{offered}]")
        words.append(f"session {_duration(body['session_timeout_ms'])}")
        if version >= 1:
            words.append(f"rebalance {_duration(body['rebalance_timeout_ms'])}")
        return words

    def _sync_request(self, version: int, body: Mapping[str, Any]) -> list[str]:
        words = self._heartbeat_request(version, body)
        if version >= 5:
            words.append(f"protocol {body['protocol_type']!r}/{body['protocol_name']!r}")
        if body["assignments"]:
            given = (f"{self.named(a['member_id'])}: {_bytes(a['assignment'])}" for a in body["assignments"])
            words.append(f"assignments {{{', '.join(given)}}}")
        return words

    def _heartbeat_request(self, _version: int, body: Mapping[str, Any]) -> list[str]:
        member_id = f"member_id {self.named(body['member_id'])}"
        return [f"generation {body['generation_id']}", member_id, *_instance(body)]

    def _leave_request(self, version: int, body: Mapping[str, Any]) -> list[str]:
        if version < 3:
            return [f"member_id {self.named(body['member_id'])}"]
        asked = (" ".join((self.named(m["member_id"]), *_instance(m))) for m in body["members"])
        return [f"members [{', '.join(asked)}]"]

    def _join_answer(self, body: Mapping[str, Any]) -> list[str]:
        words = [f"generation {body['generation_id']}", f"member_id {self.named(body['member_id'])}"]
        if body.get("leader"):
            words.append(f"leader {self.named(body['leader'])}")
        if body.get("protocol_name"):
            words.append(f"protocol {body['protocol_name']}")
        if body.get("members"):
            words.append(f"members [{self._ids(m['member_id'] for m in body['members'])}]")
        if body.get("skip_assignment"):
            words.append("skip_assignment")
        return words

    def _sync_answer(self, body: Mapping[str, Any]) -> list[str]:
        refused = body["error_code"] != 0 and body["assignment"] == b""
        return [] if refused else [f"assignment {_bytes(body['assignment'])}"]

    def _leave_answer(self, body: Mapping[str, Any]) -> list[str]:
        each = body.get("members") or []
        said = (f"{self.named(m['member_id'])}: {error_name(m['error_code'])}" for m in each)
        return [f"members [{', '.join(said)}]"] if each else []

    def _list_answer(self, body: Mapping[str, Any]) -> list[str]:
        """Of all groups of the target only those of this dialogue."""
        own = [group for group in body["groups"] if group["group_id"].startswith(self._group_id)]
        return self._fields({"groups": own}, sort=True)

    def _ids(self, member_ids: Iterable[object]) -> str:
        return ", ".join(sorted(self.named(member_id) for member_id in member_ids))


_NO_TOPIC_ID = UUID(int=0)
_NOT_ASKED = -(2**31)  # authorized_operations where nobody asked for them
_NOT_SHOWN = ("throttle_time_ms", "error_code", "error_message", "_tags")
"""Fields that are left out: shown at another place, worded freely, or no matter of the dialogue."""


def _is_shown(name: str, value: object) -> bool:
    """Whether a field has a value: null is none, and neither is what stands for an absent one."""
    return name not in _NOT_SHOWN and value is not None and value not in (_NO_TOPIC_ID, _NOT_ASKED)


def _instance(body: Mapping[str, Any]) -> list[str]:
    instance = body.get("group_instance_id")
    return [] if instance is None else [f"instance {json.dumps(instance)}"]


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
    "ListGroups": Transcript._list_answer,
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
        text = with_names(line.text, names)
        shown.append(f"{line.at_ms:8.0f} ms  {line.who:<{width}} {line.mark} {text}")
    return shown + [f"{name:>11}  is {json.dumps(member_id)}" for member_id, name in names.items()]


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text with short names for member ids: one may be listed before its owner learns it."""
    for member_id, name in names.items():
        text = text.replace(json.dumps(member_id), name)
    return text


def _digest(metadata: bytes) -> str:
    """Metadata is opaque to a coordinator: its length and a check number tell two apart."""
    return f"{len(metadata)} B #{sum(metadata) % 1000:03d}"


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms % 1000 else f"{ms // 1000} s"


def _bytes(data: object) -> str:
    if not isinstance(data, bytes):
        return repr(data)
    return repr(data)[1:] if len(data) <= 40 else f"{len(data)} bytes"
