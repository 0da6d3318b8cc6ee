"""Mistakes of clients: each is a kind of client with one habit changed.

A mutant of a client replaces one entry of `rota.environment.world.CLIENTS`, as one of the spec replaces an
entry of the table of rules; its slug is `client.` and the kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rota.environment.clients.assignment import Claim
from rota.environment.clients.connection import outcome
from rota.environment.clients.cooperative import COOPERATIVE_STICKY, CooperativeClient
from rota.environment.clients.eager import EagerClient
from rota.environment.clients.retry_rules import Answer, Reaction, error_of
from rota.environment.clients.state import Client, Phase
from rota.environment.clients.subscription import Subscription
from rota.kernel import Machine, Message, Outcome
from rota.mutants.mutant import bug
from rota.spec import ErrorCode, HeartbeatReply, JoinGroupReply, SyncGroupReply, SyncGroupRequest
from rota.spec.context import request_of
from rota.spec.offset_messages import OffsetCommitReply


@dataclass(frozen=True)
class _AsksAnew(EagerClient):
    def _read(self, value: Client, reply: Answer) -> list[Outcome]:
        if isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            return [outcome(self._join(value.forget()), "asks for an id again")]
        return super()._read(value, reply)


@bug("client.eager", dies_in="core", by="client.given-id-is-used", seen_in="kafkaex/kafka_ex#539")
def handed_out_id_ignored(subscription: Subscription) -> Machine:
    """The id that it is given is not used: the client asks for another each time."""
    return _AsksAnew(subscription)


@dataclass(frozen=True)
class _FailsToRejoin(EagerClient):
    def _recover(self, value: Client, react: Reaction) -> Client:
        fatal = react is Reaction.REJOIN and value.phase in (Phase.JOINING, Phase.SYNCING)
        return super()._recover(value, Reaction.FAIL if fatal else react)


@bug("client.eager", dies_in="core", by="client.fails-for-a-reason", seen_in="KAFKA-10870")
def rebalance_is_fatal(subscription: Subscription) -> Machine:
    """To be told that a rebalance is under way is a fatal error while the client joins or syncs."""
    return _FailsToRejoin(subscription)


@dataclass(frozen=True)
class _SilentInRebalance(EagerClient):
    def receive(self, value: Client, sender: str, message: Message) -> Sequence[Outcome]:
        told = isinstance(message, HeartbeatReply) and message.error_code is ErrorCode.REBALANCE_IN_PROGRESS
        if told and value.phase is Phase.STABLE:
            return (Outcome(value),)
        return super().receive(value, sender, message)


@bug("client.eager", dies_in="core", by="deadlock", seen_in="KAFKA-10134; IBM/sarama#2110")
def rebalance_not_heard(subscription: Subscription) -> Machine:
    """A heartbeat that tells of a rebalance changes nothing: the client never joins again."""
    return _SilentInRebalance(subscription)


@dataclass(frozen=True)
class _NeverHeartbeats(EagerClient):
    def _stable(self, value: Client) -> list[Outcome]:
        return [outcome for outcome in super()._stable(value) if "heartbeats" not in outcome.label]


@bug("client.eager", dies_in="core", by="deadlock", seen_in="dpkp/kafka-python#2617")
def heartbeats_never_start(subscription: Subscription) -> Machine:
    """A stable client does not heartbeat: it never hears of a rebalance."""
    return _NeverHeartbeats(subscription)


@dataclass(frozen=True)
class _LeavesWhenEmpty(EagerClient):
    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        after = super()._take_up(value, reply)
        return after if after.partitions else self._leave(after, Phase.DROPPING)


@bug("client.eager", dies_in="three", by="client.takes-its-part", seen_in="tulios/kafkajs#1361")
def nothing_to_do_is_to_leave(subscription: Subscription) -> Machine:
    """A member that is assigned nothing leaves, and comes back."""
    return _LeavesWhenEmpty(subscription)


@dataclass(frozen=True)
class _KeepsConsuming(EagerClient):
    def _give_up(self, value: Client) -> Client:
        return value


@bug("client.eager", dies_in="core", by="owners.revoked-before-joining")
def nothing_revoked(subscription: Subscription) -> Machine:
    """An eager client goes on consuming while it joins."""
    return _KeepsConsuming(subscription)


@dataclass(frozen=True)
class _ForgetsItself(EagerClient):
    def _recover(self, value: Client, react: Reaction) -> Client:
        if react is Reaction.REJOIN:
            return self._join(value.forget())
        return super()._recover(value, react)


@bug("client.eager", dies_in="core", by="client.id-is-kept", seen_in="KAFKA-20985")
def id_forgotten_without_leaving(subscription: Subscription) -> Machine:
    """To join again the client forgets its own id, though it has not left: it takes its own place."""
    return _ForgetsItself(subscription)


@dataclass(frozen=True)
class _IgnoresCommitErrors(EagerClient):
    def _read(self, value: Client, reply: Answer) -> list[Outcome]:
        if isinstance(reply, OffsetCommitReply) and value.phase is Phase.COMMITTING:
            return [outcome(replace(value, phase=Phase.STABLE), f"takes no notice of {error_of(reply).name}")]
        return super()._read(value, reply)


@bug("client.eager", dies_in="late-commit", by="client.lost-is-lost", seen_in="twmb/franz-go 1.21.3")
def commit_errors_ignored(subscription: Subscription) -> Machine:
    """A fatal error of a commit is ignored: the client consumes on until a heartbeat tells it."""
    return _IgnoresCommitErrors(subscription)


@dataclass(frozen=True)
class _RejoinsOnCommitError(EagerClient):
    def _read(self, value: Client, reply: Answer) -> list[Outcome]:
        if isinstance(reply, OffsetCommitReply) and error_of(reply) is not ErrorCode.NONE:
            return [outcome(self._join(value.forget()), f"starts anew after {error_of(reply).name}")]
        return super()._read(value, reply)


@bug(
    "client.eager",
    dies_in="move-commit",
    by="client.id-is-kept",
    seen_in="platformatic/kafka#370; librdkafka#4059",
)
def any_commit_error_is_the_end(subscription: Subscription) -> Machine:
    """After any error of a commit the client starts from scratch, as if it had lost its membership."""
    return _RejoinsOnCommitError(subscription)


@dataclass(frozen=True)
class _KeepsPosition(EagerClient):
    def _give_up(self, value: Client) -> Client:
        return replace(value, assignment=None)


@bug("client.eager", dies_in="commit", by="client.commits-its-own", seen_in="segmentio/kafka-go#1308")
def past_positions_committed(subscription: Subscription) -> Machine:
    """What was read is committed even when the partition has gone to another member."""
    return _KeepsPosition(subscription)


@dataclass(frozen=True)
class _RetriesFenced(EagerClient):
    def _read(self, value: Client, reply: Answer) -> list[Outcome]:
        if error_of(reply) is ErrorCode.FENCED_INSTANCE_ID:
            return [outcome(self._join(value.forget()), "joins again though it is fenced")]
        return super()._read(value, reply)


@bug("client.eager", dies_in="same-instance", by="client.fence-is-final", seen_in="aio-libs/aiokafka#1186")
def fence_is_retried(subscription: Subscription) -> Machine:
    """Who is fenced joins again: two processes of one instance id drive each other out for ever."""
    return _RetriesFenced(subscription)


@dataclass(frozen=True)
class _TakesItsOwnPart(CooperativeClient):
    def _progress(self, value: Client, reply: Answer) -> Client:
        after = super()._progress(value, reply)
        if not isinstance(reply, JoinGroupReply) or after.outbox is None or not after.leads:
            return after
        handed_out = request_of(after.outbox, SyncGroupRequest).assignments
        own = {part.member_id: part.assignment for part in handed_out}
        return replace(after, assignment=own.get(after.member_id, after.assignment))


@bug("client.cooperative", dies_in="cooperative", by="owners.claimed-by-sync")
def leader_takes_its_part_at_once(subscription: Subscription) -> Machine:
    """A leader consumes what it has handed out to itself before the coordinator has stored it."""
    return _TakesItsOwnPart(subscription)


@dataclass(frozen=True)
class _ClaimsWithoutGeneration(CooperativeClient):
    def _claims(self, value: Client) -> Mapping[str, Claim]:
        claims = super()._claims(value)
        return {name: replace(claim, generation_id=-1) for name, claim in claims.items()}


@bug(
    "client.cooperative", dies_in="cooperative", by="client.claims-are-true", seen_in="aio-libs/aiokafka#1176"
)
def claims_without_generation(subscription: Subscription) -> Machine:
    """A client claims what it owns without saying since which generation."""
    return _ClaimsWithoutGeneration(subscription)


@dataclass(frozen=True)
class _KeepsAfterReset(CooperativeClient):
    def _recover(self, value: Client, react: Reaction) -> Client:
        after = super()._recover(value, react)
        if react not in (Reaction.SOFT, Reaction.FULL) or after.phase is not Phase.JOINING:
            return after
        kept = replace(value, member_id=after.member_id, leads=False)
        return self._join(kept)


@bug(
    "client.cooperative",
    dies_in="late-cooperative",
    by="client.lost-is-lost",
    seen_in="KAFKA-13419, KAFKA-13891",
)
def owned_after_reset(subscription: Subscription) -> Machine:
    """Who was reset keeps what it owned, and claims it in the next round with its old generation."""
    return _KeepsAfterReset(subscription)


@dataclass(frozen=True)
class _TakesAtOnce(CooperativeClient):
    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        before = value.partitions
        after = super()._take_up(value, reply)
        if set(before) - set(after.partitions) and after.phase is not Phase.STABLE:
            return replace(value, assignment=reply.assignment)
        return after


@bug("client.cooperative", dies_in="cooperative", by="client.revokes-in-two-rounds", seen_in="KAFKA-14639")
def no_second_round(subscription: Subscription) -> Machine:
    """Who has given something up does not join again: nobody else ever gets it."""
    return _TakesAtOnce(subscription)


@dataclass(frozen=True)
class _ClaimsNothing(CooperativeClient):
    def _claims(self, value: Client) -> Mapping[str, Claim]:
        return {COOPERATIVE_STICKY: Claim((), -1)} if value.partitions else {}


@bug("client.cooperative", dies_in="cooperative", by="client.claims-are-true")
def owned_not_claimed(subscription: Subscription) -> Machine:
    """A client does not say what it owns: it is given to another before it is let go."""
    return _ClaimsNothing(subscription)
