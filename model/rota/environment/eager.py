"""The eager client: it gives up what it owns before it joins, and obeys the client's retry rules.

Source: upstream AbstractCoordinator (joinGroupIfNeeded and the response handlers), facts of October 2024.

Simplified, and why that is safe:
- One request at a time per connection. A broker works off a connection in order and does not read the
  next request while one is parked, so a heartbeat behind a parked SyncGroup has no effect before its answer.
- A failed step is followed by the retry at once: waiting first is the same interleaving, one move later.
- A heartbeat is taken in the move that sends it, and its answer NONE is forgotten: neither changes
  anything, and a late answer NONE is an early one. Any other answer travels like the rest.
- A request times out only where the coordinator will never answer it; a time-out that comes too early
  is a broken connection, which is a fault.
- Finding the coordinator again is not shown: there is one coordinator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rota.environment.client import ENDED, Client, Phase, Subscription
from rota.environment.signals import NOBODY, Charge, Deliver, Disconnected, Evicted, GaveUp
from rota.kernel import Message, Send, Turn, Value
from rota.spec import (
    Call,
    ErrorCode,
    HeartbeatReply,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.messages import ReplyMessage

EXPECTED: dict[Phase, type[JoinGroupReply] | type[SyncGroupReply] | type[LeaveGroupReply]] = {
    Phase.JOINING: JoinGroupReply,
    Phase.SYNCING: SyncGroupReply,
    Phase.LEAVING: LeaveGroupReply,
}
RETRY = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REBALANCE_IN_PROGRESS}
)


@dataclass(frozen=True)
class EagerClient:
    """The machine. subscription: what its requests carry."""

    subscription: Subscription

    @property
    def name(self) -> str:
        """`client/` and the client's name."""
        return f"client/{self.subscription.client}"

    @property
    def role(self) -> str:
        """All clients share a role."""
        return "client"

    def initial(self) -> Sequence[Value]:
        """Not yet joined, nothing in flight."""
        return (Client(self.subscription.client),)

    def offers(self, value: Client) -> Sequence[Turn]:
        """What the client, its connection or bad luck may do next."""
        turns: list[Turn] = []
        if value.outbox is not None:
            turns.append(self._taken(value, value.outbox))
        elif value.inbox is not None:
            turns += self._read(replace(value, inbox=None), value.inbox)
        elif value.waits:
            after = replace(value, phase=_after_break(value.phase))
            turns.append(
                self._turn(after, "gives up waiting (request timeout)", Send("coordinator", GaveUp()))
            )
        elif value.phase is Phase.UNJOINED:
            turns.append(self._turn(self._join(value), "sends JoinGroup"))
        elif value.phase is Phase.STABLE:
            turns += self._stable(value)
        if value.orphan is not None:
            turns += self._orphan(value, value.orphan)
        if value.phase is Phase.CRASHED:
            turns.append(self._turn(replace(value, phase=Phase.UNJOINED), "restarts"))
        return [*turns, *self._faults(value)]

    def receive(self, value: Client, sender: str, message: Message) -> Sequence[Turn]:
        """An answer arrives on the connection, or a timer took an id away."""
        if isinstance(message, Evicted):
            late = (Send("budget", Charge("late")),) if value.suffers(message) else ()
            return (Turn(value, late),)
        if isinstance(message, HeartbeatReply) and value.phase is Phase.STABLE and value.inbox is None:
            return (Turn(value if message.error_code is ErrorCode.NONE else replace(value, inbox=message)),)
        if value.waits and isinstance(message, EXPECTED[value.phase]):
            return (Turn(replace(value, inbox=message)),)
        return (Turn(replace(value, unasked=True)),)

    def _turn(self, value: Client, what: str, *sends: Send) -> Turn:
        return Turn(value, sends, f"{self.subscription.client} {what}")

    def _deliver(self, value: Client, call: Call) -> Send:
        return Send("coordinator", Deliver(call, value.held))

    def _taken(self, value: Client, call: Call) -> Turn:
        what = f"'s {_kind(call)} reaches the coordinator"
        return Turn(
            replace(value, outbox=None, overtaken=False),
            (self._deliver(value, call),),
            f"{self.subscription.client}{what}",
        )

    def _join(self, value: Client) -> Client:
        """Give up what is owned and join, with the id if there is one."""
        return replace(
            value,
            phase=Phase.JOINING,
            leads=False,
            assignment=None,
            outbox=self.subscription.join(value.member_id, changed=value.changed),
        )

    def _leave(self, value: Client) -> Client:
        """State is reset whatever the answer will be."""
        return replace(value.forget(), phase=Phase.LEAVING, outbox=self.subscription.leave(value.member_id))

    def _stable(self, value: Client) -> list[Turn]:
        heartbeat = self.subscription.heartbeat(value.member_id, value.generation_id)
        return [
            self._turn(value, "heartbeats", self._deliver(value, heartbeat)),
            self._turn(self._join(value), "rejoins of its own accord", Send("budget", Charge("rejoin"))),
            self._turn(self._leave(value), "leaves", Send("budget", Charge("leave"))),
            *self._resubscribe(value),
        ]

    def _resubscribe(self, value: Client) -> list[Turn]:
        """Once in a process's life the application subscribes to something else."""
        if value.changed:
            return []
        rejoins = self._join(replace(value, changed=True))
        return [self._turn(rejoins, "changes its subscription", Send("budget", Charge("change")))]

    def _orphan(self, value: Client, call: Call) -> list[Turn]:
        """The broker takes a request from a connection that is gone, or never does."""
        kind = _kind(call)
        lost = replace(value, orphan=None)
        taken = replace(lost, overtaken=value.overtaken or _overtakes(call))
        delivery = self._deliver(value, replace(call, to=NOBODY))
        return [
            self._turn(taken, f"left a {kind} behind that is taken now", delivery),
            self._turn(lost, f"left a {kind} behind that is lost"),
        ]

    def _read(self, value: Client, reply: ReplyMessage) -> list[Turn]:
        """The client reads an answer and acts on it."""
        what = f"reads {type(reply).__name__.removesuffix('Reply')} {reply.error_code.name}"
        if isinstance(reply, LeaveGroupReply):
            return [self._turn(replace(value, phase=Phase.GONE), what)]
        if isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            given = replace(value, member_id=reply.member_id)
            leaves = self._turn(self._leave(given), f"{what} and leaves", Send("budget", Charge("leave")))
            return [self._turn(self._join(given), what), leaves]
        if reply.error_code is ErrorCode.NONE:
            return [self._turn(self._progress(value, reply), what)]
        return [self._turn(self._recover(value, reply.error_code), what)]

    def _progress(self, value: Client, reply: ReplyMessage) -> Client:
        if isinstance(reply, JoinGroupReply):
            return replace(
                value,
                phase=Phase.SYNCING,
                member_id=reply.member_id,
                generation_id=reply.generation_id,
                leads=reply.leader == reply.member_id,
                outbox=self.subscription.sync(reply),
            )
        if isinstance(reply, SyncGroupReply):
            return replace(value, phase=Phase.STABLE, assignment=reply.assignment)
        return value

    def _recover(self, value: Client, error: ErrorCode) -> Client:
        """The retry rules: which state is lost, and that the client joins again."""
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            return self._join(value.forget())
        if error is ErrorCode.ILLEGAL_GENERATION:
            return self._join(value.outdated())
        if error in RETRY:
            return self._join(value)
        return replace(value.forget(), phase=Phase.FAILED)

    def _faults(self, value: Client) -> list[Turn]:
        """The process dies; the connection breaks while something is under way on it."""
        if value.phase in ENDED:
            return []
        broken = replace(value, outbox=None, inbox=None, orphan=value.outbox or value.orphan)
        gone = Send("coordinator", Disconnected())
        crashed = Client(value.name, Phase.CRASHED, orphan=broken.orphan)
        turns = [self._turn(crashed, "crashes", Send("budget", Charge("crash")), gone)]
        if value.outbox is not None or value.inbox is not None or value.waits:
            after = replace(broken, phase=_after_break(value.phase))
            turns.append(self._turn(after, "loses its connection", Send("budget", Charge("break")), gone))
        return turns


def _after_break(phase: Phase) -> Phase:
    """A join or sync in flight ends in a new join; a leave is not repeated; a heartbeat just is missed."""
    return {Phase.JOINING: Phase.UNJOINED, Phase.SYNCING: Phase.UNJOINED, Phase.LEAVING: Phase.GONE}.get(
        phase, phase
    )


def _overtakes(call: Call) -> bool:
    """Whether a request left behind may take the place of a later one, or set the group in motion."""
    request = call.request
    return isinstance(request, JoinGroupRequest | SyncGroupRequest) and bool(request.member_id)


def _kind(call: Call) -> str:
    return type(call.request).__name__.removesuffix("Request")
