"""Sends one request in every version that a target advertises; none of them changes anything.

A target may advertise versions that it cannot read. That is a defect with a case of its own; for all other
cases the versions found here are left out, so that the one defect does not hide what the coordinator does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from rota.conformance.connections.connection import Closed, Connection, Garbage, SentRequest
from rota.conformance.dialogues.negotiation import GROUP_APIS, advertised
from rota.conformance.dialogues.subscription import subscription
from rota.wire import api

_GROUP = "rota-probe"
_STRANGER = "never-handed-out"
_CLOSED = "the connection was closed"
_WAIT = 0.6
"""Seconds; a target that admits strangers leaves JoinGroup unanswered, which is no concern here."""


def unreadable_versions(
    address: tuple[str, int], patience: float, names: Sequence[str] = GROUP_APIS
) -> dict[str, dict[int, str]]:
    """API -> version -> what came instead of an answer, for some requests, those of members if none is named.

    ApiVersions may take `patience` seconds. Raises what `Connection` raises if not even that is answered.
    """
    with closing(Connection(address, _GROUP)) as connection:
        ranges = advertised(connection, patience)
    request = [_Question(address, name, version) for name, version in both_speak(ranges, names)]
    deadline = time.monotonic() + _WAIT
    found: dict[str, dict[int, str]] = {}
    for question in request:
        trouble = question.trouble(deadline)
        if trouble:
            found.setdefault(question.name, {})[question.version] = trouble
    return found


def both_speak(ranges: Mapping[int, tuple[int, int]], names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The requests in every version that is both advertised and known."""
    for name in names:
        known = api(name)
        first, last = ranges.get(known.key, (0, -1))
        for version in range(max(first, known.min_version), min(last, known.max_version) + 1):
            yield name, version


class _Question:
    """An unknown member's request in one version, on its own connection; all are sent before one is read."""

    def __init__(self, address: tuple[str, int], name: str, version: int) -> None:
        self.name = name
        self.version = version
        self._connection = Connection(address, _GROUP)
        try:
            self._request: SentRequest | None = self._connection.send(name, version, _stranger(name, version))
        except Closed:
            self._request = None

    def trouble(self, deadline: float) -> str:
        """What is wrong with the answer, or an empty string; a silence until the deadline is not."""
        with closing(self._connection) as connection:
            try:
                if self._request is None:
                    return _CLOSED
                connection.receive(self._request, max(deadline - time.monotonic(), 0.0))
            except Closed:
                return _CLOSED
            except Garbage as garbage:
                return f"malformed answer: {garbage}"
        return ""


def _stranger(name: str, version: int) -> dict[str, Any]:
    if name == "Metadata":
        return {"topics": []}
    identity = {"group_id": f"{_GROUP}-{name}-{version}", "member_id": _STRANGER}
    if name == "JoinGroup":
        offered = [{"name": "range", "metadata": subscription()}]
        timeouts = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
        return {**identity, **timeouts, "protocol_type": "consumer", "protocols": offered}
    if name == "SyncGroup":
        return {**identity, "generation_id": 1, "protocol_type": "consumer", "protocol_name": "range"}
    if name == "Heartbeat":
        return {**identity, "generation_id": 1}
    members = [{"member_id": _STRANGER}]
    return {
        "group_id": identity["group_id"],
        **({"members": members} if version >= 3 else {"member_id": _STRANGER}),
    }
