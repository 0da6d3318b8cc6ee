"""How a dialogue begins: versions are negotiated, the coordinator is found and waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from rota.conformance.connections.connection import Connection, NotListening
from rota.conformance.connections.error_codes import NOT_READY, error_name
from rota.conformance.connections.security import beside
from rota.conformance.dialogues.failures import (
    Deviation,
    Interrupted,
    SetupFailed,
    Undecidable,
    Unsupported,
)
from rota.conformance.dialogues.script import Script, span
from rota.conformance.dialogues.ways import USUAL, Way
from rota.wire import all_apis, api, membership_apis

READY_SECONDS = 20.0
"""How long a coordinator may say that it is not there yet."""

_SLICE = 0.5
"""Seconds after which somebody who waits for an answer looks whether the run is to stop."""

GROUP_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
ABOUT_TOPICS = ("Metadata", "CreateTopics")
"""What topics are made with. No case judges it, and a target without it may still have no topics to miss."""

_ADVERTISED = "wire.advertised-versions"
"""The rule that every version is read which is advertised."""

_CLIENT = "rota-conform"

Unreadable = Mapping[str, Mapping[int, str]]
"""API -> the versions that a target advertises but cannot read, with what it does instead."""


@dataclass(frozen=True)
class Wait:
    """How long to wait, in seconds: `patience` for an answer, `ready` for a coordinator; or until `stop`."""

    patience: float
    ready: float = READY_SECONDS
    stop: threading.Event | None = None

    def go_on(self) -> None:
        """Raise `Interrupted` if the run is to stop."""
        if self.stop is not None and self.stop.is_set():
            raise Interrupted


class Dispreferred(str):
    """Why a version is used only where a dialogue needs just this one; what is unreadable is never used."""


class NotReady(Undecidable):
    """The coordinator says that it is not there yet, for longer than is waited for it."""


def open_with(
    script: Script,
    address: tuple[str, int],
    group_id: str,
    unreadable: Unreadable,
    patience: float,
    stop: threading.Event | None = None,
    way: Way = USUAL,
) -> tuple[tuple[str, int], dict[str, int]]:
    """The address of the group's coordinator and the version of each API that this dialogue uses.

    An answer is awaited for `patience` seconds, or until `stop` is set. Versions in `unreadable` are avoided,
    although the target advertises them; `way` may want older ones than the newest. Raises `Unsupported`,
    `Undecidable` (nothing listens, or no answer at all), `Deviation`, `Interrupted`, and what `Connection`
    raises for a target that closes or sends garbage; SetupFailed where it cannot read what it advertises.
    """
    wait = Wait(patience, stop=stop)
    try:
        with closing(Connection(address, _CLIENT)) as connection:
            ranges = advertised(connection, patience, stop)
            versions = _choose(script, ranges, unreadable, way)
            coordinator = find_coordinator(connection, ranges, group_id, wait) or address
        with closing(Connection(coordinator, _CLIENT)) as connection:
            until_it_coordinates(connection, versions, group_id, wait)
    except NotListening as error:
        raise Undecidable(f"nothing listens at {error}") from error
    return coordinator, versions


def wait_until_ready(address: tuple[str, int], patience: float) -> None:
    """Wait until the broker coordinates all groups. Raises as `open_with` where it does not get so far."""
    with closing(Connection(address, _CLIENT)) as connection:
        ranges = advertised(connection, patience)
        coordinator = find_coordinator(connection, ranges, _CLIENT, Wait(patience)) or address
    with closing(Connection(coordinator, _CLIENT)) as connection:
        until_it_coordinates(connection, newest(ranges), _CLIENT, Wait(patience))
        until_all_is_loaded(connection, newest(ranges), Wait(patience))


def newest(ranges: Mapping[int, tuple[int, int]]) -> dict[str, int]:
    """The newest version of each API that is both advertised and known."""
    found = {each.name: (each, *ranges[each.key]) for each in all_apis() if each.key in ranges}
    return {
        name: min(last, each.max_version)
        for name, (each, first, last) in found.items()
        if max(first, each.min_version) <= min(last, each.max_version)
    }


def advertised(
    connection: Connection, patience: float, stop: threading.Event | None = None
) -> dict[int, tuple[int, int]]:
    """What ApiVersions says: API number -> first and last version."""
    body = _ask(connection, "ApiVersions", 0, {}, Wait(patience, stop=stop))
    if body["error_code"] != 0:
        raise Deviation("ApiVersions v0 answered with NONE", error_name(body["error_code"]))
    return {entry["api_key"]: (entry["min_version"], entry["max_version"]) for entry in body["api_keys"]}


def _choose(
    script: Script, ranges: Mapping[int, tuple[int, int]], unreadable: Unreadable, way: Way
) -> dict[str, int]:
    """For each API the highest version that the target reads and advertises, tables and dialogue have."""
    versions = {}
    also = (*ABOUT_TOPICS, *script.needs)
    wanted = {found.name: found for found in (*membership_apis(), *map(api, also))}
    for found in wanted.values():
        first, last = script.needs.get(found.name, (found.min_version, found.max_version))
        lowest, highest = ranges.get(found.key, (0, -1))
        common = range(max(first, lowest), min(last, found.max_version, highest) + 1)
        why = unreadable.get(found.name, {})
        spoken = [v for v in common if v not in why] or [
            v for v in common if isinstance(why[v], Dispreferred)
        ]
        if spoken:
            versions[found.name] = way.version(found.name, spoken)
        elif found.name in script.needs or found.name in GROUP_APIS:
            said = span(lowest, highest) if found.key in ranges else "nothing"
            wanted_versions = f"{found.name} v{span(first, last)}"
            if common:
                cannot = f"advertised is {said}, but the target cannot read v{', v'.join(map(str, common))}"
                raise SetupFailed(wanted_versions, "a version that it reads", cannot, _ADVERTISED)
            raise Unsupported(f"needs {wanted_versions}, advertised is {said}")
    return versions


def find_coordinator(
    connection: Connection, ranges: Mapping[int, tuple[int, int]], group_id: str, wait: Wait
) -> tuple[str, int] | None:
    """Where FindCoordinator says the group is; None for a target that has no such request.

    Raises `Undecidable` for a refusal, and for a coordinator that is not there in time.
    """
    if 10 not in ranges:
        return None
    version = min(ranges[10][1], 3)
    if version < ranges[10][0]:
        return None
    deadline = time.monotonic() + wait.ready
    while True:
        body = _ask(connection, "FindCoordinator", version, {"key": group_id, "key_type": 0}, wait)
        code = body["error_code"]
        if code == 0:
            return beside(connection.address, body["host"], body["port"])
        if code not in NOT_READY:
            raise Undecidable(f"FindCoordinator answers {error_name(code)}")
        if time.monotonic() > deadline:
            raise NotReady(f"FindCoordinator still answers {error_name(code)} after {wait.ready:g} s")
        time.sleep(0.1)


def until_it_coordinates(
    connection: Connection, versions: Mapping[str, int], group_id: str, wait: Wait
) -> None:
    """Requests of nobody until the coordinator no longer says that it is loading the group, or elsewhere.

    Kafka answers a heartbeat NONE while it loads. Whoever is answered so asks by LeaveGroup, which is refused
    meanwhile, and which changes nothing for a member that is nowhere.
    """
    group, nobody = {"group_id": group_id}, {"member_id": "nobody"}
    beat = {**group, **nobody, "generation_id": 0}
    left = {**group, **({"members": [nobody]} if versions.get("LeaveGroup", 0) >= 3 else nobody)}
    deadline = time.monotonic() + wait.ready
    while True:
        code = _ask(connection, "Heartbeat", versions["Heartbeat"], beat, wait)["error_code"]
        if code == 0 and "LeaveGroup" in versions:
            code = _ask(connection, "LeaveGroup", versions["LeaveGroup"], left, wait)["error_code"]
        if code not in NOT_READY:
            return
        if time.monotonic() > deadline:
            raise NotReady(f"the coordinator is not ready after {wait.ready:g} s: {error_name(code)}")
        time.sleep(0.1)


def until_all_is_loaded(connection: Connection, versions: Mapping[str, int], wait: Wait) -> None:
    """ListGroups until it is not refused: as long as any partition of the offsets topic is loading, it is."""
    deadline = time.monotonic() + wait.ready
    while "ListGroups" in versions:
        code = _ask(connection, "ListGroups", versions["ListGroups"], {}, wait)["error_code"]
        if code not in NOT_READY:
            return
        if time.monotonic() > deadline:
            raise NotReady(f"ListGroups still answers {error_name(code)} after {wait.ready:g} s")
        time.sleep(0.1)


def _ask(
    connection: Connection, name: str, version: int, body: Mapping[str, Any], wait: Wait
) -> dict[str, Any]:
    request = connection.send(name, version, body)
    deadline = time.monotonic() + wait.patience
    while True:
        wait.go_on()
        left = max(deadline - time.monotonic(), 0.0)
        answer = connection.receive(request, min(left, _SLICE))
        if answer is not None:
            return answer.body
        if left <= _SLICE:
            raise Undecidable(f"no answer to {name} in {wait.patience:g} s")
