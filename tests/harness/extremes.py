"""Every field of every request at its extremes, as frames, and what each of them costs a server.

The frames are made from the codec's tables, so what is new there is in the list by itself. A server runs in a
thread of this process; a probe on its event loop measures the processor time of each iteration.

    .venv/bin/python tests/harness/extremes.py [API ...]

sends the whole list (minutes) and prints what is dear; tests/server/test_extremes.py sends a sample of it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import socket
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any
from uuid import UUID

from rota.coordinator import GroupCoordinator
from rota.server import running
from rota.wire import Api, Raw, api, decode_response, encode_request, frame
from rota.wire.records import Record, encode_batch
from rota.wire.schema import Field

STRETCH = 0.025
"""Seconds of processor time that an iteration of the event loop may take on a quiet machine."""

USUAL_WORK = 0.007
"""Processor seconds of `_work` on a machine where STRETCH is right."""

AGAIN = 3
"""How often a case that took longer is sent once more; the shortest counts."""

SMALL_FRAME, DEAR = 100_000, 10 << 20
"""A frame of no more bytes than the first may cost no more than the second."""

LONGEST = 0x7FFF
MANY = 10_000
BITS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}
BATCH = encode_batch([Record(index, 1_000 + index, b"k", b"v") for index in range(3)])
NAMES = {
    "group_id": "g",
    "topic": "t",
    "name": "t",
    "key": "g",
    "protocol_type": "consumer",
    "member_id": "m",
}
USUAL = {
    "max_wait_ms": 1,
    "acks": 1,
    "session_timeout_ms": 10_000,
    "num_partitions": 1,
    "replication_factor": 1,
}
PARKS = {"JoinGroup": 0.05, "SyncGroup": 0.05, "Fetch": 1.0, "Produce": 1.0}
"""APIs some requests of which get no answer, or not soon: seconds that one is waited for.

Who leaves a Fetch before it is read costs nothing, so that is waited for on a machine that is busy, too.
"""


@dataclass(frozen=True)
class Case:
    """One frame; `what` says which field has which extreme. make: of which few are sent few are encoded."""

    what: str
    api_name: str
    version: int
    make: Callable[[], bytes] = field(repr=False)

    @cached_property
    def data(self) -> bytes:
        """The frame."""
        return self.make()


@dataclass(frozen=True)
class Cost:
    """What became of a case: answered, closed or silent, and the longest stretch, and bytes at the peak."""

    case: Case
    outcome: str
    seconds: float
    peak: int = 0

    def too_dear(self, stretch: float) -> str:
        """What is wrong with it, "" if nothing is."""
        wrong = []
        if self.seconds > stretch:
            wrong.append(f"held the loop for {1000 * self.seconds:.0f} ms of CPU")
        if self.outcome == "silent" and self.case.api_name not in PARKS:
            wrong.append("got no answer")
        if self.outcome.startswith("other"):
            wrong.append(self.outcome)
        if len(self.case.data) <= SMALL_FRAME and self.peak > DEAR:
            wrong.append(f"cost {self.peak >> 20} MiB with {len(self.case.data)} bytes")
        return "; ".join(wrong)


def usual(fields: tuple[Field, ...], version: int, topic_id: UUID) -> dict[str, Any]:
    """A body that a client might send, in which every array has one element."""
    body: dict[str, Any] = {}
    for each in fields:
        if version not in each.versions:
            continue
        value: Any
        if each.type == "struct":
            value = usual(each.fields, version, topic_id)
        else:
            plain = {"string": NAMES.get(each.name, "x"), "bytes": BATCH, "uuid": topic_id, "bool": False}
            value = plain.get(each.type, USUAL.get(each.name, 0))
        body[each.name] = [value] if each.array else value
    if "node_id" in body:
        body |= {"cluster_id": None, "node_id": -1}
    if any(each.name == "transactional_id" and version in each.nullable for each in fields):
        body["transactional_id"] = None
    return body


def extremes(one: Field, flexible: bool, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a field that are farthest from the usual one, or what makes them, with their names."""
    if one.array:
        element = value[0]
        yield from (("empty", []), ("null", None), ("listed twice", [element] * 2))
        yield f"listed {MANY} times", [element] * MANY
        yield f"{MANY} of them", lambda: [_numbered(one, element, index) for index in range(MANY)]
        yield (
            f"{9 * MANY} empty ones",
            Raw(_count(9 * MANY, flexible) + bytes(9 * MANY) * (1 if flexible else 4)),
        )
        yield "a count that is a lie", Raw(_count(2**31 - 2, flexible))
    elif one.type in BITS:
        edge = 2 ** BITS[one.type]
        numbers = [0, 1, edge - 1] + [-1, -2, -edge] * one.type.startswith("i")
        yield from ((str(number), number) for number in numbers)
    elif one.type == "string":
        yield from (("empty", ""), ("null", None), ("not UTF-8", b"\xff\xfe"), ("longest", "x" * LONGEST))
        yield from (
            ("longest, of NUL", "\0" * LONGEST),
            ("longest, with an emoji", "x" * (LONGEST - 4) + "😀"),
        )
    elif one.type == "bytes":
        yield from (("empty", b""), ("null", None), ("long", bytes(99_000)), ("a megabyte", bytes(1 << 20)))
        yield "two megabytes", bytes(2 << 20)
    elif one.type == "uuid":
        yield from (("zero", UUID(int=0)), ("last", UUID(int=2**128 - 1)))
    elif one.type == "bool":
        yield from (("true", True), ("neither", Raw(b"\x07")))


