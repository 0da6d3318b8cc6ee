"""Heartbeats and rebalances per second of `rota serve` over the wire, as ratios against a real Kafka.

    .venv/bin/python bench/server.py [--target HOST:PORT]

The server runs in a process of its own; the client is this one, the same for both sides. A target is any
other coordinator that is the only broker of its cluster. Rounds alternate between the sides in one run; each
figure is the best of three.

  heartbeats  on each connection a member of one Stable group; so many under way on each
  rebalances  a group with one member on each connection: all join again, then all sync
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic, perf_counter, sleep
from typing import Any
from uuid import uuid4

from rota.wire import decode_response, encode_request, frame

ROUNDS = 3
SECONDS = 0.7
"""How long a round of one figure lasts, at least."""

IN_FLIGHT = (1, 16)
"""Heartbeats under way on a connection; a broker takes up the next one when it has answered the last."""

NOT_YET = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: Kafka makes its topic first."""


class Connection:
    """One member on one connection."""

    def __init__(self, address: str, group_id: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.group_id = group_id
        self.member_id = ""
        self.generation_id = -1
        self.joins = 0
        self.asked: tuple[str, int] = ("", 0)

    def send(self, name: str, version: int, **body: Any) -> None:
        """One request."""
        self.asked = (name, version)
        self.socket.sendall(frame(encode_request(name, version, body, 1, "bench")))

    def receive(self) -> Mapping[str, Any]:
        """The body of the answer to the last request."""
        return decode_response(*self.asked, self.payload()).body

    def payload(self) -> bytes:
        """One response without its length."""
        return self.stream.read(int.from_bytes(self.stream.read(4), "big"))

    def join(self) -> None:
        """Sends a JoinGroup. Other metadata each time: whoever comes first starts the rebalance."""
        self.joins += 1
        self.send(
            *("JoinGroup", 9),
            group_id=self.group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": b"%d" % self.joins}],
        )

    def joined(self) -> bool:
        """Takes the answer; whether this one leads."""
        answer = checked(self.receive())
        self.generation_id = answer["generation_id"]
        return bool(answer["leader"] == self.member_id)

    def enter(self) -> None:
        """Gets a member id, as soon as there is a coordinator."""
        until = monotonic() + 30
        while True:
            self.send("FindCoordinator", 4, key_type=0, coordinator_keys=[self.group_id])
            error = self.receive()["coordinators"][0]["error_code"]
            if error == 0:
                self.join()
                answer = self.receive()
                error = answer["error_code"]
            if error not in NOT_YET:
                break
            if monotonic() > until:
                raise SystemExit("the target has no coordinator after 30 s")
            sleep(0.2)
        self.member_id = checked(answer, 79)["member_id"]

    def place(self) -> dict[str, Any]:
        """Group, generation and member."""
        return {
            "group_id": self.group_id,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
        }

    def sync(self, assignments: Sequence[Mapping[str, Any]]) -> None:
        """Sends a SyncGroup."""
        names = {"protocol_type": "consumer", "protocol_name": "range"}
        self.send("SyncGroup", 5, **self.place(), **names, assignments=list(assignments))

    def close(self) -> None:
        """Closes it."""
        self.stream.close()
        self.socket.close()


def checked(body: Mapping[str, Any], error: int = 0) -> Mapping[str, Any]:
    """The body, if it has the right error code."""
    if body["error_code"] != error:
        raise SystemExit(f"error {body['error_code']} instead of {error}; the rates mean nothing")
    return body


def rebalance(members: Sequence[Connection]) -> None:
    """All join, then all sync."""
    for member in members:
        member.join()
    (leader,) = [member for member in members if member.joined()]
    for member in members:
        shares = [{"member_id": each.member_id, "assignment": b"share"} for each in members]
        member.sync(shares if member is leader else ())
    for member in members:
        checked(member.receive())


@contextmanager
def group(address: str, members: int) -> Iterator[list[Connection]]:
    """A Stable group of so many members. The ids handed out hold up the rebalance until all have joined."""
    group_id = f"bench-{uuid4()}"
    connections = [Connection(address, group_id) for _ in range(members)]
    try:
        for connection in connections:
            connection.enter()
        rebalance(connections[:1])
        rebalance(connections)
        yield connections
        leaving = [{"member_id": each.member_id} for each in connections]
        connections[0].send("LeaveGroup", 5, group_id=group_id, members=leaving)
        checked(connections[0].receive())
    finally:
        for connection in connections:
            connection.close()


def heartbeats(address: str, members: int, in_flight: int) -> float:
    """Heartbeats a second."""
    with group(address, members) as connections:
        requests = []
        for each in connections:
            each.send("Heartbeat", 4, **each.place())
            checked(each.receive())
            requests.append(frame(encode_request("Heartbeat", 4, each.place(), 1, "bench")) * in_flight)
        connections[0].socket.sendall(requests[0])
        fine = connections[0].stream.read(4 + 4 + 1 + 4 + 2 + 1)
        expected = fine * in_flight
        connections[0].stream.read(len(expected) - len(fine))

        def run() -> int:
            for each, request in zip(connections, requests, strict=True):
                each.socket.sendall(request)
            for each in connections:
                if each.stream.read(len(expected)) != expected:
                    raise SystemExit("a heartbeat failed; the rates mean nothing")
            return in_flight * members

        return rate(run)


def rebalances(address: str, members: int) -> float:
    """Rebalances of a whole group a second."""
    with group(address, members) as connections:

        def run() -> int:
            rebalance(connections)
            return 1

        return rate(run)


def rate(run: Callable[[], int]) -> float:
    """What `run` does a second."""
    done, began = 0, perf_counter()
    while perf_counter() - began < SECONDS:
        done += run()
    return done / (perf_counter() - began)


@contextmanager
def rota() -> Iterator[str]:
    """A server process; gives its address."""
    command = [sys.executable, "-m", "rota.cli.main", "serve", "--set", "group.initial.rebalance.delay.ms=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def measurements() -> Iterator[tuple[str, Callable[[str], float]]]:
    """What is measured, and how, at an address."""
    for members in (1, 4):
        for in_flight in IN_FLIGHT:
            what = f"heartbeats, connections: {members}, under way on each: {in_flight}"
            yield what, lambda address, m=members, n=in_flight: heartbeats(address, m, n)  # type: ignore[misc]
    for members in (1, 8, 32):
        yield f"rebalances, members: {members}", lambda address, m=members: rebalances(address, m)  # type: ignore[misc]


def main() -> None:
    """Print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", metavar="HOST:PORT", help="another coordinator, for ratios")
    target = parser.parse_args().target
    print(f"{'a second':<52}{'rota':>9}" + (f"{'target':>9}{'ratio':>7}" if target else ""))
    with rota() as address:
        sides = [address, target] if target else [address]
        for what, measure in measurements():
            best = [0.0] * len(sides)
            for _ in range(ROUNDS):
                for index, side in enumerate(sides):
                    best[index] = max(best[index], measure(side))
            line = f"{what:<52}" + "".join(f"{value:>9,.0f}" for value in best)
            print(line + (f"{best[0] / best[1]:>7.2f}" if target else ""), flush=True)


if __name__ == "__main__":
    main()
