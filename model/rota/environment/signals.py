"""Messages between the machines of the world."""

from __future__ import annotations

from dataclasses import dataclass

from rota.spec import Call, GroupRecord
from rota.spec.vocabulary import AppendError

NOBODY = ""
"""The address of a request whose connection is gone: its answer reaches nobody."""


@dataclass(frozen=True)
class Deliver:
    """The broker takes a request from a connection. held: member ids that its client still refers to."""

    call: Call
    held: tuple[str, ...]


@dataclass(frozen=True)
class Disconnected:
    """A client's connection is gone; what it had parked will be answered to nobody."""


@dataclass(frozen=True)
class GaveUp:
    """A client's request timed out and it closes the connection; only where no answer will ever come."""


@dataclass(frozen=True)
class Evicted:
    """A timer took this id from its owner; who is alive and counts on it was late, which is a fault.

    answered: the owner's connection has a request parked under this id.
    """

    member_id: str
    answered: bool


@dataclass(frozen=True)
class Append:
    """A record goes to the log."""

    record: GroupRecord


@dataclass(frozen=True)
class ForgetAppends:
    """No answer to an append in flight can do anything any more (see `settled_appends`)."""


@dataclass(frozen=True)
class Appended:
    """The log answers: stored, or failed with an error."""

    record: GroupRecord
    error: AppendError | None


@dataclass(frozen=True)
class Charge:
    """Something that the budget must allow: a kind of fault, a leave, an enforced rejoin."""

    kind: str
