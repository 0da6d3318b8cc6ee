"""What keeps one client from harming the others: each limit, its default, what the offender is told.

A limit stands where it is applied; here is only its name, so that the page has what the code has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

from rota.server import KNOWN, default


@dataclass(frozen=True)
class Limit:
    """One limit.

    offences: those of `bench.offenders_list` that it ends; what: is bounded, in words; where: the name of a
    setting, or "module:CONSTANT", with ".KEY" or ".attribute" behind it; unit: of its value; told: what the
    offender gets, an error code of Kafka or what happens to its connection; log: how the line of the log
    begins, HOST in it for the client's, "" if there is none.
    """

    offences: tuple[str, ...]
    what: str
    where: str
    unit: str
    told: str
    log: str = ""

    @property
    def value(self) -> int | float:
        """What it is by default. Errors: AttributeError or KeyError if there is no such limit."""
        module, is_constant, path = self.where.partition(":")
        if not is_constant:
            KNOWN[self.where]  # an unknown one is a mistake in the table
            return default(self.where)
        value = reduce(_member, path.split("."), import_module(module))
        assert isinstance(value, int | float)
        return value


def _member(holder: Any, name: str) -> Any:
    return holder[name] if isinstance(holder, Mapping) else getattr(holder, name)


@dataclass(frozen=True)
class Cheap:
    """What makes offences cheap, beside or in place of a limit."""

    offences: tuple[str, ...]
    how: str


CLOSED = "its connection is closed"
LATER = "it waits for its turn"
FRAMES = "rota.server.intake:FRAME_LIMITS"
CLOSING = "closing the connection of HOST: "


FRAME_OF = CLOSING + "a frame of"


def _frames(api: str, *offences: str) -> tuple[Limit, Limit]:
    """What a request of this API may have. (The table of all APIs is below the limits.)"""
    elements = f"elements of the arrays of {api}, tagged fields among them"
    return (
        Limit(offences, f"a frame of {api}", f"{FRAMES}.{api}.bytes", "bytes", CLOSED, FRAME_OF),
        Limit(offences, elements, f"{FRAMES}.{api}.elements", "elements", CLOSED, CLOSING),
    )


GZIP = ("gzip-streams", "gzip-many-streams", "gzip-bomb")
PIPELINED = ("pipelined-metadata", "list-groups", "api-versions", "heartbeats", "garbage")

LIMITS: tuple[Limit, ...] = (
    Limit(GZIP, "what a batch expands to", "rota.wire.records:MAX_INFLATED", "bytes", "INVALID_RECORD"),
    Limit(("gzip-bomb",), "records and headers of a batch", "rota.wire.records:MAX_RECORDS", "records",
          "INVALID_RECORD"),
    Limit((*GZIP, "producers", "produce-beside-fetches"), "a batch", "message.max.bytes", "bytes",
          "MESSAGE_TOO_LARGE"),
    *_frames("DescribeGroups", "describe-repeated"),
    Limit(("describe-repeated", "list-groups"), "the groups of an answer", "rota.server.answers:MAX_BYTES",
          "bytes", "COORDINATOR_LOAD_IN_PROGRESS", "ListGroups of HOST: not all groups fit into the answer"),
    *_frames("OffsetFetch", "offset-fetch-repeated"),
    Limit(("offset-fetch-repeated",), "the offsets of an answer",
          "rota.server.offset_parts:FIRST_BYTES", "bytes", "COORDINATOR_LOAD_IN_PROGRESS"),
    *_frames("LeaveGroup", "leave-many"),
    Limit(("tagged-fields",), "tagged fields of one structure", "rota.wire.runtime:MAX_TAGS", "fields",
          CLOSED, CLOSING),
    *_frames("Heartbeat", "tagged-fields"),
    Limit(("half-frames", "big-frames"), "any request", "socket.request.max.bytes", "bytes", CLOSED,
          FRAME_OF),
    Limit(("half-frames", "big-frames"), "frames longer than 64 KiB, all together",
          "queued.max.request.bytes", "bytes", "it is not read until there is room, the shortest first"),
    Limit(("half-frames",), "how long a long frame may take while others wait",
          "rota.server.intake:HALF_SENT_SECONDS", "seconds", CLOSED, CLOSING),
    Limit(("pipelined-metadata", "topics"), "partitions of all topics", "rota.server.settings:MAX_PARTITIONS",
          "partitions", "POLICY_VIOLATION"),
    Limit(PIPELINED, "how long a connection goes on while others wait", "rota.server.turns:TURN_SECONDS",
          "seconds", LATER),
    Limit(PIPELINED, "how long all go on in one turn of the event loop",
          "rota.server.turns:ITERATION_SECONDS", "seconds", LATER),
    *_frames("DeleteGroups", "delete-groups"),
    Limit(("large-members", "groups", "ids"), "what the members of a group take", "group.members.max.bytes",
          "bytes", "GROUP_MAX_SIZE_REACHED"),
    Limit(("large-members", "large-groups", "groups", "ids"), "what the members of all groups take",
          "members.max.bytes", "bytes", "COORDINATOR_NOT_AVAILABLE"),
    *_frames("JoinGroup", "large-members", "large-groups"),
    Limit(("commits",), "what the offsets of a group take", "group.offsets.max.bytes", "bytes",
          "INVALID_COMMIT_OFFSET_SIZE"),
    Limit(("commits",), "what the offsets of all groups take", "offsets.max.bytes", "bytes",
          "COORDINATOR_NOT_AVAILABLE"),
    Limit(("sync-dropped",), "how long a connection may be idle, under profile kafka-4.x also one with a "
          "request that is never answered", "connections.max.idle.ms", "ms", CLOSED, CLOSING + "idle for"),
    Limit(("long-error",), "what an error message quotes", "rota.server.errors:MAX_MESSAGE", "characters",
          "the message is cut"),
    Limit(("opened-and-closed", "held-open"), "connections", "max.connections", "connections", CLOSED,
          "closing a connection of HOST: there are max.connections already"),
    Limit(("slow-readers",), "the records of an answer", "rota.server.fetch:ANSWER_BYTES", "bytes",
          "it asks for the rest"),
    Limit(("slow-readers",), "what is read while answers wait to be taken",
          "rota.server.connection:READ_AHEAD", "bytes", "it is not read until they have left"),
    Limit(("slow-readers", "offset-fetch-repeated", "describe-repeated"),
          "long answers that wait to be taken, without the log's records", "rota.server.unsent:MAX_BYTES",
          "bytes", CLOSED, CLOSING + "it does not take its long answer"),
    Limit(("long-arrays",), "elements of a request, by its API", f"{FRAMES}.Metadata.elements", "elements",
          CLOSED, CLOSING),
    Limit(("producers",), "what the records of all topics take", "records.max.bytes", "bytes",
          "the oldest records of the fullest partition go", "records.max.bytes are reached: the records of"),
)  # fmt: skip

CHEAP: tuple[Cheap, ...] = (
    Cheap(GZIP, "a batch is expanded and read through in slices, without an object for any record"),
    Cheap(("describe-repeated", "offset-fetch-repeated"), "what is named again is encoded once"),
    Cheap(("delete-groups",), "100 groups a step; to forget a group costs what it has itself"),
    Cheap(
        ("produce-beside-fetches",),
        "a Fetch that waits is read when its logs have grown by what it lacks",
    ),
    Cheap(("sync-dropped",), "under profile rota the request is answered when its member is removed"),
    Cheap(("slow-readers",), "records are sent as they are taken, without a copy"),
    Cheap(
        ("slow-readers", "held-open", "opened-and-closed"),
        "a connection that is lost is given back at once, and not when the collector finds it",
    ),
    Cheap(("list-groups", "pipelined-metadata"), "what is told is encoded in steps shorter than a turn"),
    Cheap(("garbage",), "what cannot be decoded closes its connection at once"),
)
