"""The views that properties share."""

from __future__ import annotations

from collections.abc import Callable

from rota.environment.broker.coordinator import Coordinator
from rota.environment.clients.retry_rules import error_of
from rota.environment.clients.state import Client
from rota.kernel import View
from rota.spec import ErrorCode, Group


def _group(value: Coordinator) -> Group | None:
    return value.group


def _itself(value: object) -> object:
    return value


GROUP = View("coordinator", _group)
COORDINATOR = View("coordinator", _itself)
CLIENT = View("client", _itself)

Refers = tuple[str, tuple[str, ...]]
"""A client's name, and the ids that it still refers to."""


def refers_to(client: Client) -> Refers:
    """Which ids a client may still use."""
    return client.name, client.held


def error_answered(client: Client) -> ErrorCode | None:
    """The error code of the answer that is on its way to a client, None where there is no answer."""
    return None if client.inbox is None else error_of(client.inbox)


def is_not(flag: bool) -> bool:
    """The predicate of a sentence whose view says what must not be, or must cease."""
    return not flag


def is_not_told(error: ErrorCode) -> Callable[[ErrorCode], bool]:
    """The predicate of a sentence whose view says how clients are answered: not with this error."""

    def another(told: ErrorCode) -> bool:
        return told is not error

    return another


def present(seen: object | None) -> bool:
    """The premise of a sentence about what need not be there."""
    return seen is not None


def both(one: object | None, other: object | None) -> bool:
    """The premise of a sentence about two things that need not be there."""
    return one is not None and other is not None


def labels(group: Group) -> list[str]:
    """Who is in a group: a static member by its instance id, for its member id may change."""
    return [member.group_instance_id or member_id for member_id, member in group.members.items()]
