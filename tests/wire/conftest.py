"""kio as a second opinion: random messages drawn from its own schemas, as its bytes and as bodies of ours."""

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from rota.wire import Api, WireError, decode_request, decode_response, encode_request, encode_response

RENAMED = {("TxnOffsetCommitRequest", "generation_id"): "generation_id_or_member_epoch"}
"""Names that Kafka 4.4.0 changed after kio's schemas were made; the bytes are the same."""

TIMES = {"timedelta_i32": "int32", "timedelta_i64": "int64", "datetime_i64": "int64"}
PLAIN = TIMES | {"error_code": "int16", "records": "bytes"}
NULLS = {"uuid": UUID(int=0), "datetime_i64": -1}
"""What stands for kio's null of types that have none on the wire."""

EPOCH = datetime.fromtimestamp(0, UTC)
INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXTS = ("", "g", "consumer-group", "früh ☀", "x" * 127, "y" * 300)
LENGTHS = (0, 1, 1, 2, 3, 130)


def inner(hint):
    """A type hint without its null, and whether it had one."""
    arguments = get_args(hint)
    if NoneType in arguments:
        return next(each for each in arguments if each is not NoneType), True
    return hint, False


def rota_name(owner, field):
    """kio drops the unit of times: throttle_time is throttle_time_ms on the wire."""
    if (owner.__name__, field.name) in RENAMED:
        return RENAMED[owner.__name__, field.name]
    return f"{field.name}_ms" if field.metadata.get("kafka_type") in TIMES else field.name


def rota_value(value):
    if isinstance(value, ErrorCode):
        return int(value)
    if isinstance(value, datetime):
        value -= EPOCH
    if isinstance(value, timedelta):
        return round(value / timedelta(milliseconds=1))
    if isinstance(value, tuple):
        return [rota_value(each) for each in value]
    return rota_body(value) if is_dataclass(value) else value


def rota_body(entity):
    """A kio entity as a body of ours."""
    body = {}
    for field in fields(entity):
        value = getattr(entity, field.name)
        body[rota_name(type(entity), field)] = rota_null(field) if value is None else rota_value(value)
    return body


def rota_null(field):
    return NULLS.get(field.metadata.get("kafka_type"))


class Draw:
    """Random kio entities; `small` bounds nested arrays so that messages stay small."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def entity(self, kind, depth=0):
        return kind(**{field.name: self.field(field, depth) for field in fields(kind)})

    def field(self, field, depth):
        hint, nullable = inner(field.type)
        if nullable and self.rng.random() < 0.3:
            return None
        kafka_type = field.metadata.get("kafka_type")
        if get_origin(hint) is tuple:
            count = self.rng.choice(LENGTHS[: len(LENGTHS) - (depth > 0)])
            element = get_args(hint)[0]
            return tuple(self.value(element, kafka_type, depth + 1) for _ in range(count))
        return self.value(hint, kafka_type, depth)

    def value(self, hint, kafka_type, depth):
        rng = self.rng
        if is_dataclass(hint):
            return self.entity(hint, depth)
        if kafka_type in INTEGERS:
            bound = 2 ** (INTEGERS[kafka_type] - 1)
            return hint(rng.choice((0, 1, -1, bound - 1, -bound, rng.randrange(-bound, bound))))
        if kafka_type == "uint16":
            return hint(rng.choice((0, 1, 2**16 - 1, rng.randrange(2**16))))
        if kafka_type == "datetime_i64":
            return hint.parse(EPOCH + timedelta(milliseconds=rng.choice((0, 1_000, 1_700_000_000_000))))
        if kafka_type in TIMES:
            return hint.parse(timedelta(milliseconds=rng.choice((0, -1, 45_000, 2**31 - 1))))
        return {
            "float64": lambda: hint(rng.choice((0.0, -1.0, 1.5, 2.0**70))),
            "string": lambda: rng.choice(TEXTS),
            "bytes": lambda: rng.randbytes(rng.choice((0, 1, 40, 200))),
            "records": lambda: hint.parse(rng.randbytes(rng.choice((0, 1, 40, 200)))),
            "bool": lambda: rng.random() < 0.5,
            "uuid": lambda: UUID(int=rng.getrandbits(128) | 1),
            "error_code": lambda: rng.choice(tuple(ErrorCode)),
        }[kafka_type]()


@dataclass(frozen=True)
class Sample:
    """One random message: what kio writes, and the body that it stands for."""

    payload: bytes
    body: dict
    correlation_id: int
    client_id: str | None

    def objection(self, api: Api, version: int, kind: str) -> str | None:
        """How rota disagrees with kio about this message, None if it does not."""
        request = kind == "request"
        try:
            if request:
                read = decode_request(self.payload)
                seen = (read.api.name, read.version, read.client_id)
            else:
                read = decode_response(api.name, version, self.payload)
                seen = (api.name, version, self.client_id)
            if (*seen, read.correlation_id) != (api.name, version, self.client_id, self.correlation_id):
                return f"header: {read}"
            if read.body != self.body:
                return f"read {read.body}, not {self.body}"
            ends = (self.client_id,) if request else ()
            encode = encode_request if request else encode_response
            written = encode(api.name, version, self.body, self.correlation_id, *ends)
        except WireError as error:
            return str(error)
        return None if written == self.payload else f"wrote {written!r}, not {self.payload!r}"


def samples(api: Api, version: int, kind: str, count: int) -> Iterator[Sample]:
    """Random messages of kio's schema for this API, version and direction; the seed is fixed."""
    draw = Draw(f"{api.name} {version} {kind}")
    schema = (load_request_schema if kind == "request" else load_response_schema)(api.key, version)
    header = schema.__header_schema__
    for number in range(count):
        entity = draw.entity(schema)
        client_id = draw.rng.choice((None, "", "rdkafka", "ü"))
        start = {"correlation_id": number}
        if kind == "request":
            start |= {"request_api_key": api.key, "request_api_version": version, "client_id": client_id}
        out = io.BytesIO()
        entity_writer(header)(out, header(**start))
        entity_writer(schema)(out, entity)
        yield Sample(out.getvalue(), rota_body(entity), number, client_id)


