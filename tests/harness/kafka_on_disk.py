"""Apache Kafka with a folder that outlives it, its tools, and single requests to whatever listens."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.targets import kafka_broker
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.java import find_java
from rota.conformance.targets.kafka_jars import RELEASES, Release, fetched, libraries
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import Process
from rota.wire import decode_response, encode_request, frame

RELEASE = RELEASES["kafka-4.4.0"]
DUMPS = RELEASES["kafka-3.9.2"]
"""The release whose jars have DumpLogSegments; one of its libraries has to be fetched beside them."""

TOOLS_API = f"org.apache.kafka:kafka-tools-api:{DUMPS.version}"


LOADING = 14
METADATA = "Grüße, 世界 🙂"
"""What is kept beside each offset."""


class KafkaOnDisk:
    """A broker that can be stopped and started again on the same data."""

    def __init__(self, folder: Path, settings: Mapping[str, object], release: Release = RELEASE) -> None:
        self._folder, self._release = folder, release
        port, controller = free_ports(2)
        self._host = ("127.0.0.1", port)
        self.address = f"127.0.0.1:{port}"
        self.data = folder / "data"
        node = kafka_broker.Node(1, port, {1: controller})
        node.write(folder, release, {**kafka_broker.USUAL, **settings})
        self._jvm = kafka_broker.java_for(release)
        self._process: Process | None = None

    def start(self) -> None:
        """Start it, for the first time with its storage formatted, and wait until it coordinates groups."""
        storage = ("kafka.tools.StorageTool", "format", "--cluster-id=rotaRotaRotaRotaRotaRQ")
        format_it = (*self._jvm, *storage, "-c", "server.properties")
        broker = (*self._jvm, "kafka.Kafka", "server.properties")
        place = tempfile.mkdtemp(dir=self._folder)
        for name in ("server.properties", self._release.log_file[0]):
            shutil.copy(self._folder / name, place)
        commands = [broker] if self.data.exists() else [format_it, broker]
        self._process = Process(guarded(place, commands))
        self._process.listens(self._host, within=kafka_broker.START_SECONDS)
        wait_until_ready(self._host, kafka_broker.PATIENCE)

    @property
    def session(self) -> int:
        """The process below which it runs."""
        assert self._process is not None
        return self._process.session

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.stop()
            self._process = None


def ask(
    address: str, name: str, version: int, body: Mapping[str, Any], client_id: str = "asker"
) -> dict[str, Any]:
    """One request on a connection of its own, and the body of its response; again while groups are loaded."""
    deadline = time.monotonic() + 20
    while LOADING in set(_error_codes(found := _asked(address, name, version, body, client_id))):
        assert time.monotonic() < deadline, "it goes on loading"
        time.sleep(0.2)
    return found


def _error_codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        yield value.get("error_code", 0)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _error_codes(each)


def _asked(address: str, name: str, version: int, body: Mapping[str, Any], client_id: str) -> dict[str, Any]:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(frame(encode_request(name, version, body, 1, client_id)))
        size = int.from_bytes(_received(connection, 4), "big")
        return decode_response(name, version, _received(connection, size)).body


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more, "the connection is closed"
        data += more
    return data


def commit(address: str, group: str, offset: int, version: int = 8, **more: Any) -> None:
    """Commit an offset of partition 0 of topic t, from outside of group management unless `more` says who."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": METADATA}
    if version >= 6:
        partition["committed_leader_epoch"] = 7
    topics = [{"name": "t", "partitions": [partition]}]
    body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics, **more}
    (topic,) = ask(address, "OffsetCommit", version, body)["topics"]
    assert topic["partitions"][0]["error_code"] == 0


def lead(address: str, group: str, instance: str | None = None, subscription: bytes = b"\x00\x01meta") -> str:
    """A member that has joined alone and has an assignment; its id."""
    protocols = [{"name": "range", "metadata": subscription}]
    joined = ask(
        address,
        "JoinGroup",
        5 if instance else 3,
        {
            "group_id": group,
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 40_000,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": protocols,
            **({"group_instance_id": instance} if instance else {}),
        },
    )
    assert joined["error_code"] == 0
    member = joined["member_id"]
    shares = [{"member_id": member, "assignment": b"\xff\x00share"}]
    body = {"group_id": group, "generation_id": 1, "member_id": member, "assignments": shares}
    assert ask(address, "SyncGroup", 3, body)["error_code"] == 0
    return member


def tools_api() -> Path:
    """The folder of the library that DumpLogSegments needs beside the release's own; fetched once."""
    kept = libraries(DUMPS).parent / "tools-api"
    if not kept.is_dir():
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            to = f"-DoutputDirectory={folder}/jars"
            fetch = ["mvn", "--batch-mode", "--quiet", copy, f"-Dartifact={TOOLS_API}", to]
            subprocess.run(fetch, check=True, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
            if not kept.is_dir():
                Path(folder, "jars").rename(kept)
    return kept


def dumped(segments: Sequence[Path]) -> Iterator[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Key and payload of each record in these segments, as Kafka's DumpLogSegments prints them.

    A control record has no key here, a tombstone no payload.
    """
    java = find_java(DUMPS.java, "Kafka").path
    command = (java, "-cp", f"{fetched(DUMPS).resolve()}/*:{tools_api()}/*", "kafka.tools.DumpLogSegments")
    done = subprocess.run(
        [*command, "--offsets-decoder", "--files", ",".join(map(str, segments))],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "isvalid: false" not in done.stdout
    for line in done.stdout.splitlines():
        if not line.startswith("| offset:"):
            continue
        if " key: " not in line:
            yield None, None
            continue
        key, _, payload = line.partition(" key: ")[2].partition(" payload: ")
        yield json.loads(key), None if payload == "<DELETE>" else json.loads(payload)
