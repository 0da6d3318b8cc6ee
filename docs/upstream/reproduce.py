#!/usr/bin/env python3
"""Plays what the pages of this folder describe with a broker. Needs Python 3.10 and nothing else.

    python3 reproduce.py NAME HOST:PORT [--pid PID] [--never SECONDS]

It asks as clients do, in a group of its own whose name begins with `reproduce-`, and prints what it asks and
is told. `--pid` names the broker's process, whose processor time is then measured (Linux); after `--never`
seconds a request is taken to be never answered. Use a broker that nobody needs. Exit code 0: reproduced; 1:
not.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

KEYS = {
    "FindCoordinator": (10, 1),
    "JoinGroup": (11, 5),
    "Heartbeat": (12, 3),
    "LeaveGroup": (13, 3),
    "SyncGroup": (14, 3),
    "DescribeGroups": (15, 1),
}
"""Key and version of each request: versions that all brokers of 3.x and 4.x read, and that are simple."""

NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    0: "NONE",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    25: "UNKNOWN_MEMBER_ID",
    27: "REBALANCE_IN_PROGRESS",
    79: "MEMBER_ID_REQUIRED",
    81: "GROUP_MAX_SIZE_REACHED",
}
"""Codes of errors that may be met."""

UNREADABLE = bytes.fromhex("0000 7fffffff 72657374")
"""A subscription, version 0, that announces two thousand million topics and has four bytes more."""

NOT_READY = (14, 15, 16)
"""What a coordinator tells that is starting."""

WAIT = 30.0
"""Seconds in which a broker answers what it answers."""


def text(value: str | None) -> bytes:
    """A string, or null, as requests have it."""
    if value is None:
        return struct.pack(">h", -1)
    return struct.pack(">h", len(value.encode())) + value.encode()


def data(value: bytes) -> bytes:
    """Bytes as requests have them."""
    return struct.pack(">i", len(value)) + value


def array(parts: list[bytes]) -> bytes:
    """A list of what is encoded already."""
    return struct.pack(">i", len(parts)) + b"".join(parts)


@dataclass
class Answer:
    """The rest of an answer, read from its front."""

    raw: bytes

    def number(self, form: str) -> int:
        """The next number, by its format of `struct`."""
        size = struct.calcsize(form)
        (found,) = struct.unpack(">" + form, self.raw[:size])
        self.raw = self.raw[size:]
        return int(found)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        found, self.raw = self.raw[: max(size, 0)], self.raw[max(size, 0) :]
        return found

    def text(self) -> str:
        """The next string; empty for null."""
        return self.take(self.number("h")).decode()

    def data(self) -> bytes:
        """The next bytes."""
        return self.take(self.number("i"))


@dataclass
class Joined:
    """What a JoinGroup was told."""

    error: int
    generation: int
    member_id: str
    members: list[str]


@dataclass
class Client:
    """Somebody with a connection of their own, who asks about one group."""

    name: str
    group: str
    address: tuple[str, int]
    instance: str | None = None
    asked: int = 0
    connection: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.connection = socket.create_connection(self.address, WAIT)

    def ask(self, api: str, body: bytes, told: str) -> None:
        """Send a request."""
        key, version = KEYS[api]
        self.asked += 1
        self.connection.sendall(data(struct.pack(">hhi", key, version, self.asked) + text(self.name) + body))
        print(f"{self.name:>6} -> {api} v{version}  {told}")

    def answer(self, api: str, seconds: float = WAIT) -> Answer | None:
        """The next answer; None where none comes in so many seconds."""
        self.connection.settimeout(seconds)
        try:
            return Answer(self._exactly(struct.unpack(">i", self._exactly(4))[0])[4:])
        except TimeoutError:
            print(f"{self.name:>6} .. {api} is not answered in {seconds:g} s")
            return None

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self.connection.recv(size - len(found))
            if not more:
                sys.exit(f"{self.name}: the broker has ended the connection")
            found += more
        return found

    def join(
        self,
        member_id: str = "",
        protocols: tuple[str, ...] = ("range",),
        rebalance_ms: int = 60_000,
        session_ms: int = 30_000,
        metadata: bytes = b"",
    ) -> None:
        """Send a JoinGroup."""
        listed = array([text(name) + data(metadata) for name in protocols])
        body = text(self.group) + struct.pack(">ii", session_ms, rebalance_ms) + text(member_id)
        static = f"  group_instance_id {self.instance}" if self.instance else ""
        told = f"member_id '{member_id}'{static}  rebalance_timeout_ms {rebalance_ms}  {list(protocols)}"
        told += f"  metadata {metadata.hex()}" if metadata else ""
        self.ask("JoinGroup", body + text(self.instance) + text("consumer") + listed, told)

    def joined(self, seconds: float = WAIT) -> Joined | None:
        """What it is told."""
        answer = self.answer("JoinGroup", seconds)
        if answer is None:
            return None
        answer.number("i")
        error, generation = answer.number("h"), answer.number("i")
        answer.text()
        answer.text()
        found = Joined(error, generation, answer.text(), [])
        for _ in range(answer.number("i")):
            found.members.append(answer.text())
            answer.text()
            answer.data()
        self._told("JoinGroup", error, f"  generation {generation}  member_id '{found.member_id}'")
        return found

    def identified(self) -> str:
        """An id that the coordinator hands out, which is no member yet."""
        while True:
            self.join()
            found = self.joined()
            if found is not None and found.error == 79:
                return found.member_id
            time.sleep(0.5)  # the coordinator is not there yet

    def sync(self, joined: Joined) -> None:
        """Send a SyncGroup, with an assignment for each member by who leads."""
        shares = array([text(one) + data(b"share") for one in joined.members])
        body = text(self.group) + struct.pack(">i", joined.generation) + text(joined.member_id)
        self.ask("SyncGroup", body + text(self.instance) + shares, f"generation {joined.generation}")

    def heartbeat(self, joined: Joined) -> int | None:
        """The error that a heartbeat is told."""
        body = text(self.group) + struct.pack(">i", joined.generation) + text(joined.member_id)
        self.ask("Heartbeat", body + text(self.instance), f"generation {joined.generation}")
        return self.error("Heartbeat")

    def leave(self, member_id: str) -> int | None:
        """The error that a LeaveGroup for a member is told."""
        body = text(self.group) + array([text(member_id) + text(None)])
        self.ask("LeaveGroup", body, f"member_id '{member_id}'")
        return self.error("LeaveGroup")

    def error(self, api: str, seconds: float = WAIT) -> int | None:
        """The error of an answer that has nothing before it but the throttle time."""
        answer = self.answer(api, seconds)
        if answer is None:
            return None
        answer.number("i")
        return self._told(api, answer.number("h"))

    def _told(self, api: str, error: int, more: str = "") -> int:
        print(f"{self.name:>6} <- {api}  {NAMES.get(error, error)}{more}")
        return error


@dataclass
class Broker:
    """A broker, a group on it, the id of its process, and how long is taken for never."""

    address: tuple[str, int]
    pid: int | None
    never: float
    group: str = field(default_factory=lambda: f"reproduce-{random.randrange(10**6)}")

    def client(self, name: str, instance: str | None = None) -> Client:
        """Somebody with a connection to the group's coordinator."""
        asking = Client(name, self.group, self.address)
        while True:
            asking.ask("FindCoordinator", text(self.group) + b"\0", self.group)
            answer = asking.answer("FindCoordinator")
            if answer is None:
                sys.exit("the broker does not answer")
            answer.number("i")
            error = answer.number("h")
            answer.text()
            answer.number("i")
            if not error:
                return Client(name, self.group, (answer.text(), answer.number("i")), instance)
            time.sleep(0.5)  # the topic of offsets is being made

    def restarted(self, asking: Client) -> Client:
        """Wait until somebody has restarted the broker; the client with a new connection."""
        print("restart the broker now")
        asking.connection.settimeout(None)
        try:
            while asking.connection.recv(1):
                pass
        except OSError:
            pass
        while True:
            time.sleep(0.5)
            try:
                return self.client(asking.name, asking.instance)
            except (OSError, SystemExit):
                continue

    def processors(self, seconds: float) -> float | None:
        """How many processors it uses in the next seconds; None where nobody knows its process."""
        before = self._used()
        time.sleep(seconds)
        after = self._used()
        return None if before is None or after is None else (after - before) / seconds

    def _used(self) -> float | None:
        if self.pid is None:
            return None
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def both_joined(a: Client, b: Client) -> tuple[Joined, Joined]:
    """What two are told whose JoinGroups wait, the first of which was a's."""
    told_a = a.joined()
    if told_a is not None and told_a.members == [told_a.member_id]:
        a.join(told_a.member_id)  # b came when the initial delay was over
        told_a = a.joined()
    told_b = b.joined()
    if told_a is None or told_b is None or told_a.error or told_b.error:
        sys.exit("they have not joined")
    return told_a, told_b