@pytest.fixture(scope="session")
def kio_samples():
    return samples


def describe(kind):
    """The fields of a kio class: (name, type, array, nullable, tag, default or ..., fields of elements)."""
    rows = []
    for field in fields(kind):
        hint, nullable = inner(field.type)
        array = get_origin(hint) is tuple
        element = get_args(hint)[0] if array else hint
        kafka_type = field.metadata.get("kafka_type", "struct")
        plain = PLAIN.get(kafka_type, kafka_type)
        default = ... if type(field.default).__name__ == "_MISSING_TYPE" else rota_value(field.default)
        members = describe(element) if is_dataclass(element) else ()
        null = nullable and kafka_type not in NULLS
        default = rota_null(field) if default is None else default
        rows.append((rota_name(kind, field), plain, array, null, field.metadata.get("tag"), default, members))
    return tuple(rows)


@pytest.fixture(scope="session")
def kio_rows():
    return describe


@pytest.fixture(scope="session")
def kio_draws():
    """Random entities of a kio class, each with the body that it stands for; the seed is fixed."""

    def draws(kind, count):
        draw = Draw(kind.__module__)
        entities = (draw.entity(kind) for _ in range(count))
        return [(entity, rota_body(entity)) for entity in entities]

    return draws


@pytest.fixture(scope="session")
def kio_fields():
    """What `describe` says of an API's message in one version."""
    return lambda api, version, kind: describe(
        (load_request_schema if kind == "request" else load_response_schema)(api.key, version)
    )


TAGS = st.dictionaries(st.integers(10, 2**31), st.binary(max_size=5), max_size=2)


def any_plain(kind):
    if kind in INTEGERS:
        return st.integers(-(2 ** (INTEGERS[kind] - 1)), 2 ** (INTEGERS[kind] - 1) - 1)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    return {
        "bool": st.booleans(),
        "string": text,
        "bytes": st.binary(max_size=200),
        "uuid": st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number)),
        "uint16": st.integers(0, 2**16 - 1),
        "float64": st.floats(allow_nan=False),
    }[kind]


def body_of(fields, version, flexible):
    """Whole bodies: every field of the version; if flexible, tagged fields that the tables do not know."""
    values = {}
    for field in fields:
        if version in field.versions:
            inner = body_of(field.fields, version, flexible) if field.fields else any_plain(field.type)
            value = st.lists(inner, max_size=3) if field.array else inner
            values[field.name] = st.none() | value if version in field.nullable else value
    whole = st.fixed_dictionaries(values)
    if not flexible:
        return whole
    return st.builds(lambda body, tags: body | ({"_tags": tags} if tags else {}), whole, TAGS)


@pytest.fixture(scope="session")
def bodies():
    """Hypothesis strategies for the bodies that our tables describe, by (fields, version, flexible)."""
    return body_of
