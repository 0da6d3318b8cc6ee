"""How a client finds the coordinator, and finds it again after it was told that it asked the wrong broker.

Simplified, and why that is safe: the request to find it is taken and answered in the move in which a client
learns that it has to look. Looking later is the same as learning later, and an answer from metadata that are
out of date sends it to the old broker once more, where nothing has changed since. A client that starts
knows at first where the coordinator is: a wrong guess would cost it one more such round.
"""

from __future__ import annotations

from rota.environment.clients.retry_rules import Answer, error_of
from rota.environment.clients.state import Client
from rota.environment.messages import Deliver, Renumbered, same_broker
from rota.kernel import Message, Send, replace
from rota.spec import Call, ErrorCode, FindCoordinatorReply, FindCoordinatorRequest, LeaveGroupReply

LOST = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
"""The errors that make a client forget the coordinator. Source: upstream AbstractCoordinator."""

VERSION = 4
"""The version of FindCoordinator that clients send."""


def looks_up(value: Client, group_id: str = "g") -> Send:
    """The client asks for the coordinator."""
    call = Call(FindCoordinatorRequest((group_id,)), value.name, VERSION)
    return Send("coordinator", Deliver(call, value.held, value.broker))


def looks_up_after(value: Client, reply: Answer) -> tuple[Send, ...]:
    """The client asks for the coordinator if an answer says so; one that has left does not care."""
    if error_of(reply) not in LOST or isinstance(reply, LeaveGroupReply):
        return ()
    return (looks_up(value),)


def located(value: Client, message: Message) -> Client | None:
    """What a client knows of the coordinator after a message; None where the message is about something else.

    A request that it left behind on its way to another broker than the coordinator can do nothing any more.
    """
    if isinstance(message, Renumbered):
        return replace(value, broker=message.broker)
    if not isinstance(message, FindCoordinatorReply):
        return None
    broker = message.coordinators[0].node.node_id
    orphan = value.orphan if same_broker(broker, value.broker) else None
    return replace(value, broker=broker, orphan=orphan)
