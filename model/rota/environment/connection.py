"""A client's connection: requests under way, and what becomes of them when it breaks or the process dies."""

from __future__ import annotations

from dataclasses import replace

from rota.environment.client import ENDED, Client, Phase
from rota.environment.signals import NOBODY, Charge, Deliver, Disconnected, GaveUp
from rota.kernel import Send, Turn
from rota.spec import Call, JoinGroupRequest, SyncGroupRequest


def turn(value: Client, what: str, *sends: Send) -> Turn:
    """A client's move. what: what it does, after its name."""
    return Turn(value, sends, f"{value.name} {what}")


def deliver(value: Client, call: Call) -> Send:
    """The broker takes a request."""
    return Send("coordinator", Deliver(call, value.held))


def taken(value: Client, call: Call) -> Turn:
    """The request on the wire reaches the broker."""
    after = replace(value, outbox=None, overtaken=False)
    return Turn(after, (deliver(value, call),), f"{value.name}'s {_kind(call)} reaches the coordinator")


def gives_up(value: Client) -> Turn:
    """A request times out on the client's side where no answer will ever come."""
    after = replace(value, phase=_after_break(value.phase))
    return turn(after, "gives up waiting (request timeout)", Send("coordinator", GaveUp()))


def left_behind(value: Client, call: Call) -> list[Turn]:
    """The broker takes a request from a connection that is gone, or never does."""
    kind = _kind(call)
    lost = replace(value, orphan=None)
    late = replace(lost, overtaken=value.overtaken or _overtakes(call))
    return [
        turn(late, f"left a {kind} behind that is taken now", deliver(value, replace(call, to=NOBODY))),
        turn(lost, f"left a {kind} behind that is lost"),
    ]


def faults(value: Client) -> list[Turn]:
    """The process dies; the connection breaks while something is under way on it."""
    if value.phase in ENDED:
        return []
    broken = replace(value, outbox=None, inbox=None, orphan=value.outbox or value.orphan)
    gone = Send("coordinator", Disconnected())
    turns = [turn(stopped(broken), "crashes", Send("budget", Charge("crash")), gone)]
    if value.outbox is not None or value.inbox is not None or value.waits:
        after = replace(broken, phase=_after_break(value.phase))
        turns.append(turn(after, "loses its connection", Send("budget", Charge("break")), gone))
    return turns


def stopped(value: Client) -> Client:
    """What is left of a client whose process is gone: a request on the wire, and who it is."""
    return Client(value.name, Phase.CRASHED, orphan=value.orphan, group_instance_id=value.group_instance_id)


def _after_break(phase: Phase) -> Phase:
    """A join or sync in flight ends in a new join; a leave is not repeated; a heartbeat just is missed."""
    ends = {
        Phase.JOINING: Phase.UNJOINED,
        Phase.SYNCING: Phase.UNJOINED,
        Phase.LEAVING: Phase.GONE,
    }
    return ends.get(phase, phase)


def _overtakes(call: Call) -> bool:
    """Whether a request left behind may take the place of a later one, or set the group in motion."""
    request = call.request
    if not isinstance(request, JoinGroupRequest | SyncGroupRequest):
        return False
    return bool(request.member_id or request.group_instance_id)


def _kind(call: Call) -> str:
    return type(call.request).__name__.removesuffix("Request")
