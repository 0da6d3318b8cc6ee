"""Before the first walk: the target's versions, its coordinator, and topics whose offsets are committed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from rota.conformance.connections.connection import Connection
from rota.conformance.connections.error_codes import error_name
from rota.conformance.connections.security import beside
from rota.conformance.dialogues.failures import Undecidable
from rota.conformance.dialogues.negotiation import advertised, newest, wait_until_ready
from rota.conformance.dialogues.unreadable_versions import both_speak, unreadable_versions
from rota.generate.cast import TOPICS, Terms, versions_in_common
from rota.generate.consumer.cast import SHARED
from rota.generate.lateness import Lateness
from rota.generate.lines import to_address
from rota.generate.player import Coordinator
from rota.generate.settings import broker_config, consumer_terms, looks_every_ms
from rota.kernel import FrozenMap
from rota.spec import Node, Profile
from rota.spec.consumer.messages import Topic, Topics

_CLIENT = "rota-walks"

HEARTBEAT = "ConsumerGroupHeartbeat"

TOPIC_IDS_SINCE = 10
"""The first version of Metadata whose answer has ids of topics."""


def reach(
    address: tuple[str, int], settings: Mapping[str, int], profile: Profile, patience: float
) -> Coordinator:
    """The coordinator of a target, ready to be walked on.

    Errors: Undecidable where it is not there in time, or has no topics; what `Connection` raises.
    """
    wait_until_ready(address, patience)
    with closing(Connection(address, _CLIENT)) as connection:
        ranges = advertised(connection, patience)
        named = {**newest(ranges), **_metadata(address, ranges, patience)}
        _topics(connection, named, patience)
        topics = _known(connection, named, patience)
        node = _node(connection, newest(ranges), patience)
    every, versions = looks_every_ms(settings), versions_in_common(ranges)
    consumer = consumer_terms(settings, topics, profile) if topics and HEARTBEAT in versions else None
    terms = Terms(broker_config(settings), versions, looks_every_ms=every, consumer=consumer)
    lacking = [
        name for name in ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup") if not terms.spoken(name)
    ]
    if lacking:
        raise Undecidable(f"it has no {' and no '.join(lacking)} that could be asked")
    there = beside(address, node.host, node.port) if node is not None and node.port > 0 else address
    unread = _unreadable(there, ranges, patience)
    return Coordinator(
        to_address(there), terms, profile, Lateness(), node, looks=every is None, unreadable=unread
    )


def _topics(connection: Connection, versions: Mapping[str, int], patience: float) -> None:
    """Have the topics made, where the target has any."""
    if "Metadata" not in versions:
        return
    sizes = dict.fromkeys(TOPICS, 1) | (SHARED if HEARTBEAT in versions else {})
    if "CreateTopics" in versions:
        wanted = [
            {"name": name, "num_partitions": size, "replication_factor": 1, "assignments": [], "configs": []}
            for name, size in sizes.items()
        ]
        asked = {"topics": wanted, "timeout_ms": 5000, "validate_only": False}
        _ask(connection, "CreateTopics", versions, asked, patience)
    deadline = time.monotonic() + patience
    while True:
        named = {"topics": [{"name": name} for name in sizes], "allow_auto_topic_creation": True}
        found = _ask(connection, "Metadata", versions, named, patience)["topics"]
        errors = {each["error_code"] for one in found for each in (one, *one["partitions"])}
        if errors == {0}:
            return
        if time.monotonic() > deadline:
            told = ", ".join(sorted(map(error_name, errors))) or "no topic"
            raise Undecidable(f"it makes no topics: {told}")
        time.sleep(0.2)


def _known(connection: Connection, versions: Mapping[str, int], patience: float) -> Topics:
    """All topics that there are, with their ids; none where the target does not tell ids."""
    if HEARTBEAT not in versions or versions.get("Metadata", 0) < TOPIC_IDS_SINCE:
        return FrozenMap()
    told = _ask(connection, "Metadata", versions, {"topics": None}, patience)["topics"]
    return FrozenMap(
        (one["name"], Topic(str(one["topic_id"]), len(one["partitions"])))
        for one in told
        if not one["error_code"]
    )


def _metadata(
    address: tuple[str, int], ranges: Mapping[int, tuple[int, int]], patience: float
) -> dict[str, int]:
    """The newest version of Metadata that the target answers readably; empty where there is none."""
    wrong = unreadable_versions(address, patience, ("Metadata",)).get("Metadata", {})
    right = {version for _, version in both_speak(ranges, ("Metadata",))} - set(wrong)
    return {"Metadata": max(right)} if right else {}


def _unreadable(
    address: tuple[str, int], ranges: Mapping[int, tuple[int, int]], patience: float
) -> dict[str, int]:
    """Of an API of members the first version from which on it is readable in none, but the very first."""
    found = {}
    wrong = unreadable_versions(address, patience)
    for name, troubles in wrong.items():
        versions = [version for _, version in both_speak(ranges, (name,))]
        right = [version for version in versions if version not in troubles]
        if right and right[-1] != versions[-1]:
            found[name] = right[-1] + 1
    return found


def _node(connection: Connection, versions: Mapping[str, int], patience: float) -> Node | None:
    """The broker that coordinates groups; of several brokers that of one group stands for all."""
    if "FindCoordinator" not in versions:
        return None
    version = {"FindCoordinator": min(versions["FindCoordinator"], 3)}
    key = {"key": f"{_CLIENT}-{os.urandom(4).hex()}", "key_type": 0}
    found = _ask(connection, "FindCoordinator", version, key, patience)
    if found["error_code"] != 0:
        raise Undecidable(f"FindCoordinator answers {error_name(found['error_code'])}")
    return Node(found["node_id"], found["host"], found["port"])


def _ask(
    connection: Connection, name: str, versions: Mapping[str, int], body: Mapping[str, Any], patience: float
) -> dict[str, Any]:
    answer = connection.receive(connection.send(name, versions[name], body), patience)
    if answer is None:
        raise Undecidable(f"no answer to {name} in {patience:g} s")
    return answer.body
