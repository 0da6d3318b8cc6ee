"""A client after Kafka's own consumer: it heartbeats, applies what it is told, and is cut off or dies.

A callback begins in one step and ends in another; between them the client uses what it used before. One
heartbeat is under way at a time; a leave may overtake it. What a broken connection or a dead process has sent
is lost, or arrives later.

Source: upstream AbstractMembershipManager, ConsumerHeartbeatRequestManager.HeartbeatState#buildRequestData.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.environment.consumer.messages import (
    GROUP_ID,
    TOPIC,
    Answered,
    Disconnected,
    Expired,
    Take,
    listed,
)
from rota.environment.consumer.reactions import gone, react
from rota.environment.consumer.state import ALIVE, Consumer, Owed, Phase
from rota.environment.messages import Charge
from rota.kernel import Message, Outcome, Send, Value, replace
from rota.spec.consumer.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    UNCHANGED,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
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
        subscribed_topic_names=frozenset({TOPIC}) if whole else None,
        topic_partitions=client.uses if whole or client.owed is Owed.OWNED else None,
    )


@dataclass(frozen=True)
class ConsumerClient:
    """The machine of a client. breaks: whether a heartbeat of it may be lost or late."""

    member_id: str
    breaks: bool
    role: str = "client"

    @property
    def name(self) -> str:
        """By which others reach it."""
        return f"client/{self.member_id}"

    def initial(self) -> Sequence[Value]:
        """About to join."""
        return (Consumer(self.member_id),)

    def actions(self, client: Consumer) -> Sequence[Outcome]:
        """What it may begin."""
        return (
            *self._heartbeats(client),
            *self._arrives(client),
            *self._callbacks(client),
            *self._leaves(client),
            *self._breaks(client),
            *self._crashes(client),
        )

    def receive(self, client: Consumer, sender: str, message: Message) -> Sequence[Outcome]:
        """An answer, or the news that a timer has removed its member."""
        if isinstance(message, Expired):
            late = client.phase in ALIVE
            return (Outcome(client, (Send("budget", Charge("late")),) if late else ()),)
        if not isinstance(message, Answered):
            raise TypeError(f"a client takes answers, not {message!r}")
        told = replace(client, waits=False, answer=message.reply, found=message.term)
        return (Outcome(react(told) if self._idle(client, message.reply) else told),)

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
            yield Outcome(react(client), label=self._said(f"reads {error}"))
        elif client.quiet:
            request, sent = request_of(client), replace(client, owed=Owed.NOTHING)
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
            what = "leave" if request.member_epoch == LEAVE_EPOCH else "late heartbeat"
            take = Send("coordinator", Take(request, answered=False, term=client.term))
            yield Outcome(fewer, (take,), self._said(f"'s {what} arrives"))

    def _callbacks(self, client: Consumer) -> Iterator[Outcome]:
        if client.phase is Phase.MEMBER and client.applying is not None:
            done = replace(client, uses=client.applying, applying=None, owed=max(client.owed, Owed.OWNED))
            yield Outcome(done, label=self._said(f"ends its callbacks and uses {listed(done.uses)}"))
        elif client.phase is Phase.MEMBER and client.newer:
            begun = replace(client, applying=client.target, newer=False)
            yield Outcome(begun, label=self._said(f"begins to apply {listed(client.target or frozenset())}"))
        elif client.phase is Phase.LOSING:
            done = replace(client, uses=frozenset(), phase=Phase.JOINING)
            yield Outcome(done, label=self._said("ends its callback and has lost all"))
        elif client.phase is Phase.CLOSING:
            leave = ConsumerGroupHeartbeatRequest(GROUP_ID, self.member_id, LEAVE_EPOCH)
            left = _adrift(gone(client), client.request, leave)
            yield Outcome(left, label=self._said("ends its callback and sends its leave"))
            if self.breaks:
                charge = Send("budget", Charge("break"))
                lost = _adrift(gone(client), client.request)
                yield Outcome(lost, (charge,), self._said("ends its callback; its leave is lost"))

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
