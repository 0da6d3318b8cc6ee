"""The load of `bench.server`: members of a group over the wire, and a compiled client for heartbeats.

The server has to be the limit. So frames are made beforehand, and answers are looked at and not decoded.
"""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any
from uuid import uuid4

from rota.wire import decode_response, encode_request, frame

SOURCE = Path(__file__).with_name("server_load.c")
COMPILER = "cc"

NOT_YET = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: Kafka makes its topic first."""

MEMBER_ID_REQUIRED = 79
COMMIT_VERSION = 9
"""The last one that names topics."""

PATIENCE = 60
"""Seconds for one answer, and until there is a coordinator."""

SESSION_MS = 900_000
"""Members live as long as a measurement of them and of the other side."""

_ANSWER = struct.Struct(">ixihi")
"""Correlation id, no tags, throttle time, error, and in JoinGroup's the generation."""

_GENERATION = 0x5A5A5A5A
"""Stands for the generation in frames that are made before there is one; no id has four of this letter."""


class Failed(Exception):
    """An answer is an error: the rates would mean nothing."""


class Member:
    """One member on one connection. It joins with other metadata each time."""

    def __init__(self, address: str, group_id: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.group_id = group_id
        self.member_id = ""
        self.generation_id = -1
        self._joins: list[bytes] = []
        self._sync = b""

    def call(self, name: str, version: int, **body: Any) -> Mapping[str, Any]:
        """One request and the body of its answer."""
        self.socket.sendall(frame(encode_request(name, version, body, 1, "bench")))
        return decode_response(name, version, self.payload()).body

    def payload(self) -> bytes:
        """One response without its length."""
        length = self.stream.read(4)
        if len(length) < 4:
            raise Failed("the connection was closed; the rates would mean nothing")
        return self.stream.read(int.from_bytes(length, "big"))

    def join_body(self, metadata: bytes) -> dict[str, Any]:
        """A JoinGroup."""
        return {
            "group_id": self.group_id,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": PATIENCE * 1000,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": metadata}],
        }

    def enter(self) -> None:
        """Gets a member id, as soon as there is a coordinator."""
        until = monotonic() + PATIENCE
        while True:
            answer = self.call("JoinGroup", 9, **self.join_body(b""))
            if answer["error_code"] not in NOT_YET:
                break
            if monotonic() > until:
                raise Failed(f"there is no coordinator after {PATIENCE} s")
            self.call("FindCoordinator", 4, key_type=0, coordinator_keys=[self.group_id])
            sleep(0.2)
        expect(answer["error_code"], MEMBER_ID_REQUIRED)
        self.member_id = answer["member_id"]
        bodies = [self.join_body(metadata) for metadata in (b"one", b"two")]
        self._joins = [frame(encode_request("JoinGroup", 9, body, 1, "bench")) for body in bodies]
        self.assign(())

    def place(self) -> dict[str, Any]:
        """Group, generation and member."""
        ids = {"group_id": self.group_id, "member_id": self.member_id}
        return {**ids, "generation_id": self.generation_id}

    def assign(self, members: Sequence[Member]) -> None:
        """Its next SyncGroups bring shares for these."""
        body = self.place() | {"generation_id": _GENERATION}
        body |= {"protocol_type": "consumer", "protocol_name": "range"}
        body["assignments"] = [{"member_id": each.member_id, "assignment": b"share"} for each in members]
        self._sync = frame(encode_request("SyncGroup", 5, body, 1, "bench"))

    def join(self) -> None:
        """Sends a JoinGroup."""
        self._joins.reverse()
        self.socket.sendall(self._joins[0])

    def joined(self) -> None:
        """Takes the answer."""
        _, _, error, self.generation_id = _ANSWER.unpack_from(self.payload())
        expect(error)

    def sync(self) -> None:
        """Sends a SyncGroup."""
        self.socket.sendall(
            self._sync.replace(_GENERATION.to_bytes(4, "big"), self.generation_id.to_bytes(4, "big"), 1)
        )

    def synced(self) -> None:
        """Takes the answer."""
        _, _, error, _ = _ANSWER.unpack_from(self.payload() + bytes(4))
        expect(error)

    def heartbeat(self) -> bytes:
        """The frame of a Heartbeat."""
        return frame(encode_request("Heartbeat", 4, self.place(), 1, "bench"))

    def commit(self, topic: str) -> bytes:
        """The frame of an OffsetCommit, of the topic's first partition."""
        offsets = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]
        body = self.place()
        body["generation_id_or_member_epoch"] = body.pop("generation_id")
        body["topics"] = [{"name": topic, "partitions": offsets}]
        return frame(encode_request("OffsetCommit", COMMIT_VERSION, body, 1, "bench"))

    def close(self) -> None:
        """Closes the connection."""
        self.stream.close()
        self.socket.close()