def stable(a: Client, b: Client) -> tuple[Joined, Joined]:
    """Two whose JoinGroups wait are brought into a Stable group."""
    told_a, told_b = both_joined(a, b)
    a.sync(told_a)
    b.sync(told_b)
    if a.error("SyncGroup") or b.error("SyncGroup"):
        sys.exit("they have not synced")
    return told_a, told_b


def busy_join_phase(broker: Broker, rebalance_ms: int = 0) -> bool:
    """A static member without time to join again is all that is left of a group.

    With a millisecond it is a thousand rounds a second, which processor time hardly shows: look at the log.
    """
    a, b = broker.client("a", "desk-1"), broker.client("b")
    b_id = b.identified()
    a.join(rebalance_ms=rebalance_ms)
    b.join(b_id)
    told_a, told_b = stable(a, b)
    rest = broker.processors(5)
    b.leave(told_b.member_id)
    busy = broker.processors(5)
    refused = a.heartbeat(told_a)
    if rest is None or busy is None:
        sys.exit("name the broker's process by --pid, so that its processor time can be measured")
    print(f"processors in use: {rest:.2f} before b left, {busy:.2f} after it")
    a.leave(told_a.member_id)  # else it goes on until a's session ends
    return refused == 27 and busy > rest + 0.3


def repeated_protocol(broker: Broker) -> bool:
    """A member lists a protocol twice, another one does not have it."""
    a, b = broker.client("a"), broker.client("b")
    a_id, b_id = a.identified(), b.identified()
    twice = ("range", "range", "roundrobin")
    a.join(a_id, twice)
    b.join(b_id, ("roundrobin",))
    told = a.joined(broker.never)
    if told is not None and told.members == [a_id]:
        a.join(a_id, twice)  # b came when the initial delay was over
        a.joined(broker.never)
    found = b.joined(broker.never)
    return found is None or found.error == -1


