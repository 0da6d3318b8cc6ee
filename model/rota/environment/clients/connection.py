"""A client's connection: requests under way, and what becomes of them when it breaks or the process dies."""

from __future__ import annotations

from rota.environment.clients.state import ENDED, Client, Phase
from rota.environment.messages import NOBODY, Charge, Deliver, Disconnected, GaveUp
from rota.kernel import Outcome, Send, replace
from rota.spec import Call, JoinGroupRequest, SyncGroupRequest
from rota.spec.offset_messages import OffsetCommitRequest, OffsetFetchRequest

AFTER_BREAK = {
    Phase.JOINING: Phase.UNJOINED,
    Phase.SYNCING: Phase.UNJOINED,
    Phase.PREPARING: Phase.UNJOINED,
    Phase.COMMITTING: Phase.STABLE,
    Phase.FETCHING: Phase.STABLE,
    Phase.LEAVING: Phase.GONE,
    Phase.DROPPING: Phase.UNJOINED,
}
"""A join or sync in flight ends in a new join, a commit or a leave is not repeated, a heartbeat is just
missed; a client that asked for its offsets asks again."""


def outcome(value: Client, what: str, *sends: Send) -> Outcome:
    """A client's move. what: what it does, after its name."""
    return Outcome(value, sends, f"{value.name} {what}")


def deliver(value: Client, call: Call) -> Send:
    """The broker takes a request."""
    return Send("coordinator", Deliver(call, value.held, value.broker))


def taken(value: Client, call: Call) -> Outcome:
    """The request on the wire reaches the broker.

    If a late request of its own had overtaken the client, it has caught up with that now, unless this one is
    only about offsets.
    """
    blind = isinstance(call.request, OffsetCommitRequest | OffsetFetchRequest)
    after = replace(value, outbox=None, overtaken=value.overtaken and blind)
    return Outcome(after, (deliver(value, call),), f"{value.name}'s {_kind(call)} reaches the coordinator")


def gives_up(value: Client) -> Outcome:
    """A request times out on the client's side where no answer will ever come."""
    return outcome(unanswered(value), "gives up waiting (request timeout)", Send("coordinator", GaveUp()))


def left_behind(value: Client, call: Call) -> list[Outcome]:
    """The broker takes a request from a connection that is gone, or never does."""
    kind = _kind(call)
    lost = replace(value, orphan=None)
    late = replace(lost, overtaken=value.overtaken or _overtakes(call))
    return [
        outcome(late, f"left a {kind} behind that is taken now", deliver(value, replace(call, to=NOBODY))),
        outcome(lost, f"left a {kind} behind that is lost"),
    ]


def crash(value: Client) -> list[Outcome]:
    """The process dies."""
    if value.phase in ENDED:
        return []
    return [
        outcome(
            stopped(value), "crashes", Send("budget", Charge("crash")), Send("coordinator", Disconnected())
        )
    ]


def loss(value: Client, after: Client) -> list[Outcome]:
    """The connection breaks while something is under way on it. after: what becomes of the client."""
    if value.phase in ENDED or not (value.outbox is not None or value.inbox is not None or value.waits):
        return []
    return [
        outcome(
            after,
            "loses its connection",
            Send("budget", Charge("break")),
            Send("coordinator", Disconnected()),
        )
    ]


def unanswered(value: Client) -> Client:
    """A client whose connection is gone, and with it the request and the answer under way."""
    return replace(
        value,
        phase=AFTER_BREAK.get(value.phase, value.phase),
        outbox=None,
        inbox=None,
        orphan=_left(value),
    )


def stopped(value: Client) -> Client:
    """What is left of a client whose process is gone: a request on its way to a broker, and who it is."""
    left = _left(value)
    return Client(
        value.name,
        Phase.CRASHED,
        orphan=left,
        broker=0 if left is None else value.broker,
        group_instance_id=value.group_instance_id,
    )


def _left(value: Client) -> Call | None:
    """The request that a broker may still take: one on the wire, else one left behind before.

    A request that only reads has no effect once its connection is gone.
    """
    if value.outbox is None or isinstance(value.outbox.request, OffsetFetchRequest):
        return value.orphan
    return value.outbox


def _overtakes(call: Call) -> bool:
    """Whether a request left behind may take the place of a later one, or set the group in motion."""
    request = call.request
    if not isinstance(request, JoinGroupRequest | SyncGroupRequest):
        return False
    return bool(request.member_id or request.group_instance_id)


def _kind(call: Call) -> str:
    return type(call.request).__name__.removesuffix("Request")
