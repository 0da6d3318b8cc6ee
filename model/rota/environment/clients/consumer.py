"""What all of Kafka's clients have in common: joining, syncing, heartbeats, and the retry rules.

Source: upstream AbstractCoordinator and ConsumerCoordinator, facts of October 2024. A variant says what it
gives up before it joins and what it takes up with an assignment. A client with an instance id is a static
member: it sends no LeaveGroup, and when it comes back without a member id it is given its former place.

Simplified, and why that is safe:
- One request at a time per connection. A broker works off a connection in order and does not read the
  next request while one is parked, so a heartbeat behind a parked SyncGroup has no effect before its answer.
- A failed step is followed by the retry at once: waiting first is the same interleaving, one move later.
- A heartbeat is taken in the move that sends it, and an answer that changes nothing is forgotten: a heartbeat
  that travels for a while is the same as one that is sent later. Answers that change something travel like
  those to other requests.
- A request times out only where the coordinator will never answer it; a time-out that comes too early
  is a broken connection, which is a fault.
- The application is too slow only while its client is stable: a LeaveGroup behind a parked SyncGroup is read
  when that is answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rota.environment.clients import connection
from rota.environment.clients.assignment import Claim
from rota.environment.clients.commits import commits, fetched, fetches, must_fetch
from rota.environment.clients.connection import deliver, outcome
from rota.environment.clients.lookup import located, looks_up, looks_up_after
from rota.environment.clients.refusals import MOVES, Move, refused
from rota.environment.clients.retry_rules import Answer, Reaction, before_joining, error_of, reaction
from rota.environment.clients.state import Client, Phase
from rota.environment.clients.subscription import Subscription
from rota.environment.messages import Charge, Disconnected, Evicted, Known
from rota.kernel import Message, Outcome, Refusal, Send, Value, replace
from rota.spec import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from rota.spec.offset_messages import OffsetCommitReply, OffsetFetchReply

EXPECTED: Mapping[Phase, type[Answer]] = {
    Phase.JOINING: JoinGroupReply,
    Phase.SYNCING: SyncGroupReply,
    Phase.PREPARING: OffsetCommitReply,
    Phase.COMMITTING: OffsetCommitReply,
    Phase.FETCHING: OffsetFetchReply,
    Phase.LEAVING: LeaveGroupReply,
    Phase.DROPPING: LeaveGroupReply,
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

    def actions(self, value: Client) -> Sequence[Outcome]:
        """What the client may do next, and what may happen to it or to its connection."""
        outcomes = self._goes_on(value)
        if value.orphan is not None:
            outcomes += connection.left_behind(value, value.orphan)
        if value.phase is Phase.CRASHED:
            outcomes.append(outcome(replace(value, phase=Phase.UNJOINED), "restarts", looks_up(value)))
        return [*outcomes, *connection.crash(value), *connection.loss(value, self._unanswered(value))]

    def _goes_on(self, value: Client) -> list[Outcome]:
        if value.outbox is not None:
            return [connection.taken(value, value.outbox)]
        if value.phase is Phase.PROCESSING:
            return self._processing(value)
        if value.inbox is not None:
            return self._read(replace(value, inbox=None), value.inbox)
        if value.waits:
            return [connection.gives_up(value), *self._retry(value)]
        if value.phase is Phase.UNJOINED:
            return [outcome(self._join(value), "sends JoinGroup")]
        return self._stable(value) if value.phase is Phase.STABLE else []

    def receive(self, value: Client, sender: str, message: Message) -> Sequence[Outcome]:
        """An answer arrives on the connection, a timer took an id away, or there is news of the broker."""
        if isinstance(message, Evicted):
            late = (Send("budget", Charge("late")),) if self._suffers(value, message) else ()
            return (Outcome(value, late),)
        elsewhere = located(value, message)
        if elsewhere is not None:
            return (Outcome(elsewhere),)
        beats = value.phase in (Phase.STABLE, Phase.PROCESSING) and value.inbox is None
        if isinstance(message, HeartbeatReply) and beats:
            if reaction(message) is Reaction.GO_ON:
                return (Outcome(value, looks_up_after(value, message)),)
            return (Outcome(replace(value, inbox=message)),)
        if value.waits and isinstance(message, EXPECTED[value.phase]):
            return (Outcome(replace(value, inbox=message)),)
        return (Outcome(replace(value, unasked=True)),)

    def refusals(self, value: Client) -> Sequence[Refusal]:
        """The moves for which it lacks something."""
        return tuple(refused(self._moves, self.subscription, value, self.actions(value)))

    @property
    def _moves(self) -> Sequence[Move]:
        """All moves that it knows."""
        return MOVES

    @abstractmethod
    def _give_up(self, value: Client) -> Client:
        """What is consumed no longer once a client joins again."""

    @abstractmethod
    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        """What becomes of a client with a new assignment."""

    @abstractmethod
    def _claims(self, value: Client) -> Mapping[str, Claim]:
        """What it says to assignors, by name, that it owns."""

    def _suffers(self, value: Client, loss: Evicted) -> bool:
        """Whether a timer that takes this id was a fault."""
        return value.suffers(loss)

    def _join(self, value: Client) -> Client:
        """Join, with the id if there is one."""
        request = self.subscription.join(value.member_id, changed=value.changed, claims=self._claims(value))
        return replace(self._give_up(value), phase=Phase.JOINING, leads=False, outbox=request)

    def _rejoin(self, value: Client) -> Client:
        """Leave a generation for the next one: commit, if there is something to commit, then join."""
        if value.position >= 0:
            return commits(self.subscription, value, Phase.PREPARING)
        return self._join(value)

    def _leave(self, value: Client, phase: Phase) -> Client:
        """State is reset whatever the answer will be."""
        return replace(value.forget(), phase=phase, outbox=self.subscription.leave(value.member_id))

    def _unanswered(self, value: Client) -> Client:
        """What becomes of it when its connection breaks."""
        after = connection.unanswered(value)
        return self._give_up(after) if value.phase is Phase.PREPARING else after

    def _retry(self, value: Client) -> list[Outcome]:
        """A JoinGroup takes longer than the client's request timeout, and it tries again."""
        if value.phase is not Phase.JOINING:
            return []
        sends = (Send("budget", Charge("retry")), Send("coordinator", Disconnected()))
        return [outcome(self._join(value), "retries its JoinGroup on another connection", *sends)]

    def _stable(self, value: Client) -> list[Outcome]:
        if must_fetch(self.subscription, value):
            return [outcome(fetches(self.subscription, value), "sends OffsetFetch")]
        return [
            self._heartbeat(value),
            outcome(self._rejoin(value), "rejoins of its own accord", Send("budget", Charge("rejoin"))),
            self._closes(value),
            *self._resubscribe(value),
            *self._commit(value),
            *self._notice(value),
            self._polls_late(value),
            outcome(
                replace(value, phase=Phase.PROCESSING),
                "processes for longer than its session",
                Send("budget", Charge("process")),
            ),
        ]

    def _heartbeat(self, value: Client) -> Outcome:
        heartbeat = self.subscription.heartbeat(value.member_id, value.generation_id)
        return outcome(value, "heartbeats", deliver(value, heartbeat))

    def _processing(self, value: Client) -> list[Outcome]:
        """The application is busy; a thread heartbeats and notes what it hears (KIP-62)."""
        polls = outcome(replace(value, phase=Phase.STABLE), "polls again")
        return [polls] if value.inbox is not None else [self._heartbeat(value), polls]

    def _closes(self, value: Client) -> Outcome:
        """The application closes its client. A static member says nothing, and may come back."""
        price = Send("budget", Charge("leave"))
        if self.subscription.group_instance_id is None:
            return outcome(self._leave(value, Phase.LEAVING), "leaves", price)
        gone = Send("coordinator", Disconnected())
        return outcome(connection.stopped(value), "closes without a word", price, gone)

    def _polls_late(self, value: Client) -> Outcome:
        """The application does not poll within max.poll.interval.ms: the client resets itself.

        A dynamic member leaves, a static one just stops its heartbeats; both join when the application polls.
        Source: upstream AbstractCoordinator.HeartbeatThread, KIP-345.
        """
        price = Send("budget", Charge("poll-timeout"))
        if self.subscription.group_instance_id is None:
            return outcome(self._leave(value, Phase.DROPPING), "leaves, nobody polls", price)
        return outcome(replace(value.forget(), phase=Phase.UNJOINED), "stops, nobody polls", price)

    def _resubscribe(self, value: Client) -> list[Outcome]:
        """Once in a process's life the application subscribes to something else."""
        if value.changed:
            return []
        rejoins = self._rejoin(replace(value, changed=True))
        return [outcome(rejoins, "changes its subscription", Send("budget", Charge("change")))]

    def _commit(self, value: Client) -> list[Outcome]:
        """The application reads a record and commits."""
        if value.position < 0:
            return []
        further = replace(value, position=value.position + 1)
        committing = commits(self.subscription, further, Phase.COMMITTING)
        return [outcome(committing, "reads a record and commits", Send("budget", Charge("commit")))]

    def _notice(self, value: Client) -> list[Outcome]:
        """A topic gets one more partition; a leader notices, perhaps later than another did, and rejoins."""
        if not value.leads:
            return []
        rejoins = self._rejoin(replace(value, grown=value.grown + 1))
        known = Known("partitions", value.grown + 1)
        return [
            outcome(rejoins, "notices a new partition", Send("budget", Charge("partitions"))),
            outcome(rejoins, "notices a partition that is there already", Send("budget", known)),
        ]

    def _read(self, value: Client, reply: Answer) -> list[Outcome]:
        """The client reads an answer and acts on it."""
        what = f"reads {type(reply).__name__.removesuffix('Reply')} {error_of(reply).name}"
        react = reaction(reply)
        if value.phase is Phase.PREPARING:
            react = before_joining(react)
        if react is Reaction.ADOPT and isinstance(reply, JoinGroupReply):
            given = replace(value, member_id=reply.member_id)
            leaving = self._leave(given, Phase.LEAVING)
            leaves = outcome(leaving, f"{what} and leaves", Send("budget", Charge("leave")))
            return [outcome(self._join(given), what), leaves]
        after = self._progress(value, reply) if react is Reaction.GO_ON else self._recover(value, react)
        return [outcome(after, what, *looks_up_after(after, reply))]

    def _progress(self, value: Client, reply: Answer) -> Client:
        if isinstance(reply, LeaveGroupReply):
            return replace(value, phase=connection.AFTER_BREAK[value.phase])
        if isinstance(reply, OffsetFetchReply):
            return fetched(value, reply)
        if isinstance(reply, JoinGroupReply):
            return replace(
                value,
                phase=Phase.SYNCING,
                member_id=reply.member_id,
                generation_id=reply.generation_id,
                epoch=value.broker,
                leads=reply.leader == reply.member_id,
                outbox=self.subscription.sync(reply, self.subscription.partitions + value.grown),
            )
        after = replace(value, phase=Phase.STABLE)
        return self._take_up(after, reply) if isinstance(reply, SyncGroupReply) else after

    def _recover(self, value: Client, react: Reaction) -> Client:
        """What is lost because of an error, and that the client asks or joins again."""
        if react is Reaction.FULL:
            return self._join(value.forget())
        if react is Reaction.SOFT:
            return self._join(value.outdated())
        if react is Reaction.AGAIN:
            return fetches(self.subscription, value)
        if react is Reaction.REJOIN:
            return self._rejoin(value) if value.phase is Phase.STABLE else self._join(value)
        return replace(value.forget(), phase=Phase.FAILED)
