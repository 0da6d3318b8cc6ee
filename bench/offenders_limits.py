"""What keeps one client from harming the others: each limit, its default, what the offender is told.

A limit stands where it is applied; here is only its name, so that the page has what the code has.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from rota.server import KNOWN, default


@dataclass(frozen=True)
class Limit:
    """One limit.

    offences: those of `bench.offenders_list` that it ends; what: is bounded, in words; where: the name of a
    setting, or "module:CONSTANT"; unit: of its value; told: what the offender gets, an error code of Kafka
    or what happens to its connection; log: how the line of the log begins, "" if there is none.
    """

    offences: tuple[str, ...]
    what: str
    where: str
    unit: str
    told: str
    log: str = ""

    @property
    def value(self) -> int | float | bool:
        """What it is by default. Errors: AttributeError or KeyError if there is no such limit."""
        module, is_constant, name = self.where.partition(":")
        if not is_constant:
            KNOWN[self.where]  # an unknown one is a mistake in the table
            return default(self.where)
        value = getattr(import_module(module), name)
        assert isinstance(value, int | float)
        return value


@dataclass(frozen=True)
class Cheap:
    """Offences that need no limit: how they became cheap."""

    offences: tuple[str, ...]
    how: str


LIMITS: tuple[Limit, ...] = (
    Limit(
        ("big-frames", "half-frames"),
        "a request",
        "socket.request.max.bytes",
        "bytes",
        "its connection is closed",
        "closing the connection of HOST: a frame of",
    ),
    Limit(
        ("opened-and-closed", "held-open"),
        "open connections",
        "max.connections",
        "connections",
        "its connection is closed",
        "closing a connection of HOST: there are max.connections already",
    ),
    Limit(
        ("topics",),
        "partitions of all topics together",
        "rota.server.settings:MAX_PARTITIONS",
        "partitions",
        "INVALID_PARTITIONS",
    ),
    Limit(
        ("producers", "slow-readers"),
        "a record batch",
        "message.max.bytes",
        "bytes",
        "MESSAGE_TOO_LARGE",
    ),
    Limit(
        ("slow-readers", "api-versions", "heartbeats", "pipelined-metadata"),
        "what is read beside the request that is being answered",
        "rota.server.connection:READ_AHEAD",
        "bytes",
        "its connection is not read until answers have left",
    ),
    Limit(
        ("api-versions", "heartbeats"),
        "requests of one connection in one turn of the event loop",
        "rota.server.connection:REQUESTS_AT_ONCE",
        "requests",
        "the others are served in between",
    ),
)

CHEAP: tuple[Cheap, ...] = (Cheap(("garbage",), "what cannot be decoded closes its connection at once"),)
