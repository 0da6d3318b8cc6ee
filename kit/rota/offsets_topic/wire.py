"""The offsets topic over the wire, read as a consumer does that commits nothing and joins no group.

Everything is read up to the high watermark, as a coordinator does that loads it: what is in transactions too,
whose end is then heeded by `partition`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rota.conformance.connections.connection import Closed, Connection, Garbage, NotAdmitted, NotListening
from rota.conformance.connections.error_codes import error_name
from rota.conformance.connections.security import beside
from rota.history import Event
from rota.offsets_topic.folders import by_time
from rota.offsets_topic.partition import TOPIC, PartitionEvents
from rota.offsets_topic.records import Place, damaged
from rota.wire import api
from rota.wire.error_codes import ERROR_CODES
from rota.wire.records import RecordsError, split

Found = TypeVar("Found")

_CLIENT = "rota-reader"
_VERSIONS = {"Metadata": (4, 12), "ListOffsets": (1, 7), "Fetch": (4, 12)}
"""Versions that name topics and create none."""

_PARTITION_BYTES, _ANSWER_BYTES = 1 << 20, 4 << 20
_ALL_RECORDS = 0
"""The isolation level that shows what is in transactions."""

_EARLIEST, _LATEST = -2, -1
_AGAIN = frozenset(
    ERROR_CODES[name]
    for name in (
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "REQUEST_TIMED_OUT",
    )
)
"""Errors after which the leader is looked for again."""


class TopicUnreadable(Exception):
    """The offsets topic cannot be read: the cause, and what helps. `there`: whether anybody listens."""

    def __init__(self, message: str, there: bool = True) -> None:
        super().__init__(message)
        self.there = there


def _goes_on() -> bool:
    """Nothing ends it."""
    return False


@dataclass(frozen=True)
class Wanted:
    """What is read, and how long is waited.

    follow: go on at the end with what is appended, until the reader stops. partitions: these only, all if
    empty. patience: seconds without a leader or an answer after which it is given up. wait: seconds that a
    leader may hold an answer back while nothing is appended. idle: is called where that was so; True ends it.
    """

    topic: str = TOPIC
    follow: bool = False
    partitions: frozenset[int] = frozenset()
    patience: float = 30.0
    wait: float = 0.5
    idle: Callable[[], bool] = _goes_on


def read_topic(address: tuple[str, int], wanted: Wanted = Wanted()) -> Iterator[Event]:
    """The events of the topic, by time up to where each partition ended when asked; then as they come.

    The address says how it is spoken to, see `SecureAddress`. Errors: TopicUnreadable.
    """
    with closing(_Cluster(address, wanted)) as cluster:
        readers = [_PartitionReader(cluster, number) for number in cluster.partitions()]
        yield from by_time([reader.until_its_end() for reader in readers])
        while wanted.follow:
            told = [*_round(cluster, readers)]
            yield from told
            if not told and wanted.idle():
                break
        for reader in readers:
            yield from reader.events.end()


def _round(cluster: _Cluster, readers: list[_PartitionReader]) -> Iterator[Event]:
    """What has been appended; one request to each leader, which waits a little for something to tell."""
    offsets = {reader.number: reader.position for reader in readers}
    answers = cluster.fetch(offsets)
    for reader in readers:
        if (answer := answers.get(reader.number)) is not None:
            yield from reader.take(answer)


class _PartitionReader:
    """Where one partition has been read up to."""

    def __init__(self, cluster: _Cluster, number: int) -> None:
        self.number = number
        self.position = 0
        self.events = PartitionEvents(Place(f"{cluster.wanted.topic}-{number}", number))
        self._cluster = cluster

    def until_its_end(self) -> Iterator[Event]:
        """From the first record to the last one that there was when this began."""
        self.position = self._cluster.offset(self.number, _EARLIEST)
        end = self._cluster.offset(self.number, _LATEST)
        while self.position < end:
            answers = self._cluster.fetch({self.number: self.position})
            if (answer := answers.get(self.number)) is not None:
                yield from self.take(answer)

    def take(self, answer: Mapping[str, Any]) -> Iterator[Event]:
        """The events of an answer to Fetch; the last batch in it may be cut short."""
        if answer["error_code"] == ERROR_CODES["OFFSET_OUT_OF_RANGE"]:
            first = self._cluster.offset(self.number, _EARLIEST)
            lost = f"offsets {self.position} to {first - 1}"
            yield damaged(self.events.place, self.position, lost, "deleted while it was read")
            self.position = max(first, self.position)
            return
        data, before = answer["records"] or b"", self.position
        try:
            for info, batch in split(data):
                yield from self.events.take(batch)
                self.position = max(self.position, info.last_offset + 1)
        except RecordsError as error:
            if self.position == before:
                yield damaged(self.events.place, self.position, f"{len(data)} bytes of an answer", str(error))
                self.position += 1


@dataclass
class _Cluster:
    """Who leads which partition, and a connection to each of them."""

    address: tuple[str, int]
    wanted: Wanted
    _found: bool = False
    _leaders: dict[int, tuple[str, int]] = field(default_factory=dict)
    _connections: dict[tuple[str, int], tuple[Connection, dict[str, int]]] = field(default_factory=dict)

    def partitions(self) -> list[int]:
        """Those that are to be read."""
        self._retried(self._look)
        strange = self.wanted.partitions - self._leaders.keys()
        if strange:
            there = f"0 to {max(self._leaders)}"
            raise TopicUnreadable(f"{self.wanted.topic} has no partition {min(strange)}; it has {there}")
        return sorted(self.wanted.partitions or self._leaders)

    def offset(self, number: int, which: int) -> int:
        """The first offset of a partition, or the one after its last."""

        def ask() -> int:
            one = {"partition_index": number, "timestamp": which}
            body = {
                "replica_id": -1,
                "isolation_level": _ALL_RECORDS,
                "topics": [{"name": self.wanted.topic, "partitions": [one]}],
            }
            answer = self._ask(self._leader(number), "ListOffsets", body)
            (found,) = answer["topics"][0]["partitions"]
            self._check(found["error_code"])
            return int(found["offset"])

        return self._retried(ask)

    def fetch(self, offsets: Mapping[int, int]) -> dict[int, dict[str, Any]]:
        """What there is from these offsets on, for each partition that answers."""

        def ask() -> dict[int, dict[str, Any]]:
            found: dict[int, dict[str, Any]] = {}
            by_leader: dict[tuple[str, int], list[int]] = {}
            for number in offsets:
                by_leader.setdefault(self._leader(number), []).append(number)
            for leader, numbers in by_leader.items():
                parts = [_wanted_part(number, offsets[number]) for number in numbers]
                for answer in self._fetched(leader, parts, self.wanted.wait / len(by_leader)):
                    if answer["error_code"] != ERROR_CODES["OFFSET_OUT_OF_RANGE"]:
                        self._check(answer["error_code"])
                    found[answer["partition_index"]] = answer
            return found

        return self._retried(ask)

    def close(self) -> None:
        """Closes all connections."""
        with ExitStack() as stack:
            for connection, _ in self._connections.values():
                stack.callback(connection.close)
        self._connections.clear()

    def _fetched(
        self, leader: tuple[str, int], parts: list[dict[str, Any]], wait: float
    ) -> Iterable[dict[str, Any]]:
        body = {
            "replica_id": -1,
            "max_wait_ms": int(wait * 1000),
            "min_bytes": 1,
            "max_bytes": _ANSWER_BYTES,
            "isolation_level": _ALL_RECORDS,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": self.wanted.topic, "partitions": parts}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        answer = self._ask(leader, "Fetch", body)
        self._check(answer.get("error_code", 0))
        return [each for topic in answer["responses"] for each in topic["partitions"]]

    def _leader(self, number: int) -> tuple[str, int]:
        if number not in self._leaders:
            self._look()
        if number not in self._leaders:
            raise _NotNow(f"partition {number} of {self.wanted.topic} has no leader")
        return self._leaders[number]

    def _look(self) -> None:
        body = {"topics": [{"name": self.wanted.topic}], "allow_auto_topic_creation": False}
        answer = self._ask(self.address, "Metadata", body)
        nodes = {
            node["node_id"]: beside(self.address, node["host"], node["port"]) for node in answer["brokers"]
        }
        (topic,) = answer["topics"]
        self._check(topic["error_code"])
        self._leaders = {
            each["partition_index"]: nodes[each["leader_id"]]
            for each in topic["partitions"]
            if each["leader_id"] in nodes
        }
        if len(self._leaders) < len(topic["partitions"]) and not self.wanted.partitions:
            raise _NotNow(f"not every partition of {self.wanted.topic} has a leader")
        self._found = True

    def _ask(self, node: tuple[str, int], name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """An answer; a connection on which none came is given up. Errors: _NotNow."""
        try:
            connection, versions = self._connected(node)
            sent = connection.send(name, versions[name], body)
            answer = connection.receive(sent, self.wanted.patience)
            if answer is None:
                raise _NotNow(f"no answer to {name} in {self.wanted.patience:g} s")
            return answer.body
        except (Closed, Garbage, NotListening, _NotNow) as error:
            if node in self._connections:
                self._connections.pop(node)[0].close()
            if isinstance(error, NotAdmitted) and not self._found:
                raise TopicUnreadable(f"{error}; look at what --command-config says") from error
            if isinstance(error, NotListening):
                raise _NotNow(str(error), there=False) from error
            raise _NotNow(f"{node[0]}:{node[1]}: {error}") from error

    def _connected(self, node: tuple[str, int]) -> tuple[Connection, dict[str, int]]:
        if node not in self._connections:
            connection = Connection(node, _CLIENT)
            try:
                self._connections[node] = connection, _agreed(connection, self.wanted.patience)
            except BaseException:
                connection.close()
                raise
        return self._connections[node]

    def _check(self, code: int) -> None:
        """Errors: _NotNow for what may pass, TopicUnreadable for what does not."""
        if code in _AGAIN:
            raise _NotNow(f"{self.wanted.topic} is answered with {error_name(code)}")
        if code == ERROR_CODES["UNKNOWN_TOPIC_OR_PARTITION"]:
            cause = f"there is no topic {self.wanted.topic}, or it may not be seen"
            remedy = "it is made with the first group; Kafka makes it, others keep groups elsewhere"
            raise TopicUnreadable(f"{cause}; {remedy}, and reading needs Describe and Read on it")
        if code == ERROR_CODES["TOPIC_AUTHORIZATION_FAILED"]:
            raise TopicUnreadable(
                f"{self.wanted.topic} may not be read; allow Describe and Read on this topic"
            )
        if code:
            raise TopicUnreadable(f"{self.wanted.topic} is answered with {error_name(code)}; try again")

    def _retried(self, action: Callable[[], Found]) -> Found:
        """What it returns, tried again with leaders looked for anew until patience ends."""
        deadline = time.monotonic() + self.wanted.patience
        while True:
            try:
                return action()
            except _NotNow as error:
                if time.monotonic() > deadline or not (error.there or self._found):
                    remedy = "look whether the broker runs and the address is right"
                    raise TopicUnreadable(f"{error}; {remedy}", there=error.there) from error
                self._leaders.clear()
                time.sleep(min(0.2, self.wanted.patience))


class _NotNow(Exception):
    """It may go well the next time."""

    def __init__(self, message: str, there: bool = True) -> None:
        super().__init__(message)
        self.there = there


def _wanted_part(number: int, offset: int) -> dict[str, Any]:
    return {
        "partition": number,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": _PARTITION_BYTES,
    }


def _agreed(connection: Connection, patience: float) -> dict[str, int]:
    """The newest version of each API that both sides know. Errors: TopicUnreadable, _NotNow."""
    answer = connection.receive(connection.send("ApiVersions", 0, {}), patience)
    if answer is None:
        raise _NotNow(f"no answer to ApiVersions in {patience:g} s")
    ranges = {each["api_key"]: (each["min_version"], each["max_version"]) for each in answer.body["api_keys"]}
    found = {}
    for name, (first, last) in _VERSIONS.items():
        lowest, highest = ranges.get(api(name).key, (0, -1))
        if max(first, lowest) > min(last, highest):
            said = f"it offers {lowest} to {highest}" if highest >= 0 else "it offers none"
            raise TopicUnreadable(f"no version of {name} in common: rota reads by {first} to {last}, {said}")
        found[name] = min(last, highest)
    return found
