"""Mutated frames, by the million, for a server without sockets: none is a fault, none is dear, nothing leaks.

    .venv/bin/python tests/harness/mutated_frames.py [--frames N] [--seed N] [--out FILE] [--seconds N]

Half of the frames are real ones (of kafka-python and librdkafka, in real_frames.txt) and usual ones, with
bytes exchanged, taken out or put in; half are bodies from the codec's tables, one or two fields of which have
odd values. They come in segments, each with a server of its own and a seed that follows from its number: FILE
has a line for each that is done, and a run goes on behind the last one. Printed is, by API, how many were
sent, and how many were decoded and reached a handler. A frame that holds the loop for longer than STRETCH,
the shortest of four times counts, is a fault; so is a segment of which any frame may have cost DEAR bytes or
more: TOGETHER of them took so much at their peak.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from rota.server.broker import Server
from rota.server.connection import Connection
from rota.server.context import RequestContext
from rota.server.settings import Settings
from rota.wire import Api, all_apis, api, decode_response, encode_request, frame
from rota.wire.records import Record, encode_batch
from rota.wire.schema import Field

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.endpoints import HERE
from harness.extremes import AGAIN, BITS, DEAR, STRETCH, Faults, usual
from rota.virtual import arrive

SEGMENT = 20_000
"""Frames for one server."""

TOGETHER = 16
"""Frames between two iterations of the event loop."""

REAL_FRAMES = Path(__file__).with_name("real_frames.txt")
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "log.retention.bytes": 1 << 20,
    "group.min.session.timeout.ms": 0,
}
BATCH = encode_batch([Record(0, 1, b"k", b"v")])
PACKED = encode_batch([Record(0, 1, b"k", b"v")], compression="gzip")
STRINGS = ("", "g", "t", "consumer", "range", "m", "x" * 40, "é/\0", "__consumer_offsets", "x" * 300)
BYTES = (b"", b"m", BATCH, PACKED, BATCH[:-1], bytes(100))


class Silent(asyncio.Transport):
    """Takes what is written, keeps the last of it, and does not send it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_closed = False
        self.written = b""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "socket": self}[name]

    def setsockopt(self, *option: int) -> None:
        pass

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written = bytes(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Counting(Server):
    """Counts the requests that reach a handler, by API."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.reached: Counter[str] = Counter()

    def handle(self, body: Mapping[str, Any], context: RequestContext) -> Iterator[None] | None:
        self.reached[context.api_name] += 1
        return super().handle(body, context)


class Frames:
    """Frames of one segment, all from its seed."""

    def __init__(self, seed: int, topic_id: UUID, served: Mapping[str, range]) -> None:
        self.rng = random.Random(seed)
        self.topic_id = topic_id
        self.kinds = [(api(name), version) for name, versions in served.items() for version in versions]
        self.bases = [
            (found.name, encode_request(found.name, version, usual(found.request, version, topic_id), 1, "c"))
            for found, version in self.kinds
        ]
        real = (bytes.fromhex(line) for line in REAL_FRAMES.read_text().splitlines())
        self.real = [(api(int.from_bytes(payload[:2], "big")).name, payload) for payload in real]

    def next(self) -> tuple[str, bytes]:
        """The API of a frame, and its payload."""
        if self.rng.random() < 0.5:
            name, payload = self.rng.choice(self.bases if self.rng.random() < 0.5 else self.real)
            return name, self.damaged(payload)
        found, version = self.rng.choice(self.kinds)
        body = usual(found.request, version, self.topic_id)
        for _ in range(self.rng.randrange(1, 3)):
            self.alter(body, found.request, version)
        return found.name, encode_request(found.name, version, body, 1, "c")

    def damaged(self, payload: bytes) -> bytes:
        """The payload with some bytes exchanged, gone, put in or doubled; mostly behind its header."""
        rng, out = self.rng, bytearray(payload)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at = rng.randrange(10 if rng.random() < 0.95 else 0, max(len(out), 11))
            kind = rng.random()
            if kind < 0.7:
                out[at : at + 1] = rng.choice(
                    (b"\0", b"\1", b"\x7f", b"\xff", rng.randbytes(1), rng.randbytes(1))
                )
            elif kind < 0.8:
                del out[at : at + rng.randrange(1, 4)]
            elif kind < 0.9:
                out[at:at] = rng.randbytes(rng.randrange(1, 4))
            else:
                out[at:at] = out[max(at - 8, 0) : at]
        return bytes(out)

    def alter(self, body: dict[str, Any], fields: tuple[Field, ...], version: int) -> None:
        """Gives a field of the body, at any depth, a value that the wire can carry."""
        present = [each for each in fields if version in each.versions]
        if not present:
            return
        one = self.rng.choice(present)
        value = body[one.name]
        if one.type == "struct" and value and self.rng.random() < 0.8:
            self.alter(value[0] if one.array else value, one.fields, version)
            return
        body[one.name] = self.other(one, version, value)

    def other(self, one: Field, version: int, value: Any) -> Any:
        rng = self.rng
        if version in one.nullable and rng.random() < 0.2:
            return None
        if one.array:
            return (value or []) * rng.choice((0, 2, 3, 20))
        if one.type in BITS:
            edge = 1 << BITS[one.type]
            signed = (-1, -2, -edge) if one.type.startswith("i") else (1,)
            return rng.choice((0, 1, 2, 5, edge >> 1, edge - 1, *signed))
        plain = {
            "string": STRINGS,
            "bytes": BYTES,
            "bool": (True, False),
            "uuid": (UUID(int=0), UUID(int=7), self.topic_id),
        }
        return rng.choice(plain[one.type]) if one.type in plain else value


def served(server: Server) -> dict[str, range]:
    """The versions that are answered, by API."""

    def versions(found: Api) -> range:
        known = [version for version in range(found.max_version + 1) if server.serves(found.key, version)]
        return range(known[0], known[-1] + 1) if known else range(0)

    return {found.name: versions(found) for found in all_apis() if versions(found)}


class Segment:
    """One server and its frames."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sent: Counter[str] = Counter()
        self.longest = (0.0, "")
        self.dearest = 0
        self.before = 0
        self.server = Counting(Settings.of(SETTINGS))

    async def run(self) -> dict[str, Any]:
        faults = Faults()
        logging.getLogger().addHandler(faults)
        await self.server.start()
        try:
            good, heard = self.connected()
            topic_id = self.server.topics.create("t", 2).topic_id
            frames = Frames(self.number, topic_id, served(self.server))
            connection, transport = self.connected()
            self.begin()
            for count in range(SEGMENT):
                name, payload = frames.next()
                self.sent[name] += 1
                spent = await self.spent_on(connection, payload, go_on=count % TOGETHER == 0)
                if spent > STRETCH:
                    spent = min([spent, *[await self.spent_again_on(payload) for _ in range(AGAIN)]])
                if spent > self.longest[0]:
                    self.longest = spent, payload[:200].hex()
                if transport.is_closed or connection._in_flight is not None or connection._steps is not None:
                    connection.connection_lost(None)
                    connection, transport = self.connected()
                if count % TOGETHER == 0:
                    self.weigh()
                    self.begin()
                if count % 1_000 == 0:
                    await self.answers(good, heard)
            self.weigh()
        finally:
            for each in tuple(self.server.connections):
                each.connection_lost(None)
            await self.server.stop()
            logging.getLogger().removeHandler(faults)
        return {
            "segment": self.number,
            "sent": self.sent,
            "reached": self.server.reached,
            "longest_ms": round(1000 * self.longest[0], 1),
            "longest": self.longest[1],
            "peak_mib": round(self.dearest / 2**20, 1),
            "faults": faults.found,
        }

    def begin(self) -> None:
        """Here begin frames that are weighed together."""
        self.before = resident()
        forget_peak()

    def weigh(self) -> None:
        """Few frames at a time: what a process gives back meanwhile that has had more would hide as much."""
        self.dearest = max(self.dearest, peak() - self.before)

    async def spent_on(self, connection: Connection, payload: bytes, go_on: bool) -> float:
        """Processor seconds that a frame takes, and the loop until it waits for events if that goes on."""
        begun = time.thread_time()
        arrive(connection, frame(payload))
        if go_on:
            await asyncio.sleep(0)
        return time.thread_time() - begun

    async def spent_again_on(self, payload: bytes) -> float:
        """The same on another connection: a busy machine, or what is made at the first time, is not its."""
        connection, _ = self.connected()
        spent = await self.spent_on(connection, payload, go_on=True)
        connection.connection_lost(None)
        return spent

    def connected(self) -> tuple[Connection, Silent]:
        connection, transport = Connection(self.server, HERE), Silent()
        connection.connection_made(transport)
        return connection, transport

    async def answers(self, good: Connection, heard: Silent) -> None:
        """A bystander gets the answer that it always gets."""
        heard.written = b""
        body = {"group_id": "nobody", "member_id": "m"}
        arrive(good, frame(encode_request("Heartbeat", 4, body, 1, "b")))
        while not heard.written:
            assert not heard.is_closed
            await asyncio.sleep(0)
        assert decode_response("Heartbeat", 4, heard.written[4:]).body["error_code"] == 25


def resident() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def forget_peak() -> None:
    """The peak of this process's memory is counted anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Bytes of memory that this process had at most since then."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in each)
    return int(line.split()[1]) * 1024


def run_segment(number: int) -> dict[str, Any]:
    """What a segment found, and the memory left when it has been let go."""
    gc.collect()
    outcome = asyncio.run(Segment(number).run())
    gc.collect()
    return outcome | {"resident_mib": resident() >> 20}


def wrong(line: Mapping[str, Any]) -> list[str]:
    """What is wrong with a segment. The first takes more, as what all have is made then."""
    found: list[str] = list(line["faults"])
    if line["longest_ms"] > 1000 * STRETCH:
        found.append(f"held the loop for {line['longest_ms']} ms of CPU: {line['longest']}")
    if line["peak_mib"] > DEAR >> 20:
        found.append(f"took {line['peak_mib']} MiB at its peak")
    return [f"segment {line['segment']}: {each}" for each in found]


def report(lines: list[dict[str, Any]]) -> str:
    sent: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    for line in lines:
        sent.update(line["sent"])
        reached.update(line["reached"])
    rows = [f"{name:18} {sent[name]:>12,} {reached[name]:>12,}" for name in sorted(sent)]
    total = f"{'all':18} {sent.total():>12,} {reached.total():>12,}"
    longest = max(lines, key=lambda line: float(line["longest_ms"]))
    memory = f"memory {lines[0]['resident_mib']} to {lines[-1]['resident_mib']} MiB"
    highest = max(line["peak_mib"] for line in lines)
    found = [each for line in lines for each in wrong(line)]
    tail = f"longest {longest['longest_ms']} ms; {memory}, {highest} more for a moment; faults {len(found)}"
    return "\n".join([f"{'API':18} {'sent':>12} {'reached':>12}", *rows, total, tail, *found])


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutated frames for a server without sockets.")
    parser.add_argument("--frames", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first segment")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path, default=Path("rota-out/frames.jsonl"))
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    end = time.monotonic() + asked.seconds
    with asked.out.open("a") as out:
        while len(lines) * SEGMENT < asked.frames and time.monotonic() < end:
            lines.append(run_segment(asked.seed + len(lines)))
            out.write(json.dumps(lines[-1]) + "\n")
            out.flush()
    print(report(lines))
    return 1 if any(wrong(line) for line in lines) else 0


if __name__ == "__main__":
    logging.getLogger("rota").setLevel(logging.WARNING)
    sys.exit(main())
