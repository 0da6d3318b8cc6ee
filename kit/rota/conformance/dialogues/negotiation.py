"""How a dialogue begins: versions are negotiated, the coordinator is found and waited for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from rota.conformance.connections.connection import Connection, NotListening
from rota.conformance.connections.error_codes import NOT_READY, error_name
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.script import Script, span
from rota.wire import api, membership_apis

READY_SECONDS = 20.0
"""How long a coordinator may say that it is not there yet."""

GROUP_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
_CLIENT = "rota-conform"
_HEARTBEAT = api("Heartbeat")


Unreadable = Mapping[str, Mapping[int, str]]
"""API -> the versions that a target advertises but cannot read, with what it does instead."""


class Dispreferred(str):
    """Why a version is used only where a dialogue needs just this one; what is unreadable is never used."""


class Unsupported(Exception):
    """The target does not advertise what the dialogue needs."""


def open_with(
    script: Script, address: tuple[str, int], group_id: str, unreadable: Unreadable, patience: float
) -> tuple[tuple[str, int], dict[str, int]]:
    """The address of the group's coordinator and the version of each API that this dialogue uses.

    An answer is awaited for `patience` seconds. Versions in `unreadable` are avoided, although the target
    advertises them. Raises `Unsupported`, `Undecidable` (nothing listens, or no answer at all), `Deviation`,
    and what `Connection` raises for a target that closes or sends garbage.
    """
    try:
        with closing(Connection(address, _CLIENT)) as connection:
            ranges = advertised(connection, patience)
            versions = _choose(script, ranges, unreadable)
            coordinator = _coordinator(connection, ranges, group_id, patience) or address
        with closing(Connection(coordinator, _CLIENT)) as connection:
            _wait_until_ready(connection, versions, group_id, patience)
    except NotListening as error:
        raise Undecidable(f"nothing listens at {error}") from error
    return coordinator, versions


def wait_until_ready(address: tuple[str, int], patience: float) -> None:
    """Wait until the broker coordinates groups. Raises as `open_with` where it does not get so far."""
    with closing(Connection(address, _CLIENT)) as connection:
        ranges = advertised(connection, patience)
        _coordinator(connection, ranges, _CLIENT, patience)
        newest = min(ranges[_HEARTBEAT.key][1], _HEARTBEAT.max_version)
        _wait_until_ready(connection, {_HEARTBEAT.name: newest}, _CLIENT, patience)


def advertised(connection: Connection, patience: float) -> dict[int, tuple[int, int]]:
    """What ApiVersions says: API number -> first and last version."""
    body = _ask(connection, "ApiVersions", 0, {}, patience)
    if body["error_code"] != 0:
        raise Deviation("ApiVersions v0 answered with NONE", error_name(body["error_code"]))
    return {entry["api_key"]: (entry["min_version"], entry["max_version"]) for entry in body["api_keys"]}


def _choose(script: Script, ranges: Mapping[int, tuple[int, int]], unreadable: Unreadable) -> dict[str, int]:
    """For each API the highest version that the target reads and advertises, tables and dialogue have."""
    versions = {}
    wanted = {found.name: found for found in (*membership_apis(), *map(api, script.needs))}
    for found in wanted.values():
        first, last = script.needs.get(found.name, (found.min_version, found.max_version))
        lowest, highest = ranges.get(found.key, (0, -1))
        common = range(max(first, lowest), min(last, found.max_version, highest) + 1)
        why = unreadable.get(found.name, {})
        spoken = [v for v in common if v not in why] or [
            v for v in common if isinstance(why[v], Dispreferred)
        ]
        if spoken:
            versions[found.name] = spoken[-1]
        elif found.name in script.needs or found.name in GROUP_APIS:
            said = span(lowest, highest) if found.key in ranges else "nothing"
            lack = f"needs {found.name} v{span(first, last)}, advertised is {said}"
            if common:
                raise Undecidable(f"{lack}, but the target cannot read v{', v'.join(map(str, common))}")
            raise Unsupported(lack)
    return versions


def _coordinator(
    connection: Connection, ranges: Mapping[int, tuple[int, int]], group_id: str, patience: float
) -> tuple[str, int] | None:
    """Where FindCoordinator says the group is; None for a target that has no such request."""
    if 10 not in ranges:
        return None
    version = min(ranges[10][1], 3)
    if version < ranges[10][0]:
        return None
    deadline = time.monotonic() + READY_SECONDS
    while True:
        body = _ask(connection, "FindCoordinator", version, {"key": group_id, "key_type": 0}, patience)
        if body["error_code"] == 0:
            return body["host"], body["port"]
        if body["error_code"] not in NOT_READY or time.monotonic() > deadline:
            raise Undecidable(f"FindCoordinator answers {error_name(body['error_code'])}")
        time.sleep(0.1)


def _wait_until_ready(
    connection: Connection, versions: Mapping[str, int], group_id: str, patience: float
) -> None:
    """Heartbeats of nobody until the coordinator no longer says that it is loading or elsewhere."""
    nobody = {"group_id": group_id, "generation_id": 0, "member_id": "nobody"}
    deadline = time.monotonic() + READY_SECONDS
    while True:
        code = _ask(connection, "Heartbeat", versions["Heartbeat"], nobody, patience)["error_code"]
        if code not in NOT_READY:
            return
        if time.monotonic() > deadline:
            raise Undecidable(f"the coordinator is not ready after {READY_SECONDS:g} s: {error_name(code)}")
        time.sleep(0.1)


def _ask(
    connection: Connection, name: str, version: int, body: Mapping[str, Any], patience: float
) -> dict[str, Any]:
    answer = connection.receive(connection.send(name, version, body), within=patience)
    if answer is None:
        raise Undecidable(f"no answer to {name} in {patience:g} s")
    return answer.body
