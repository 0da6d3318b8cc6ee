"""The control port in OpenAPI 3.1, made from the table of operations."""

from __future__ import annotations

from typing import Any

from rota.control.fields import Field
from rota.control.operations import OPERATIONS, Operation

Json = dict[str, Any]

_ERRORS = {
    "400": "What is asked cannot be read: the error says what is wrong, and what would be right.",
    "403": "It is not asked by a program on this machine.",
    "409": "It cannot be done as things are: the error says why, and what is there.",
}

_METRICS: Json = {
    "operationId": "metrics",
    "summary": "Groups by state, rebalances and offsets, by Kafka's names, as text for Prometheus.",
    "responses": {
        "200": {"description": "As now.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    },
}


def document(version: str, url: str) -> Json:
    """The document. version: of rota; url: where the port is, "http://127.0.0.1:PORT"."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    paths["/metrics"] = {"get": _METRICS}
    error = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rota serve, in the hand of tests",
            "version": version,
            "description": "A broker for tests of Kafka's clients that does what seldom happens by itself.",
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": {"schemas": {"Error": error}},
    }


def _described(operation: Operation) -> Json:
    asked: Json = {}
    if operation.fields and operation.method == "GET":
        asked = {"parameters": [_parameter(field) for field in operation.fields]}
    elif operation.fields:
        required = [field.name for field in operation.fields if field.required]
        schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {field.name: field.schema for field in operation.fields},
            **({"required": required} if required else {}),
        }
        asked = {"requestBody": {"required": bool(required), "content": _json(schema)}}
    gives = {
        "type": "object",
        "properties": {name: {"description": about} for name, about in operation.gives.items()},
    }
    refused = {"content": _json({"$ref": "#/components/schemas/Error"})}
    return {
        "operationId": operation.name,
        "summary": operation.about,
        **asked,
        "responses": {
            "200": {"description": "It is done.", "content": _json(gives)},
            **{code: {"description": about, **refused} for code, about in _ERRORS.items()},
        },
    }


def _parameter(field: Field) -> Json:
    schema = {name: value for name, value in field.schema.items() if name != "description"}
    about = {"name": field.name, "in": "query", "description": field.about, "schema": schema}
    return {**about, "required": field.required}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
