"""Bugs that clients of the consumer protocol had, planted as their code was before it was mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rota.environment.consumer.client import ConsumerClient, request_of
from rota.environment.consumer.messages import Partitions
from rota.environment.consumer.state import Consumer, Phase
from rota.kernel import Outcome, replace
from rota.mutants.mutant import bug
from rota.spec.consumer.messages import ConsumerGroupHeartbeatReply, ConsumerGroupHeartbeatRequest
from rota.spec.consumer.vocabulary import ErrorCode


@dataclass(frozen=True)
class _TakesAPartForAll(ConsumerClient):
    def _late(self, some: Partitions | None) -> Partitions:
        return frozenset(one for one in some or () if one.topic in self.unknown)

    def applicable(self, client: Consumer) -> Partitions | None:
        whole = super().applicable(client)
        late = self._late(whole)
        return late if late and whole is not None and client.uses == whole - late else whole

    def applied(self, client: Consumer) -> Consumer:
        done = super().applied(client)
        return replace(done, newer=False) if self._late(client.applying) == client.applying else done


@bug("client.consumer", dies_in="names", by="consumer.uses-what-it-was-told", seen_in="KAFKA-16198")
def a_part_for_all(*given: Any, **habits: Any) -> ConsumerClient:
    """What is resolved late is taken for all of the assignment, and what is in use for lost."""
    return _TakesAPartForAll(*given, **habits)


@dataclass(frozen=True)
class _SameAgain(ConsumerClient):
    def react(self, client: Consumer) -> Consumer:
        told = client.answer.assignment if client.answer is not None else None
        read = super().react(client)
        same = client.phase is Phase.MEMBER and client.applying is None and told == client.uses
        return replace(read, newer=False) if same and read.phase is Phase.MEMBER else read


@bug("client.consumer", dies_in="grows", by="deadlock", seen_in="KAFKA-16185")
def same_is_no_news(*given: Any, **habits: Any) -> ConsumerClient:
    """An assignment of what is in use is not acknowledged, though another one came in between."""
    return _SameAgain(*given, **habits)


@dataclass(frozen=True)
class _HeartbeatsWhileFenced(ConsumerClient):
    def actions(self, client: Consumer) -> tuple[Outcome, ...]:
        begun = super().actions(client)
        if client.phase is not Phase.LOSING or not client.quiet or client.wrong:
            return tuple(begun)
        request = replace(request_of(replace(client, phase=Phase.JOINING)), topic_partitions=frozenset())
        sent = replace(client, request=request)
        return (*begun, Outcome(sent, label=self._said("sends a join while its callback runs")))


@bug("client.consumer", dies_in="late", by="consumer.joins-with-nothing", seen_in="KAFKA-16251")
def fenced_and_heartbeats(*given: Any, **habits: Any) -> ConsumerClient:
    """Who was fenced joins again before its callback has ended, and says that it owns nothing."""
    return _HeartbeatsWhileFenced(*given, **habits)


@dataclass(frozen=True)
class _TakesTheEpochOfALeave(ConsumerClient):
    def has_left(self, client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
        joins = client.phase is Phase.JOINING and reply.error_code is ErrorCode.NONE
        return replace(client, epoch=reply.member_epoch) if joins else client

    def request(self, client: Consumer) -> ConsumerGroupHeartbeatRequest:
        request = super().request(client)
        return replace(request, member_epoch=client.epoch) if client.epoch < 0 else request


@bug("client.consumer", dies_in="back", by="consumer.client-epoch-never-falls", seen_in="KAFKA-19335")
def joins_at_the_epoch_of_a_leave(*given: Any, **habits: Any) -> ConsumerClient:
    """Who joins again takes the epoch from the answer to its leave, and leaves once more."""
    return _TakesTheEpochOfALeave(*given, **habits)


@dataclass(frozen=True)
class _StuckWhenFenced(ConsumerClient):
    def react(self, client: Consumer) -> Consumer:
        read = super().react(client)
        stuck = read.phase is Phase.LOSING and client.applying is not None
        return replace(read, applying=client.applying) if stuck else read

    def _callbacks(self, client: Consumer) -> Iterator[Outcome]:
        if not (client.phase is Phase.LOSING and client.applying is not None):
            yield from super()._callbacks(client)


@bug("client.consumer", dies_in="late", by="deadlock", seen_in="confluentinc/librdkafka#4634")
def fenced_while_it_applies(*given: Any, **habits: Any) -> ConsumerClient:
    """Who is fenced while a callback runs waits for it for ever and never joins again."""
    return _StuckWhenFenced(*given, **habits)