def expect(error: int, wanted: int = 0) -> None:
    """Errors: Failed for any other error code."""
    if error != wanted:
        raise Failed(f"error {error} instead of {wanted}; the rates would mean nothing")


def rebalance(members: Sequence[Member]) -> None:
    """All join, then all sync."""
    for member in members:
        member.join()
    for member in members:
        member.joined()
    for member in members:
        member.sync()
    for member in members:
        member.synced()


@contextmanager
def group(address: str, count: int) -> Iterator[list[Member]]:
    """A Stable group of so many members, the leader first.

    Whoever is alone first leads; ids that were handed out hold up the next rebalance until all have joined.
    """
    group_id = f"bench-{uuid4()}"
    members: list[Member] = []
    try:
        for _ in range(count):
            members.append(Member(address, group_id))
            members[-1].enter()
        leader = members[0]
        leader.assign(members[:1])
        rebalance(members[:1])
        leader.assign(members)
        rebalance(members)
        yield members
        leaving = [{"member_id": member.member_id} for member in members]
        expect(leader.call("LeaveGroup", 5, group_id=group_id, members=leaving)["error_code"])
    finally:
        for member in members:
            member.close()


def answer_to(member: Member) -> bytes:
    """The frame that answers its Heartbeat. All of them are the same, since they have one correlation id."""
    member.socket.sendall(member.heartbeat())
    payload = member.payload()
    _, _, error, _ = _ANSWER.unpack_from(payload + bytes(4))
    expect(error)
    return frame(payload)


def heartbeats(members: Sequence[Member], burst: int, seconds: float) -> tuple[int, float]:
    """Each member sends so many heartbeats and the next ones when all are answered: (answers, seconds)."""
    expected = answer_to(members[0]) * burst
    requests = [member.heartbeat() * burst for member in members]

    def run() -> int:
        for member, request in zip(members, requests, strict=True):
            member.socket.sendall(request)
        for member in members:
            if member.stream.read(len(expected)) != expected:
                raise Failed("a heartbeat failed; the rates would mean nothing")
        return burst * len(members)

    return repeated(run, seconds)


def repeated(run: Callable[[], int], seconds: float) -> tuple[int, float]:
    """How much `run` does in at least so many seconds, and in how many exactly."""
    done, began = 0, perf_counter()
    while perf_counter() - began < seconds:
        done += run()
    return done, perf_counter() - began


def compiled(folder: Path) -> Path:
    """The compiled client, made below a folder. Errors: Failed, without a compiler for C."""
    if shutil.which(COMPILER) is None:
        raise Failed(f"no {COMPILER} found to compile {SOURCE.name}; install a compiler for C")
    program = folder / SOURCE.stem
    made = subprocess.run(
        (COMPILER, "-O2", "-Wall", "-Werror", "-o", program, SOURCE), capture_output=True, text=True
    )
    if made.returncode:
        raise Failed(f"{SOURCE.name} does not compile: {made.stderr}")
    return program


def heartbeats_compiled(
    program: Path, members: Sequence[Member], under_way: int, seconds: float
) -> tuple[int, float]:
    """The same by the compiled client, from connections of its own: (answers, seconds). Errors: Failed."""
    lines = [answer_to(members[0]), *(member.heartbeat() for member in members)]
    return compiled_load(program, members, lines, under_way, seconds)


def topic_of_one_partition(address: str) -> str:
    """A new topic. Errors: Failed."""
    name = f"bench-{uuid4()}"
    member = Member(address, "")
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    (made,) = member.call("CreateTopics", 5, topics=[topic])["topics"]
    member.close()
    expect(made["error_code"])
    return name


def commits(members: Sequence[Member], topic: str) -> list[bytes]:
    """The answer that each member's OffsetCommit has, and these requests: all of the one partition."""
    frames = [member.commit(topic) for member in members]
    members[0].socket.sendall(frames[0])
    payload = members[0].payload()
    (partition,) = decode_response("OffsetCommit", COMMIT_VERSION, payload).body["topics"][0]["partitions"]
    expect(partition["error_code"])
    return [frame(payload), *frames]


def compiled_load(
    program: Path, members: Sequence[Member], lines: Sequence[bytes], under_way: int, seconds: float
) -> tuple[int, float]:
    """Requests by the compiled client: (answers, seconds). Errors: Failed.

    lines: the answer that all of them have, then a request for each member.
    """
    port = members[0].socket.getpeername()[1]
    done = subprocess.run(
        (program, str(port), str(seconds), str(under_way)),
        input="".join(line.hex() + "\n" for line in lines),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Failed(done.stderr.strip() or f"{program.name} ended with exit code {done.returncode}")
    answers, took = done.stdout.split()
    return int(answers), float(took)
