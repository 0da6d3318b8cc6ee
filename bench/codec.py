"""Microseconds (of processor time) per message of rota's codec beside kio and kafka-python, in one run.

    .venv/bin/python bench/codec.py [ROUNDS]

The same messages through all three, headers included, from each library's own objects and back to them; their
bytes must agree. The libraries take turns; the best of ROUNDS (default: 7) counts. A ratio above 1 means that
rota is that many times faster; kio reads messages in native code, all else is Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from time import process_time
from timeit import repeat
from types import NoneType
from typing import Any, get_args, get_origin

from kafka.protocol.consumer import group
from kafka.protocol.producer import produce
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kio.index import load_request_schema, load_response_schema
from kio.records import schema as kio_schema
from kio.records.readers import read_batch
from kio.records.writers import write_new_batch
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i16, i32, i64

from rota.wire import api, decode_request, decode_response, encode_request, encode_response
from rota.wire.consumer import encode_subscription
from rota.wire.records import Record, decode_batch, encode_batch, rebased

CLIENT = "bench"
MEMBER = "consumer-payments-1-0f4d8b52-5c1d-4f9e-9a4b-6d6f3f1c2b7a"
SECONDS = 0.02
"""How long one measurement takes, about."""

Work = Callable[[], object]
LIBRARIES = ("rota", "kio", "kafka-python")


@dataclass(frozen=True)
class Case:
    """One message: what each library does to write and to read it."""

    title: str
    encode: Mapping[str, Work]
    decode: Mapping[str, Work]


def message(title: str, name: str, version: int, kind: str, body: dict[str, Any], peer: Any) -> Case:
    """A request or response; `peer` is kafka-python's class. Ends the program if the bytes do not agree."""
    found, request = api(name), kind == "request"
    schema = (load_request_schema if request else load_response_schema)(found.key, version)
    start = {"correlation_id": 1}
    if request:
        start |= {"request_api_key": found.key, "request_api_version": version, "client_id": CLIENT}
    header = schema.__header_schema__
    write_header, write = entity_writer(header), entity_writer(schema)
    read_header, read = entity_reader(header), entity_reader(schema)
    head, entity = header(**start), of_kio(schema, body)
    theirs = of_kafka_python(peer, body, version)
    theirs.with_header(*((1, CLIENT) if request else (1,)))

    def kio_encode() -> bytes:
        out = BytesIO()
        write_header(out, head)
        write(out, entity)
        return out.getvalue()

    encode: dict[str, Work] = {
        "rota": (
            (lambda: encode_request(name, version, body, 1, CLIENT))
            if request
            else (lambda: encode_response(name, version, body, 1))
        ),
        "kio": kio_encode,
        "kafka-python": lambda: theirs.encode(header=True),
    }
    data = kio_encode()
    decode: dict[str, Work] = {
        "rota": (lambda: decode_request(data)) if request else (lambda: decode_response(name, version, data)),
        "kio": lambda: read(data, read_header(data, 0)[1]),
        "kafka-python": lambda: peer.decode(data, version=version, header=True),
    }
    agree(title, {library: bytes(work()) for library, work in encode.items()})
    for work in decode.values():
        work()
    return Case(title, encode, decode)


def of_kio(kind: Any, body: Mapping[str, Any]) -> Any:
    """A kio entity with the values of a body of ours; kio's names of times lack their unit."""
    values = {}
    for field in fields(kind):
        key = field.name if field.name in body else f"{field.name}_ms"
        if key in body:
            values[field.name] = kio_value(field.type, body[key])
    return kind(**values)


def kio_value(hint: Any, value: Any) -> Any:
    arguments = get_args(hint)
    if NoneType in arguments:
        (hint,) = (each for each in arguments if each is not NoneType)
    if get_origin(hint) is tuple:
        return tuple(kio_value(get_args(hint)[0], each) for each in value)
    if is_dataclass(hint):
        return of_kio(hint, value)
    if isinstance(hint, type) and issubclass(hint, timedelta):
        return timedelta(milliseconds=value)
    return ErrorCode(value) if hint is ErrorCode else value


def of_kafka_python(kind: Any, body: Mapping[str, Any], version: int | None = None) -> Any:
    """A kafka-python object with the values of a body of ours."""
    values = {}
    for name, value in body.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = kind._struct.fields[name].data_class
            value = [of_kafka_python(inner, each, version) for each in value]
        values[name] = value
    return kind(version=version, **values)


