"""The offences: what a client can do to a coordinator so that others are harmed. Each is measured alone.

`OFFENCES` has them all. Those here need more than a frame that is sent again and again; plain frames are in
`bench.offenders_frames`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from time import monotonic, sleep
from typing import Any

from bench.offenders_client import Client, request

from bench import offenders_frames as frames
from rota.server.settings import MEMORY_LIMITS

Act = Callable[[Client], None]
"""Offends once, on a connection. OSError or EOFError: the server has closed it; another is opened."""

MIB = 1 << 20
EACH = 10**9
"""Numbers that a connection has for itself: each is a process of its own."""


@dataclass(frozen=True)
class Offence:
    """An offence. meaning: what it does, in one sentence; prepare: makes ready at an address, gives the act.

    answered: whether its requests are such that they have to be answered. keeps: MiB that it may leave
    behind, since members and offsets are kept until a session or a retention ends, as far as settings admit.
    """

    name: str
    meaning: str
    prepare: Callable[[str], Act]
    answered: bool = False
    keeps: int = 0


MEMBERS, OFFSETS = (MEMORY_LIMITS[name] // MIB for name in ("members_max_bytes", "offsets_max_bytes"))
"""What settings let all members and all offsets take, in MiB."""


def repeated(*those: bytes, answers: int = 1) -> Callable[[str], Act]:
    """The same frames one after the other, each when the one before is answered."""
    return lambda address: _cycle(those, answers)


def made(make: Callable[[], tuple[bytes, ...]], answers: int = 1) -> Callable[[str], Act]:
    """As `repeated`, with frames that are made only when they are needed."""
    return lambda address: _cycle(make(), answers)


def _cycle(those: tuple[bytes, ...], answers: int) -> Act:
    numbers = count()

    def act(client: Client) -> None:
        client.send(those[next(numbers) % len(those)])
        client.skip(answers)

    return act


def fresh(name: str, version: int, body: Any, at_once: int) -> Callable[[str], Act]:
    """So many requests at once, each with another number in place of `frames.NUMBER`, which the body has."""
    numbers = count()

    def act(client: Client) -> None:
        begun = client.index * EACH
        client.all_at_once([frames.numbered(one, begun + next(numbers)) for _ in range(at_once)])

    one = request(name, version, body)
    return lambda address: act


def _in_the_log(make: Callable[[str], Act]) -> Callable[[str], Act]:
    """With a topic of 300 partitions, `frames.TOPIC`."""

    def prepare(address: str) -> Act:
        with Client(address) as client:
            _create(client, frames.TOPIC, 300)
        return make(address)

    return prepare


def _create(client: Client, name: str, partitions: int) -> None:
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    client.ask("CreateTopics", 5, topics=[topic])


def _joined(client: Client, group_id: str, metadata: bytes) -> str:
    """Joins at once, as of the versions that give no id before; "" if it is refused."""
    return str(client.ask("JoinGroup", 3, **frames.join(group_id, metadata))["member_id"])


def _large_group(address: str) -> None:
    """A group as large as it may be: one member with a mebibyte of metadata, or what is taken of it."""
    for size in (MIB, MIB // 16):
        with suppress(EOFError, OSError), Client(address) as client:
            if member_id := _joined(client, frames.LARGE, bytes(size)):
                place = {"group_id": frames.LARGE, "generation_id": 1, "member_id": member_id}
                client.ask("SyncGroup", 3, **place)  # only a stable group's metadata is told
                return


def _describe_repeated(address: str) -> Act:
    _large_group(address)
    return _cycle((request("DescribeGroups", 5, {"groups": [frames.LARGE] * 1_800}),), 1)


def _offset_fetch_repeated(address: str) -> Act:
    with Client(address) as client:
        for first in range(0, 250, 50):
            client.ask("OffsetCommit", 8, **frames.commit(frames.LARGE, range(first, first + 50), 4_000))
    asked = [{"group_id": frames.LARGE, "topics": None}] * 1_500
    return _cycle((request("OffsetFetch", 8, {"groups": asked}),), 1)


def _pipelined_metadata(address: str) -> Act:
    with Client(address) as client:
        _create(client, frames.TOPIC, 9_000)
    one = request("Metadata", 9, {"topics": None})
    return _cycle((one * 300,), 300)


def _groups(prefix: str, number: int) -> list[str]:
    return [f"{prefix}{index:05}" for index in range(number)]


def _commits(those: list[str]) -> list[list[bytes]]:
    """Commits that make these groups, 500 at once."""
    one = request("OffsetCommit", 8, frames.commit(frames.NUMBER, range(1), 0))
    made = [one.replace(frames.NUMBER.encode(), name.encode()) for name in those]
    return [made[first : first + 500] for first in range(0, len(made), 500)]


def _delete_groups(address: str) -> Act:
    def act(client: Client) -> None:
        names = _groups(f"del{client.index:04}", 20_000)
        for some in _commits(names):
            client.all_at_once(some)
        client.send(request("DeleteGroups", 2, {"groups_names": names}))
        client.skip()

    return act


def _list_groups(address: str) -> Act:
    with Client(address) as client:
        for some in _commits(_groups("listed0", 20_000)):
            client.all_at_once(some)
    return _cycle((request("ListGroups", 4, {}) * 20,), 20)


def _filled(address: str, batches: int, size: int) -> None:
    """A topic of 20 partitions with so many batches of this size in each."""
    with Client(address) as client:
        _create(client, frames.WIDE, 20)
        for partition in range(20):
            client.all_at_once([frames.produce(frames.plain(size), frames.WIDE, partition)] * batches)


def _produce_beside_fetches(address: str) -> Act:
    _filled(address, 1_000, 10)
    waiting = [Client(address) for _ in range(100)]
    for client in waiting:
        client.send(request("Fetch", 11, frames.fetch(wait_ms=600_000, least=2**31 - 1)))
    one = frames.produce(frames.plain(10), frames.WIDE, 0)

    def act(client: Client) -> None:
        assert waiting  # which are open as long as this is
        client.send(one)
        client.skip()

    return act


def _slow_readers(address: str) -> Act:
    _filled(address, 1, 900_000)
    one = request("Fetch", 11, frames.fetch(wait_ms=0, least=0))

    def act(client: Client) -> None:
        slow = [_narrow(client.address) for _ in range(10)]
        for each in slow:
            each.send(one * 5)
        sleep(1)
        for each in slow:
            each.close()

    return act


def _narrow(address: str) -> Client:
    client = Client(address)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return client


def _half_frames(address: str) -> Act:
    """What the server takes of twenty frames of which the end never comes; closed after two seconds."""
    almost = (100 * MIB).to_bytes(4, "big") + bytes(99 * MIB)

    def act(client: Client) -> None:
        halves = [Client(client.address) for _ in range(20)]
        _send_what_is_taken(halves, memoryview(almost), monotonic() + 2)
        for each in halves:
            each.reset()

    return act


def _send_what_is_taken(those: list[Client], data: memoryview, until: float) -> None:
    sent = dict.fromkeys(those, 0)
    for each in those:
        each.socket.setblocking(False)
    while monotonic() < until:
        taken = 0
        for each in list(sent):
            try:
                taken += (now := each.socket.send(data[sent[each] : sent[each] + 4 * MIB]))
                sent[each] += now
            except BlockingIOError:
                pass
            except OSError:
                del sent[each]
        if not taken:
            sleep(0.01)


def _members_without_end(address: str) -> Act:
    """Each on a connection of its own, which is closed at once: the member stays until its session ends."""
    one = request("JoinGroup", 3, frames.join("crowd", bytes(MIB)))

    def act(client: Client) -> None:
        with Client(client.address) as member:
            member.send(one)

    return act


def _opened_and_closed(address: str) -> Act:
    return lambda client: Client(client.address).reset()


def _held_open(address: str) -> Act:
    """As many connections as one process may have, most of them, over and over."""

    def act(client: Client) -> None:
        held = [Client(client.address) for _ in range(100)]
        for each in held:
            each.reset()

    return act


def _garbage(address: str) -> Act:
    def act(client: Client) -> None:
        data = os.urandom(1_000)
        client.send(len(data).to_bytes(4, "big") + data)
        client.skip()

    return act


def _producers_without_end(address: str) -> Act:
    numbers = count()

    def act(client: Client) -> None:
        batches = [frames.plain(10, client.index * EACH + next(numbers)) for _ in range(20)]
        client.all_at_once([frames.produce(batch, frames.TOPIC, 0) for batch in batches])

    return act


def _sync_dropped(address: str) -> Act:
    """A follower waits for its assignment and is removed; whatever it sends then has to be answered."""
    numbers = count()

    def act(client: Client) -> None:
        group_id = f"dropped{client.index * EACH + next(numbers)}"
        with Client(client.address) as follower:
            leader_id, member_id = _two(client, follower, group_id)
            place = {"group_id": group_id, "generation_id": 2, "member_id": member_id}
            follower.send(request("SyncGroup", 3, place))
            sleep(0.005)  # nobody can be asked whether the server has it
            client.ask("LeaveGroup", 3, group_id=group_id, members=[{"member_id": member_id}])
            try:
                follower.must_answer(request("ApiVersions", 0, {}))
            finally:
                client.ask("LeaveGroup", 3, group_id=group_id, members=[{"member_id": leader_id}])

    return act


def _two(leader: Client, follower: Client, group_id: str) -> tuple[str, str]:
    """A generation of two members, who have not asked for their assignments yet; their ids."""
    leader_id = _joined(leader, group_id, b"m")
    if not leader_id:
        raise EOFError
    follower.send(request("JoinGroup", 3, frames.join(group_id, b"m")))
    beat = {"group_id": group_id, "generation_id": 1, "member_id": leader_id}
    while leader.ask("Heartbeat", 3, **beat)["error_code"] == 0:
        sleep(0.001)
    again = leader.ask("JoinGroup", 3, **frames.join(group_id, b"m") | {"member_id": leader_id})
    members = [each["member_id"] for each in again["members"]]
    follower.skip()
    return leader_id, next(each for each in members if each != leader_id)


def _long_error(address: str) -> Act:
    config = {"name": "\x01" * 20_000, "value": "\x01" * 20_000}
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1, "configs": [config]}
    one = request("CreateTopics", 5, {"topics": [topic]})
    return lambda client: client.must_answer(one)


def _all() -> Iterator[Offence]:
    yield Offence("nobody", "Nobody offends: what the machine itself costs.", lambda address: _idle)
    yield Offence("gzip-streams", "A Produce of 110 KB made of 1,500 gzip streams.",
                  _in_the_log(made(lambda: (frames.gzip_streams(1_500),))))  # fmt: skip
    yield Offence("gzip-many-streams", "A Produce of 1 MB made of 28,000 gzip streams.",
                  _in_the_log(made(lambda: (frames.gzip_streams(28_000),))))  # fmt: skip
    yield Offence("gzip-bomb", "A Produce of 64 MiB of seven-byte records in 97 KB.",
                  _in_the_log(made(lambda: (frames.gzip_bomb(),))))  # fmt: skip
    yield Offence("describe-repeated", "A DescribeGroups of 7 KB that names one large group 1,800 times.",
                  _describe_repeated)  # fmt: skip
    yield Offence("offset-fetch-repeated", "An OffsetFetch for all offsets of one group, 1,500 times.",
                  _in_the_log(_offset_fetch_repeated))  # fmt: skip
    yield Offence("leave-many", "A LeaveGroup of 40 MiB with 14 million members.",
                  made(lambda: (frames.leave_many(14_000_000),)))  # fmt: skip
    yield Offence("tagged-fields", "A Heartbeat with 2 million tagged fields.",
                  made(lambda: (frames.tagged(2_000_000),)))  # fmt: skip
    yield Offence("half-frames", "99 MiB of each of 20 frames that announce 100 MiB, without an end.",
                  _half_frames)  # fmt: skip
    yield Offence("pipelined-metadata", "300 Metadata at once of all topics, which have 9,000 partitions.",
                  _pipelined_metadata)  # fmt: skip
    yield Offence("delete-groups", "20,000 groups made by commits and deleted by one request.",
                  _in_the_log(_delete_groups), keeps=MEMBERS + OFFSETS)  # fmt: skip
    yield Offence("produce-beside-fetches", "A Produce; 100 Fetches wait for 20 partitions of 1,000 batches.",
                  _produce_beside_fetches)  # fmt: skip
    yield Offence("large-members", "Members with 1 MiB of metadata, of one group, without end.",
                  _members_without_end)  # fmt: skip
    yield Offence("large-groups", "Groups without end, each of a member with 1 MiB of metadata.",
                  fresh("JoinGroup", 3, frames.join(frames.NUMBER, bytes(MIB)), 1),
                  keeps=MEMBERS)  # fmt: skip
    commit = frames.commit(frames.NUMBER, range(1), 4_000)
    yield Offence("commits", "Commits without end, each of a new group and with 4,000 bytes of metadata.",
                  _in_the_log(fresh("OffsetCommit", 8, commit, 100)), keeps=MEMBERS + OFFSETS)  # fmt: skip
    yield Offence("sync-dropped", "A SyncGroup that waits while its member is removed by a LeaveGroup.",
                  _sync_dropped, answered=True)  # fmt: skip
    yield Offence("long-error", "A CreateTopics whose error message is longer than a string may be.",
                  _long_error, answered=True)  # fmt: skip
    yield from _tried_beside()


def _tried_beside() -> Iterator[Offence]:
    """What nobody had measured before."""
    yield Offence(
        "opened-and-closed", "Connections opened and reset, one after the other.", _opened_and_closed
    )
    yield Offence("held-open", "A hundred connections opened, then all reset.", _held_open)
    yield Offence("garbage", "A frame of 1,000 random bytes.", _garbage)
    yield Offence("big-frames", "Complete frames of 95 MiB: metadata, an assignment, a member id, records.",
                  made(lambda: tuple(frames.big_frames(95 * MIB))))  # fmt: skip
    yield Offence("long-arrays", "Every array of every request in turn, with 300,000 empty elements.",
                  made(lambda: tuple(frames.long_arrays(300_000))))  # fmt: skip
    yield Offence("slow-readers", "Ten connections that ask for five Fetches of 18 MB and read no answer.",
                  _slow_readers)  # fmt: skip
    yield Offence("list-groups", "20 ListGroups at once where there are 20,000 groups.",
                  _in_the_log(_list_groups))  # fmt: skip
    yield Offence("groups", "Groups of one member without end, 100 JoinGroups at once.",
                  fresh("JoinGroup", 3, frames.join(frames.NUMBER, b"m"), 100), keeps=MEMBERS)  # fmt: skip
    newcomer = frames.join("ids", b"m") | {"reason": frames.NUMBER}
    yield Offence("ids", "Member ids of one group without end: 100 JoinGroups at once that ask for one.",
                  fresh("JoinGroup", 9, newcomer, 100))  # fmt: skip
    topic = {"name": frames.NUMBER, "num_partitions": 1, "replication_factor": 1}
    yield Offence("topics", "Topics without end, 100 CreateTopics at once.",
                  fresh("CreateTopics", 5, {"topics": [topic]}, 100))  # fmt: skip
    yield Offence("producers", "Producer ids without end, 20 Produces at once.",
                  _in_the_log(_producers_without_end))  # fmt: skip
    yield Offence("api-versions", "1,000 ApiVersions at once.",
                  repeated(request("ApiVersions", 0, {}) * 1_000, answers=1_000))  # fmt: skip
    beat = {"group_id": "nobody", "generation_id": 1, "member_id": "nobody"}
    yield Offence("heartbeats", "1,000 Heartbeats of an unknown member at once.",
                  repeated(request("Heartbeat", 4, beat) * 1_000, answers=1_000))  # fmt: skip


def _idle(client: Client) -> None:
    sleep(0.1)


OFFENCES = {one.name: one for one in _all()}
