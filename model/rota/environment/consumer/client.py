"""A client after Kafka's own consumer: it heartbeats, applies what it is told, and is cut off or dies.

A callback begins in one step and ends in another; between them the client uses what it used before. One
heartbeat is under way at a time, and beside it a commit; a leave may overtake it. What a broken connection or
a dead process has sent is lost, or arrives later.

A commit takes its positions in one step and its epoch in another, since it may wait to be sent. Names of
topics may become known late; until then a client applies what it can. Who has left may subscribe again.

Source: upstream AbstractMembershipManager, ConsumerHeartbeatRequestManager.HeartbeatState#buildRequestData,
CommitRequestManager.OffsetCommitRequestState#toUnsentRequest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.environment.consumer.messages import (
    GROUP_ID,
    TOPIC,
    Answered,
    Committed,
    Disconnected,
    Expired,
    Partitions,
    Take,
    listed,
)
from rota.environment.consumer.reactions import gone, react
from rota.environment.consumer.state import ALIVE, Commit, Consumer, Owed, Phase
from rota.environment.messages import Charge
from rota.kernel import Message, Outcome, Send, Value, replace
from rota.spec.consumer.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    UNCHANGED,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    OffsetCommitRequest,
)
from rota.spec.consumer.vocabulary import ErrorCode

REBALANCE_TIMEOUT_MS = 60_000


def request_of(client: Consumer) -> ConsumerGroupHeartbeatRequest:
    """The next heartbeat: who joins or may not have been heard says everything."""
    joins = client.phase is Phase.JOINING
    whole = joins or client.owed is Owed.ALL
    return ConsumerGroupHeartbeatRequest(
        GROUP_ID,
        client.member_id,
        JOIN_EPOCH if joins else client.epoch,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if whole else UNCHANGED,
        subscribed_topic_names=client.topics if whole or client.unsaid else None,
        topic_partitions=client.uses if whole or client.owed is Owed.OWNED else None,
    )


@dataclass(frozen=True)
class ConsumerClient:
    """The machine of a client.

    breaks: whether a heartbeat of it may be lost or late; commits: whether it commits; topics: the names that
    it subscribes to, and those that it may subscribe to instead; unknown: names that its metadata lack at
    first; returns: whether it may subscribe again once it has left.
    """

    member_id: str
    breaks: bool
    commits: bool = False
    topics: tuple[frozenset[str], frozenset[str]] = (frozenset({TOPIC}), frozenset({TOPIC}))
    unknown: frozenset[str] = frozenset()
    returns: bool = False
    role: str = "client"

    @property
    def name(self) -> str:
        """By which others reach it."""
        return f"client/{self.member_id}"

    def initial(self) -> Sequence[Value]:
        """About to join."""
        return (Consumer(self.member_id, topics=self.topics[0], unknown=self.unknown),)

    def actions(self, client: Consumer) -> Sequence[Outcome]:
        """What it may begin."""
        return (
            *self._heartbeats(client),
            *self._arrives(client),
            *self._callbacks(client),
            *self._subscribes(client),
            *self._commits(client),
            *self._leaves(client),
            *self._breaks(client),
            *self._crashes(client),
        )

    def receive(self, client: Consumer, sender: str, message: Message) -> Sequence[Outcome]:
        """An answer, or the news that a timer has removed its member."""
        if isinstance(message, Committed):
            return (Outcome(self._heard(client, message)),)
        if isinstance(message, Expired):
            late = client.phase in ALIVE
            return (Outcome(client, (Send("budget", Charge("late")),) if late else ()),)
        if not isinstance(message, Answered):
            raise TypeError(f"a client takes answers, not {message!r}")
        if message.left:
            return (Outcome(self.has_left(client, message.reply)),)
        told = replace(client, waits=False, answer=message.reply, found=message.term)
        return (Outcome(self.react(told) if self._idle(client, message.reply) else told),)

    def request(self, client: Consumer) -> ConsumerGroupHeartbeatRequest:
        """The heartbeat that it sends next."""
        return request_of(client)

    def react(self, client: Consumer) -> Consumer:
        """It reads its answer."""
        return react(client)

    def has_left(self, client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
        """It reads the answer to its leave, which says nothing to who has left or joins again."""
        return client

    def applicable(self, client: Consumer) -> Partitions | None:
        """What of what it was told last it may apply now, None for nothing new."""
        known = client.known
        return None if known == client.uses and known != client.target else known

    def applied(self, client: Consumer) -> Consumer:
        """It has applied what it was applying."""
        uses = client.applying or frozenset()
        done = replace(client, uses=uses, applying=None, owed=max(client.owed, Owed.OWNED))
        return used(done)

    def _idle(self, client: Consumer, reply: ConsumerGroupHeartbeatReply) -> bool:
        """Whether an answer says nothing new and cannot be lost, so that it need not wait to be read."""
        nothing = reply.error_code is ErrorCode.NONE and reply.assignment is None
        return not self.breaks and nothing and reply.member_epoch == client.epoch and client.phase in ALIVE

    def _said(self, what: str) -> str:
        return self.member_id + ("" if what.startswith("'") else " ") + what

    def _heartbeats(self, client: Consumer) -> Iterator[Outcome]:
        if client.phase not in ALIVE or client.wrong:
            return
        if client.answer is not None:
            error = client.answer.error_code.name
            yield Outcome(self.react(client), label=self._said(f"reads {error}"))
        elif client.quiet:
            request, sent = self.request(client), replace(client, owed=Owed.NOTHING, unsaid=False)
            if not (self.breaks or request.topic_partitions is not None):
                take = Send("coordinator", Take(request, answered=True, term=client.term))
                yield Outcome(
                    replace(sent, waits=True), (take,), self._said(f"heartbeats, {_words(request)}")
                )
            else:
                yield Outcome(replace(sent, request=request), label=self._said(f"sends {_words(request)}"))

    def _arrives(self, client: Consumer) -> Iterator[Outcome]:
        if client.request is not None:
            taken = replace(client, request=None, waits=True)
            take = Send("coordinator", Take(client.request, answered=True, term=client.term))
            yield Outcome(taken, (take,), self._said("'s heartbeat arrives"))
        for request in sorted(client.adrift, key=_order):
            fewer = replace(client, adrift=client.adrift - {request})
            leaves = request.member_epoch == LEAVE_EPOCH
            what = "leave" if leaves else "late heartbeat"
            take = Send("coordinator", Take(request, answered=leaves and self.returns, term=client.term))
            yield Outcome(fewer, (take,), self._said(f"'s {what} arrives"))

    def _callbacks(self, client: Consumer) -> Iterator[Outcome]:
        if client.phase is Phase.MEMBER and client.applying is not None:
            done = self.applied(client)
            yield Outcome(done, label=self._said(f"ends its callbacks and uses {listed(done.uses)}"))
        elif client.phase is Phase.MEMBER and client.newer and (what := self.applicable(client)) is not None:
            begun = replace(client, applying=what, newer=what != client.target)
            yield Outcome(begun, label=self._said(f"begins to apply {listed(what)}"))
        elif client.phase is Phase.LOSING:
            done = used(replace(client, uses=frozenset(), phase=Phase.JOINING))
            yield Outcome(done, label=self._said("ends its callback and has lost all"))
        elif client.phase is Phase.CLOSING:
            leave = ConsumerGroupHeartbeatRequest(GROUP_ID, self.member_id, LEAVE_EPOCH)
            left = _adrift(gone(client), client.request, leave)
            yield Outcome(left, label=self._said("ends its callback and sends its leave"))
            if self.breaks:
                charge = Send("budget", Charge("break"))
                lost = _adrift(gone(client), client.request)
                yield Outcome(lost, (charge,), self._said("ends its callback; its leave is lost"))

    def _subscribes(self, client: Consumer) -> Iterator[Outcome]:
        if client.target is not None and client.known != client.target:
            learnt = replace(client, unknown=frozenset())
            yield Outcome(learnt, label=self._said("learns the names of all topics"))
        first, other = self.topics
        if client.phase in (Phase.JOINING, Phase.MEMBER) and client.topics == first != other:
            changed = replace(client, topics=other, unsaid=True)
            names = ", ".join(sorted(other))
            yield Outcome(
                changed, (Send("budget", Charge("change")),), self._said(f"subscribes to {names} instead")
            )
        if self.returns and client.phase is Phase.LEFT:
            joins = replace(client, phase=Phase.JOINING, owed=Owed.ALL)
            yield Outcome(joins, (Send("budget", Charge("return")),), self._said("subscribes again"))

    def _commits(self, client: Consumer) -> Iterator[Outcome]:
        commit = client.commit
        if not self.commits or client.phase not in ALIVE:
            return
        if commit is None:
            if client.uses and client.phase is Phase.MEMBER:
                taken = replace(client, commit=Commit(client.uses))
                yield Outcome(taken, label=self._said(f"will commit {listed(client.uses)}"))
        elif commit.told is not None:
            error = commit.told.error.name
            yield Outcome(replace(client, commit=None), label=self._said(f"'s commit was told {error}"))
        elif not commit.epoch:
            if client.epoch:
                sent = replace(client, commit=replace(commit, epoch=client.epoch))
                yield Outcome(sent, label=self._said(f"commits at epoch {client.epoch}"))
        else:
            places = tuple(sorted(commit.places))
            request = OffsetCommitRequest(GROUP_ID, self.member_id, commit.epoch, places)
            take = Send("coordinator", Take(request, answered=True, term=client.term))
            yield Outcome(client, (take,), self._said("'s commit arrives"))

    def _heard(self, client: Consumer, told: Committed) -> Consumer:
        """The answer to its commit; who has gone meanwhile has forgotten it."""
        commit = client.commit
        return client if commit is None else replace(client, commit=replace(commit, told=told))

    def _leaves(self, client: Consumer) -> Iterator[Outcome]:
        if client.phase is Phase.MEMBER and not client.wrong:
            closing = replace(client, phase=Phase.CLOSING, target=None, newer=False, applying=None)
            yield Outcome(closing, (Send("budget", Charge("leave")),), self._said("begins to close"))

    def _breaks(self, client: Consumer) -> Iterator[Outcome]:
        if not self.breaks or client.quiet:
            return
        charge = Send("budget", Charge("break"))
        cut = replace(client, request=None, waits=False, answer=None, found=0, owed=Owed.ALL)
        gives_up = (Send("coordinator", Disconnected()),) if client.waits else ()
        what = "an answer" if client.request is None else "a request"
        yield Outcome(cut, (charge, *gives_up), self._said(f"loses {what}"))
        if client.request is not None:
            late = _adrift(cut, client.request)
            yield Outcome(
                late, (charge,), self._said("'s connection breaks, its request is still on its way")
            )

    def _crashes(self, client: Consumer) -> Iterator[Outcome]:
        if client.phase in (Phase.LEFT, Phase.CRASHED):
            return
        charge = Send("budget", Charge("crash"))
        gives_up = (Send("coordinator", Disconnected()),) if client.waits else ()
        dead = replace(gone(client), phase=Phase.CRASHED, term=0, found=0)
        yield Outcome(dead, (charge, *gives_up), self._said("crashes"))
        if client.request is not None:
            late = _adrift(dead, client.request)
            yield Outcome(late, (charge,), self._said("crashes, its request is still on its way"))


def used(client: Consumer) -> Consumer:
    """With it noted whether its commit is of what it has used without a break."""
    commit = client.commit
    if commit is None or commit.places <= client.uses:
        return client
    return replace(client, commit=replace(commit, used=False))


def _adrift(client: Consumer, *requests: ConsumerGroupHeartbeatRequest | None) -> Consumer:
    more = (one for one in requests if one is not None)
    return replace(client, adrift=client.adrift | frozenset(more))


def _order(request: ConsumerGroupHeartbeatRequest) -> tuple[int, int, list[int]]:
    """Requests of one client, in some order that is always the same."""
    owned = request.topic_partitions
    places = [] if owned is None else sorted(one.index for one in owned)
    return request.member_epoch, -1 if owned is None else len(owned), places


def _words(request: ConsumerGroupHeartbeatRequest) -> str:
    """A heartbeat in words."""
    if request.member_epoch == JOIN_EPOCH:
        return "a join"
    owned = request.topic_partitions
    said = "" if owned is None else f", owns {listed(owned)}"
    return f"epoch {request.member_epoch}{said}{', all fields' * request.full}"
