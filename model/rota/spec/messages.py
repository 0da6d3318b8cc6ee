"""What every request and reply is, and those about no group's members: who coordinates a group.

Messages are frozen values with the field names of Kafka's message schemas in snake_case, never named
tuples: replies of different kinds must not compare equal.
"""

from __future__ import annotations

from rota.kernel import frozen
from rota.spec.vocabulary import ErrorCode, Hosting


class Request:
    """A request of any API. Each API's requests stand with its part of the protocol."""

    __slots__ = ()


class ReplyMessage:
    """The body of an answer of any API."""

    __slots__ = ()


@frozen
class FindCoordinatorRequest(Request):
    """FindCoordinator.

    keys: group ids, exactly one below version 4; key_type: 0 a group, 1 a transaction, 2 a share group.
    """

    keys: tuple[str, ...]
    key_type: int = 0


@frozen
class Node:
    """A broker as metadata name it; the defaults are those of nobody."""

    node_id: int = -1
    host: str = ""
    port: int = -1


@frozen
class CoordinatorOf:
    """The answer for one key."""

    key: str
    error_code: ErrorCode
    node: Node = Node()


@frozen
class FindCoordinatorReply(ReplyMessage):
    """The answer to FindCoordinator, one for each key in the order of the request."""

    coordinators: tuple[CoordinatorOf, ...]

    @property
    def error_code(self) -> ErrorCode:
        """The first key's error, all that an answer below version 4 says."""
        return self.coordinators[0].error_code


@frozen
class Call:
    """A request as the coordinator gets it.

    Parameters: request; to, the opaque address of the answer; version, of the request;
    fresh_id, the member id that will be handed out if this request needs one (ids are inputs: the spec
    draws none); hosting, what the broker that takes it is to the group; leader, who leads the group's
    partition as far as that broker knows, None where it knows of no such topic, or of no leader alive;
    now_ms, the broker's clock, which only commits of offsets look at.
    """

    request: Request
    to: str
    version: int
    fresh_id: str = ""
    hosting: Hosting = Hosting.ACTIVE
    leader: Node | None = None
    now_ms: int = 0