def _numbered(one: Field, element: Any, index: int) -> Any:
    """One of many elements, each of which is another."""
    if one.type == "struct":
        changed = dict(element)
        for each in one.fields:
            if each.name in changed and not each.array:
                changed[each.name] = _numbered(each, changed[each.name], index)
        return changed
    other = {"string": f"x{index}", "uuid": UUID(int=index + 1)}
    if one.type in BITS and one.name in ("partition_index", "index", "partition", "partition_indexes"):
        return index
    return other.get(one.type, element)


def _count(number: int, flexible: bool) -> bytes:
    if not flexible:
        return number.to_bytes(4, "big")
    number, out = number + 1, bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def places(
    fields: tuple[Field, ...], version: int, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Every field of a message, with the names that lead to it."""
    for each in fields:
        if version in each.versions:
            yield (*path, each.name), each
            if each.type == "struct":
                yield from places(each.fields, version, (*path, each.name))


def changed(body: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The body with another value, or what makes it, at a place; of arrays the first element is gone into."""
    name, *rest = path
    value = value() if callable(value) else value
    if rest:
        inner = body[name]
        if isinstance(inner, list):
            value = [changed(inner[0], tuple(rest), value)]
        else:
            value = changed(inner, tuple(rest), value)
    return {**body, name: value}


def cases_of(found: Api, version: int, topic_id: UUID) -> Iterator[Case]:
    """The list for one API in one version: each field by itself, and tagged fields."""
    flexible = version in found.flexible
    body = usual(found.request, version, topic_id)

    def case(what: str, odd: Callable[[], dict[str, Any]], client_id: str | bytes | None = "c") -> Case:
        def made() -> bytes:
            return frame(encode_request(found.name, version, odd(), 1, client_id, odd=True))

        return Case(f"{found.name} v{version} {what}", found.name, version, made)

    yield case("as usual", lambda: body)
    for path, one in places(found.request, version):
        value: Any = body
        for name in path:
            value = value[0][name] if isinstance(value, list) else value[name]
        for what, extreme in extremes(one, flexible, value):
            if not (one.tag is not None and extreme is None):
                yield case(f"{'.'.join(path)}: {what}", partial(changed, body, path, extreme))
    for what, name in (("longest", "x" * LONGEST), ("not UTF-8", b"\xff"), ("null", None)):
        yield case(f"client id: {what}", lambda: body, name)
    if flexible:
        for count in (1, 1_000, 40_000):
            tags: Any = dict.fromkeys(range(100, 100 + count), b"")
            yield case(f"{count} tagged fields", partial(dict, body, _tags=tags))
        yield case("a tagged field of a megabyte", partial(dict, body, _tags={100: bytes(1 << 20)}))
        yield case("a tagged field twice", partial(dict, body, _tags=Raw(b"\x02\x64\x00\x64\x00")))


class Probe:
    """Measures the processor time of a loop's thread between two waits for events."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._begun: float | None = None

    def coordinator(self, *arguments: Any) -> GroupCoordinator:
        """Makes a coordinator, which a server does on its event loop."""
        selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
        select = selector.select

        def watched(timeout: float | None = None) -> Any:
            if self._begun is not None:
                self.longest = max(self.longest, time.thread_time() - self._begun)
            found = select(timeout)
            self._begun = time.thread_time()
            return found

        selector.select = watched
        return GroupCoordinator(*arguments)


class Faults(logging.Handler):
    """Keeps what is logged as an error, or with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR or record.exc_info:
            self.found.append(self.format(record))


class Target:
    """A server with a topic and a bystander, and the odd client that sends cases."""

    def __init__(self, address: str, probe: Probe) -> None:
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))
        self.probe = probe
        self.bystander = self.connected()
        topic = {"name": "t", "num_partitions": 2, "replication_factor": 1}
        created = self.call("CreateTopics", 7, {"topics": [topic]})
        self.topic_id = created["topics"][0]["topic_id"]
        join = {
            "group_id": "g",
            "session_timeout_ms": 1_000_000,
            "rebalance_timeout_ms": 1_000,
            "protocol_type": "consumer",
        }
        self.call("JoinGroup", 3, {**join, "protocols": [{"name": "range", "metadata": b"m"}]})

    def connected(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=20)

    def call(self, name: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        self.bystander.sendall(frame(encode_request(name, version, body, 1, "bystander")))
        payload = received(self.bystander)
        assert payload is not None
        return decode_response(name, version, payload).body

    def cost(self, case: Case, memory: bool = False, patience: float = 0) -> Cost:
        """Sends a case on a connection of its own, and a heartbeat of somebody else behind it."""
        client = self.connected()
        client.settimeout(patience or PARKS.get(case.api_name, 20))
        if memory:
            gc.collect()
            tracemalloc.start()
        self.probe.longest = 0.0
        outcome = "answered"
        try:
            client.sendall(case.data)
            outcome = "answered" if received(client, keep=False) is not None else "closed"
        except TimeoutError:
            outcome = "silent"
        except (ConnectionResetError, BrokenPipeError):
            outcome = "closed"
        beat = self.call("Heartbeat", 4, {"group_id": "nobody", "member_id": "m"})["error_code"]
        client.close()
        self.call("Heartbeat", 4, {"group_id": "nobody", "member_id": "m"})
        peak = 0
        if memory:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        if beat != 25:
            outcome = f"other members get {beat}"
        return Cost(case, outcome, self.probe.longest, peak)


def received(client: socket.socket, keep: bool = True) -> bytes | None:
    """The next frame's payload, None at the end; b"" in its place unless it is to be kept."""
    head = client.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return None
    left, parts = int.from_bytes(head, "big"), []
    while left:
        part = client.recv(min(left, 1 << 16))
        if not part:
            return None
        left -= len(part)
        if keep:
            parts.append(part)
    return b"".join(parts)


SETTINGS = {"group.initial.rebalance.delay.ms": 0, "log.retention.bytes": 4 << 20}


@contextmanager
def target() -> Iterator[tuple[Target, Faults]]:
    """A fresh server."""
    probe, faults = Probe(), Faults()
    logging.getLogger().addHandler(faults)
    # What this process has beside the server is not the server's to look through for garbage.
    gc.collect()
    gc.freeze()
    try:
        with running(SETTINGS, coordinator=probe.coordinator) as address:
            yield Target(address, probe), faults
    finally:
        logging.getLogger().removeHandler(faults)
        gc.unfreeze()


def served(names: list[str]) -> dict[str, range]:
    """The versions that a server answers, by API."""
    with target() as (there, _):
        ranges = there.call("ApiVersions", 0, {})["api_keys"]
    found = {
        api(each["api_key"]).name: range(each["min_version"], each["max_version"] + 1) for each in ranges
    }
    found["Produce"] = range(3, found["Produce"].stop)
    return {name: versions for name, versions in found.items() if not names or name in names}


def sampled(cases: list[Case], count: int, seed: int) -> list[Case]:
    """Some of the cases."""
    return cases if count >= len(cases) else random.Random(seed).sample(cases, count)


def pace() -> float:
    """How much longer this machine takes than one where STRETCH is right, for a fixed piece of work."""
    return min(_work() for _ in range(10)) / USUAL_WORK


def _work() -> float:
    topics = [{"name": f"topic-{index}", "partition_indexes": [index]} for index in range(10_000)]
    begun = time.thread_time()
    encode_request("OffsetFetch", 7, {"group_id": "g", "topics": topics}, 1, None)
    return time.thread_time() - begun


def judged(
    name: str, versions: range, most: int = sys.maxsize, seed: int = 0, stretch: float = STRETCH
) -> Iterator[str]:
    """What is wrong with the cases of an API, of which at most so many are sent."""
    with target() as (there, faults):
        cases = [case for version in versions for case in cases_of(api(name), version, there.topic_id)]
        there.cost(cases[0])
        for case in sampled(cases, most, seed):
            cost = there.cost(case)
            for _ in range(AGAIN):
                # What is made at the first time, or a machine that is busy, is not the frame's.
                if cost.seconds > stretch:
                    cost = min(cost, there.cost(case), key=lambda each: each.seconds)
            if len(case.data) <= SMALL_FRAME and len(case.data) > 8_000:
                peak = there.cost(case, memory=True).peak
                cost = Cost(case, cost.outcome, cost.seconds, peak)
            wrong = cost.too_dear(stretch)
            if wrong:
                yield f"{case.what} ({len(case.data)} bytes): {wrong}"
            while faults.found:
                yield f"{case.what}: in the log: {faults.found.pop()}"


def main(names: list[str]) -> int:
    bad = 0
    for name, versions in served(names).items():
        begun = time.monotonic()
        for line in judged(name, versions):
            bad += 1
            print(line, flush=True)
        print(f"-- {name}: {time.monotonic() - begun:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