def batch() -> Case:
    """A record batch with 100 records, keys of 6 bytes and values of 60."""
    start = 1_700_000_000_000
    records = [Record(index, start + index, b"key-%02d" % index, b"v" * 60) for index in range(100)]
    theirs = kio_schema.NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        base_sequence=i32(-1),
        attributes=i16(0),
        records=tuple(map(kio_record, records)),
    )

    def kio_encode() -> bytes:
        out = BytesIO()
        write_new_batch(out, theirs)
        return out.getvalue()

    def kafka_python_encode() -> bytes:
        builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
        for record in records:
            builder.append(record.offset, record.timestamp, record.key, record.value, [])
        return builder.build()

    def kafka_python_decode() -> object:
        read = DefaultRecordBatch(data)
        return read.validate_crc(), list(read)

    data = encode_batch(records)
    encode: dict[str, Work] = {
        "rota": lambda: encode_batch(records),
        "kio": kio_encode,
        "kafka-python": kafka_python_encode,
    }
    decode: dict[str, Work] = {
        "rota": lambda: decode_batch(data),
        "kio": lambda: read_batch(data, 0),
        "kafka-python": kafka_python_decode,
    }
    title = "record batch, 100 records"
    agree(title, {name: rebased(bytes(work()), 0) for name, work in encode.items()})
    return Case(title, encode, decode)


def kio_record(record: Record) -> kio_schema.Record:
    return kio_schema.Record(
        attributes=i8(0),
        timestamp=datetime.fromtimestamp(record.timestamp / 1000, UTC),
        offset=i64(record.offset),
        key=record.key,
        value=record.value,
        headers=(),
    )


def agree(title: str, written: Mapping[str, bytes]) -> None:
    """Ends the program if the libraries did not write the same bytes."""
    if len(set(written.values())) != 1:
        raise SystemExit(f"{title}: the codecs do not agree; the times mean nothing")


def cases() -> Iterator[Case]:
    """The messages that a group sends most, and the largest."""
    metadata = encode_subscription({"topics": ["payments", "orders"], "generation_id": 7})
    offsets = [
        {
            "partition_index": index,
            "committed_offset": 1_000_000 + index,
            "committed_leader_epoch": 3,
            "committed_metadata": "",
        }
        for index in range(10)
    ]
    identity = {"group_id": "payments", "member_id": MEMBER, "group_instance_id": None}
    beat = {**identity, "generation_id": 7}
    yield message("Heartbeat v4 request", "Heartbeat", 4, "request", beat, group.HeartbeatRequest)
    join = {
        **identity,
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 300_000,
        "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": metadata} for name in ("range", "cooperative-sticky")],
        "reason": None,
    }
    yield message(
        "JoinGroup v9 request, 2 protocols", "JoinGroup", 9, "request", join, group.JoinGroupRequest
    )
    joined = {
        "throttle_time_ms": 0,
        "error_code": 0,
        "generation_id": 7,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "leader": MEMBER,
        "skip_assignment": False,
        "member_id": MEMBER,
        "members": [
            {"member_id": f"{MEMBER}{index:02}", "group_instance_id": None, "metadata": metadata}
            for index in range(100)
        ],
    }
    yield message(
        "JoinGroup v9 response, 100 members", "JoinGroup", 9, "response", joined, group.JoinGroupResponse
    )
    commit = {
        **identity,
        "generation_id_or_member_epoch": 7,
        "topics": [{"name": "payments", "partitions": offsets}],
    }
    yield message(
        "OffsetCommit v9 request, 10 partitions",
        "OffsetCommit",
        9,
        "request",
        commit,
        group.OffsetCommitRequest,
    )
    records = encode_batch([Record(index, 0, None, b"v" * 60) for index in range(100)])
    produced = {
        "transactional_id": None,
        "acks": -1,
        "timeout_ms": 30_000,
        "topic_data": [{"name": "payments", "partition_data": [{"index": 0, "records": records}]}],
    }
    yield message(
        "Produce v9 request, 7 kB of records", "Produce", 9, "request", produced, produce.ProduceRequest
    )
    yield batch()


def times(work: Mapping[str, Work], rounds: int) -> list[float]:
    """Microseconds a call by library, in the order of `LIBRARIES`; they take turns, the best round counts."""
    number = {name: max(1, int(SECONDS / seconds(work[name], 50))) for name in LIBRARIES}
    best = dict.fromkeys(LIBRARIES, float("inf"))
    for _ in range(rounds):
        for name in LIBRARIES:
            best[name] = min(best[name], seconds(work[name], number[name]))
    return [best[name] * 1e6 for name in LIBRARIES]


def seconds(work: Work, number: int) -> float:
    return repeat(work, timer=process_time, number=number, repeat=1)[0] / number


def main(arguments: list[str]) -> None:
    """Print one line per message and direction."""
    rounds = int(arguments[0]) if arguments else 7
    print(f"{'us a message':<49}{'rota':>8}{'kio':>9}{'kafka-py':>10}    rota is")
    for case in cases():
        for direction, work in (("encode", case.encode), ("decode", case.decode)):
            ours, kio, kafka = times(work, rounds)
            print(
                f"{case.title:<41}{direction:<8}{ours:>8.1f}{kio:>9.1f}{kafka:>10.1f}"
                f"    {kio / ours:.1f} x kio, {kafka / ours:.1f} x kafka-python"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