def removed_while_syncing(broker: Broker) -> bool:
    """A member that waits in SyncGroup is removed by somebody else."""
    a, b, admin = broker.client("a"), broker.client("b"), broker.client("admin")
    a_id, b_id = a.identified(), b.identified()
    a.join(a_id)
    b.join(b_id)
    told_a, told_b = both_joined(a, b)
    leads = bool(told_a.members)
    leader, led = (a, told_a) if leads else (b, told_b)
    follower, told = (b, told_b) if leads else (a, told_a)
    follower.sync(told)
    time.sleep(0.5)
    admin.leave(told.member_id)
    leader.heartbeat(led)
    return follower.error("SyncGroup", broker.never) is None


def alone(client: Client, member_id: str = "") -> Joined:
    """Somebody is the only member of a Stable group."""
    client.join(member_id)
    told = client.joined()
    if told is None or told.error:
        sys.exit(f"{client.name} has not joined")
    client.sync(told)
    if client.error("SyncGroup"):
        sys.exit(f"{client.name} has not synced")
    return told


def unreadable_subscription(broker: Broker) -> bool:
    """A static member comes back with a subscription that nobody can read; the broker is restarted.

    The names of the two groups have one hash, so that they share a partition of the offsets topic.
    """
    others, odd = (replace(broker, group=f"{broker.group}-{end}") for end in ("Aa", "BB"))
    a = others.client("a")
    told = alone(a, a.identified())
    alone(odd.client("c", "desk-1"))
    again = odd.client("c", "desk-1")
    again.join(metadata=UNREADABLE)
    again.joined()
    if a.heartbeat(told) != 0:
        sys.exit("a is not well before it")
    a = others.restarted(a)
    end = time.monotonic() + broker.never
    while (error := a.heartbeat(told)) in NOT_READY and time.monotonic() < end:
        time.sleep(1)
    return error != 0


def given_back_id(broker: Broker) -> bool:
    """An id that was handed out and never used is given back; a Stable group rebalances for it."""
    a, b, stranger = broker.client("a"), broker.client("b"), broker.client("c")
    a_id, b_id = a.identified(), b.identified()
    a.join(a_id)
    b.join(b_id)
    told, _ = stable(a, b)
    unused = stranger.identified()
    before = a.heartbeat(told)
    stranger.leave(unused)
    return before == 0 and a.heartbeat(told) == 27


SCRIPTS: dict[str, Callable[[Broker], bool]] = {
    "busy-join-phase": busy_join_phase,
    "repeated-protocol": repeated_protocol,
    "removed-while-syncing": removed_while_syncing,
    "given-back-id": given_back_id,
    "unreadable-subscription": unreadable_subscription,
}


def main() -> int:
    """Play one script; the exit code."""
    parser = argparse.ArgumentParser(description="Reproduce on a broker what the pages here describe.")
    parser.add_argument("name", choices=SCRIPTS)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--pid", type=int, help="the broker's process, to measure its processor time")
    parser.add_argument("--never", type=float, default=30, help="seconds; after them nothing is answered")
    asked = parser.parse_args()
    host, _, port = asked.address.rpartition(":")
    if not host or not port.isdigit():
        parser.error(f"{asked.address} is no address; write HOST:PORT, as localhost:9092")
    try:
        seen = SCRIPTS[asked.name](Broker((host, int(port)), asked.pid, asked.never))
    except OSError as error:
        parser.error(f"the broker at {asked.address} does not go on: {error}")
    print("reproduced" if seen else "not reproduced")
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main())
