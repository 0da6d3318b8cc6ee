"""Reads answers that break their schema in one way only: a null where the version allows none.

A strict client library throws such an answer away. The kit still wants to know what the target meant, so that
one defect in how answers are written does not hide what the coordinator decided.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from rota.wire import Api, WireError, api, decode_response
from rota.wire.decoder import Decode, decoder
from rota.wire.schema import ALL, Field


def read_answer(name: str, version: int, payload: bytes) -> tuple[int, dict[str, Any], tuple[str, ...]]:
    """Correlation id, body, and the fields that were null against the schema (their value: the empty one).

    Errors: WireError for anything that is wrong in another way.
    """
    try:
        response = decode_response(name, version, payload)
    except WireError as error:
        if "null" not in str(error):
            raise
        return _null_tolerant(api(name), version, payload)
    return response.correlation_id, dict(response.body), ()


def _null_tolerant(found: Api, version: int, payload: bytes) -> tuple[int, dict[str, Any], tuple[str, ...]]:
    position = 5 if version in found.flexible else 4
    try:
        body, end = _decoder(found, version)(payload, position)
    except (ValueError, IndexError, struct.error) as error:
        raise WireError(f"{found.name} v{version} response: {error}") from None
    if end != len(payload) or (position == 5 and payload[4] != 0):
        raise WireError(f"{found.name} v{version} response: does not end where it should")
    return (
        int.from_bytes(payload[:4], "big", signed=True),
        body,
        tuple(_nulls_replaced(found.response, version, body)),
    )


@cache
def _decoder(found: Api, version: int) -> Decode:
    fields = tuple(_nullable(field) for field in found.response)
    return decoder(fields, version, version in found.flexible, f"{found.name} v{version} response")


def _nullable(field: Field) -> Field:
    return replace(field, nullable=ALL, fields=tuple(_nullable(inner) for inner in field.fields))


def _nulls_replaced(fields: tuple[Field, ...], version: int, body: dict[str, Any]) -> Iterator[str]:
    for field in fields:
        if field.name not in body or version in field.nullable:
            continue
        if body[field.name] is None:
            yield field.name
            body[field.name] = [] if field.array else b"" if field.type == "bytes" else ""
        elif field.fields and field.array:
            for element in body[field.name]:
                yield from _nulls_replaced(field.fields, version, element)
