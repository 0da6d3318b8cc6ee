"""What all of Kafka's clients have in common: joining, syncing, heartbeats, and the retry rules.

Source: upstream AbstractCoordinator (joinGroupIfNeeded and the response handlers), facts of October 2024.
A variant says what it gives up before it joins and what it takes up with an assignment.

Simplified, and why that is safe:
- One request at a time per connection. A broker works off a connection in order and does not read the
  next request while one is parked, so a heartbeat behind a parked SyncGroup has no effect before its answer.
- A failed step is followed by the retry at once: waiting first is the same interleaving, one move later.
- A heartbeat is taken in the move that sends it, and an answer that changes nothing is forgotten: a late
  one is an early one. Any other answer travels like the rest.
- A request times out only where the coordinator will never answer it; a time-out that comes too early
  is a broken connection, which is a fault.
- Finding the coordinator again is not shown: there is one address for whatever broker it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rota.environment import connection
from rota.environment.client import Client, Phase
from rota.environment.connection import deliver, turn
from rota.environment.reactions import Reaction, reaction
from rota.environment.signals import Charge, Evicted
from rota.environment.subscription import Subscription
from rota.kernel import Message, Send, Turn, Value
from rota.spec import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from rota.spec.messages import ReplyMessage

EXPECTED: dict[Phase, type[ReplyMessage]] = {
    Phase.JOINING: JoinGroupReply,
    Phase.SYNCING: SyncGroupReply,
    Phase.LEAVING: LeaveGroupReply,
}
"""What a client waits for where it waits."""


@dataclass(frozen=True)
class PoliteClient(ABC):
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
        return (Client(self.subscription.client, group_instance_id=self.subscription.group_instance_id),)

    def offers(self, value: Client) -> Sequence[Turn]:
        """What the client, its connection or bad luck may do next."""
        turns: list[Turn] = []
        if value.outbox is not None:
            turns.append(connection.taken(value, value.outbox))
        elif value.inbox is not None:
            turns += self._read(replace(value, inbox=None), value.inbox)
        elif value.waits:
            turns.append(connection.gives_up(value))
        elif value.phase is Phase.UNJOINED:
            turns.append(turn(self._join(value), "sends JoinGroup"))
        elif value.phase is Phase.STABLE:
            turns += self._stable(value)
        if value.orphan is not None:
            turns += connection.left_behind(value, value.orphan)
        if value.phase is Phase.CRASHED:
            turns.append(turn(replace(value, phase=Phase.UNJOINED), "restarts"))
        return [*turns, *connection.faults(value)]

    def receive(self, value: Client, sender: str, message: Message) -> Sequence[Turn]:
        """An answer arrives on the connection, or a timer took an id away."""
        if isinstance(message, Evicted):
            late = (Send("budget", Charge("late")),) if value.suffers(message) else ()
            return (Turn(value, late),)
        if isinstance(message, HeartbeatReply) and value.phase is Phase.STABLE and value.inbox is None:
            ignored = reaction(message) is Reaction.GO_ON
            return (Turn(value if ignored else replace(value, inbox=message)),)
        if value.waits and isinstance(message, EXPECTED[value.phase]):
            return (Turn(replace(value, inbox=message)),)
        return (Turn(replace(value, unasked=True)),)

    @abstractmethod
    def _give_up(self, value: Client) -> Client:
        """What is consumed no longer once a client joins again."""

    @abstractmethod
    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        """What becomes of a client with a new assignment."""

    def _join(self, value: Client) -> Client:
        """Join, with the id if there is one."""
        given_up = replace(self._give_up(value), phase=Phase.JOINING, leads=False)
        return replace(given_up, outbox=self.subscription.join(value.member_id, changed=value.changed))

    def _leave(self, value: Client) -> Client:
        """State is reset whatever the answer will be."""
        return replace(value.forget(), phase=Phase.LEAVING, outbox=self.subscription.leave(value.member_id))

    def _stable(self, value: Client) -> list[Turn]:
        heartbeat = self.subscription.heartbeat(value.member_id, value.generation_id)
        return [
            turn(value, "heartbeats", deliver(value, heartbeat)),
            turn(self._join(value), "rejoins of its own accord", Send("budget", Charge("rejoin"))),
            turn(self._leave(value), "leaves", Send("budget", Charge("leave"))),
            *self._resubscribe(value),
        ]

    def _resubscribe(self, value: Client) -> list[Turn]:
        """Once in a process's life the application subscribes to something else."""
        if value.changed:
            return []
        rejoins = self._join(replace(value, changed=True))
        return [turn(rejoins, "changes its subscription", Send("budget", Charge("change")))]

    def _read(self, value: Client, reply: ReplyMessage) -> list[Turn]:
        """The client reads an answer and acts on it."""
        what = f"reads {type(reply).__name__.removesuffix('Reply')} {reply.error_code.name}"
        react = reaction(reply)
        if react is Reaction.GO_ON:
            return [turn(self._progress(value, reply), what)]
        if react is Reaction.ADOPT and isinstance(reply, JoinGroupReply):
            given = replace(value, member_id=reply.member_id)
            leaves = turn(self._leave(given), f"{what} and leaves", Send("budget", Charge("leave")))
            return [turn(self._join(given), what), leaves]
        return [turn(self._recover(value, react), what)]

    def _progress(self, value: Client, reply: ReplyMessage) -> Client:
        if isinstance(reply, LeaveGroupReply):
            return replace(value, phase=Phase.GONE)
        if isinstance(reply, JoinGroupReply):
            return replace(
                value,
                phase=Phase.SYNCING,
                member_id=reply.member_id,
                generation_id=reply.generation_id,
                leads=reply.leader == reply.member_id,
                outbox=self.subscription.sync(reply, self.subscription.partitions + value.grown),
            )
        if isinstance(reply, SyncGroupReply):
            return self._take_up(replace(value, phase=Phase.STABLE, assignment=reply.assignment), reply)
        return value

    def _recover(self, value: Client, react: Reaction) -> Client:
        """What is lost because of an error, and that the client joins again."""
        if react is Reaction.FULL:
            return self._join(value.forget())
        if react is Reaction.SOFT:
            return self._join(value.outdated())
        if react is Reaction.REJOIN:
            return self._join(value)
        return replace(value.forget(), phase=Phase.FAILED)
