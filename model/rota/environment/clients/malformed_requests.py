"""Requests that no client of Kafka's would send, as a table: what a raw client chooses from.

Each line is a polite request with one or two fields that are odd. The alphabets:

| field | values |
|---|---|
| group id | `g`; empty, only in requests for which the empty id is invalid |
| member id | empty; `nobody`, which nobody ever has; the first one of another client, and its own first one |
| generation | -1, 0, 1, 2 |
| instance id | none; `i1`, the one that a static client of a configuration has; `i9`, which nobody has |
| protocol type | `consumer`, `other`, empty |
| protocols | the subscription's; none; `other`; the first one twice |
| session timeout | as configured; one millisecond below and above what brokers allow by default |
| assignments | none; one for somebody who is no member, and two for one member |
| offsets | of one partition; of two, one with too much metadata; of two topics |
| version | the newest, or the last before something changed |

The lines are not all combinations: each is there for a rule or for an answer that polite clients do not
bring about, in some state of the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rota.environment.clients.assignment import OTHER_TOPIC, TOPIC, Assignment, Metadata
from rota.environment.clients.subscription import Subscription
from rota.kernel import frozen, replace
from rota.spec import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.messages import FindCoordinatorRequest, Request
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
    TxnOffsetCommitRequest,
)

NOBODY, KNOWN, UNKNOWN = "nobody", "i1", "i9"
SHORTEST_SESSION_MS, LONGEST_SESSION_MS = 6_000, 1_800_000
STATIC_SINCE = 5
"""The JoinGroup version with instance ids; raw clients of an older age use none (KIP-345)."""

PRODUCER, TRANSACTION_VERSION = 1, 3
TOO_LARGE = "x" * 4_097


@frozen
class Odd:
    """A line of the table. what: in which way it is odd."""

    what: str
    request: Request
    version: int


def odd_requests(subscription: Subscription, other: str = "c1") -> tuple[Odd, ...]:
    """The table for a client of some age, which is configured like any other.

    Parameters: other, the client whose id it uses. Versions are no newer than the client's age. What is about
    offsets is there only where there are offsets.
    """
    table = _Table(subscription, f"{other}-1", f"{subscription.client}-1")
    lines = [*table.joins(), *table.syncs(), *table.heartbeats(), *table.leaves(), *table.questions()]
    if subscription.offsets:
        lines += [*table.commits(), *table.transactions(), *table.about_offsets()]
    old = subscription.join_version < STATIC_SINCE
    return tuple(line for line in lines if not (old and _names_instance(line.request)))


def _names_instance(request: Request) -> bool:
    identities = request.members if isinstance(request, LeaveGroupRequest) else (request,)
    return any(getattr(one, "group_instance_id", None) is not None for one in identities)


@dataclass(frozen=True)
class _Table:
    """The lines, part by part.

    subscription: how the client is configured; other, own: another client's id and the first of its own.
    """

    subscription: Subscription
    other: str
    own: str

    @property
    def _group(self) -> str:
        return self.subscription.group_id

    def _join(self, what: str, version: int = 9, **changes: object) -> Odd:
        metadata = Metadata("odd").encode()
        polite = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=self.subscription.session_timeout_ms,
            rebalance_timeout_ms=self.subscription.rebalance_timeout_ms,
            member_id="",
            protocol_type=self.subscription.protocol_type,
            protocols=tuple(ProtocolMetadata(name, metadata) for name in self.subscription.protocols),
        )
        version = min(version, self.subscription.join_version)
        return Odd(f"JoinGroup {what}", replace(polite, **changes), version)  # type: ignore[arg-type]

    def joins(self) -> Iterator[Odd]:
        first = self.subscription.protocols[0]
        once = ProtocolMetadata(first, Metadata("odd").encode())
        yield self._join("with no group id", group_id="")
        yield self._join("with too short a session", session_timeout_ms=SHORTEST_SESSION_MS - 1)
        yield self._join("with too long a session", session_timeout_ms=LONGEST_SESSION_MS + 1)
        yield self._join("without a member id")
        yield self._join("v3 without a member id", 3)
        yield self._join("v0 without a member id", 0)
        yield self._join("as itself", member_id=self.own)
        yield self._join("as itself with another session", member_id=self.own, session_timeout_ms=10_000)
        yield self._join(f"as {self.other}", member_id=self.other)
        yield self._join("as nobody", member_id=NOBODY)
        yield self._join("without a protocol type", protocol_type="")
        yield self._join("of another protocol type", protocol_type="other")
        yield self._join("v3 of another protocol type", 3, protocol_type="other")
        yield self._join("without protocols", protocols=())
        yield self._join("with a protocol of its own", protocols=(ProtocolMetadata("other"),))
        yield self._join("v3 with a protocol of its own", 3, protocols=(ProtocolMetadata("other"),))
        yield self._join("v3 with a protocol twice", 3, protocols=(once, once))
        yield self._join("as nobody without protocols", member_id=NOBODY, protocols=())
        yield self._join("as itself without protocols", member_id=self.own, protocols=())
        yield self._join("of an instance", group_instance_id=KNOWN)
        yield self._join("v8 of an instance", 8, group_instance_id=KNOWN)
        yield self._join(
            "of an instance with a protocol of its own",
            group_instance_id=KNOWN,
            protocols=(ProtocolMetadata("other"), once),
        )
        yield self._join("of a new instance", group_instance_id=UNKNOWN)
        yield self._join(f"as {self.other} of an instance", member_id=self.other, group_instance_id=KNOWN)
        yield self._join("as nobody of an instance", member_id=NOBODY, group_instance_id=KNOWN)
        yield self._join("as nobody of a new instance", member_id=NOBODY, group_instance_id=UNKNOWN)
        yield self._join("as itself of a new instance", member_id=self.own, group_instance_id=UNKNOWN)

    def _sync(
        self, what: str, member_id: str, generation_id: int, version: int = 5, **changes: object
    ) -> Odd:
        version = min(version, self.subscription.speaks.sync_group)
        names = version >= 5
        polite = SyncGroupRequest(
            group_id=self._group,
            generation_id=generation_id,
            member_id=member_id,
            protocol_type=self.subscription.protocol_type if names else None,
            protocol_name=self.subscription.protocols[0] if names else None,
        )
        return Odd(f"SyncGroup {what}", replace(polite, **changes), version)  # type: ignore[arg-type]

    def syncs(self) -> Iterator[Odd]:
        strange = (
            MemberAssignment(NOBODY, Assignment(1, NOBODY, (0,)).encode()),
            MemberAssignment(self.other, Assignment(1, self.other, (0,)).encode()),
            MemberAssignment(self.other, Assignment(1, self.other, (1,)).encode()),
        )
        yield self._sync("with no group id", self.other, 1, group_id="")
        for generation_id in (-1, 0, 1, 2):
            yield self._sync(f"as {self.other} of {generation_id}", self.other, generation_id)
        for generation_id in (1, 2):
            yield self._sync(f"as itself of {generation_id}", self.own, generation_id)
        yield self._sync("as itself with strange assignments", self.own, 1, assignments=strange)
        yield self._sync(f"as {self.other} with strange assignments", self.other, 1, assignments=strange)
        yield self._sync("v2 as itself", self.own, 1, 2)
        yield self._sync("as nobody", NOBODY, 1)
        yield self._sync("without a member id", "", 1)
        yield self._sync("without names", self.other, 1, protocol_type=None, protocol_name=None)
        yield self._sync("of another protocol type", self.other, 1, protocol_type="other")
        yield self._sync("of another protocol", self.other, 1, protocol_name="other")
        yield self._sync("as nobody of an instance", NOBODY, 1, group_instance_id=KNOWN)
        yield self._sync(f"as {self.other} of a new instance", self.other, 1, group_instance_id=UNKNOWN)

    def _heartbeat(self, what: str, member_id: str, generation_id: int, instance: str | None = None) -> Odd:
        request = HeartbeatRequest(self._group, generation_id, member_id, instance)
        return Odd(f"Heartbeat {what}", request, self.subscription.speaks.heartbeat)

    def heartbeats(self) -> Iterator[Odd]:
        none = self._heartbeat("with no group id", self.other, 1)
        yield replace(none, request=HeartbeatRequest("", 1, self.other))
        for generation_id in (-1, 0, 1, 2):
            yield self._heartbeat(f"as {self.other} of {generation_id}", self.other, generation_id)
        for generation_id in (0, 1):
            yield self._heartbeat(f"as itself of {generation_id}", self.own, generation_id)
        yield self._heartbeat("without a member id", "", 1)
        yield self._heartbeat("as nobody", NOBODY, 1)
        yield self._heartbeat("as nobody of an instance", NOBODY, 1, KNOWN)
        yield self._heartbeat(f"as {self.other} of a new instance", self.other, 1, UNKNOWN)

    def _leave(self, what: str, *identities: tuple[str, str | None], version: int = 5) -> Odd:
        members = tuple(LeavingMember(*identity) for identity in identities)
        request = LeaveGroupRequest(self._group, members)
        return Odd(f"LeaveGroup {what}", request, min(version, self.subscription.speaks.leave_group))

    def leaves(self) -> Iterator[Odd]:
        none = self._leave("with no group id", (self.other, None))
        yield replace(none, request=LeaveGroupRequest("", (LeavingMember(self.other),)))
        yield self._leave(f"v1 of {self.other}", (self.other, None), version=1)
        yield self._leave("v1 of nobody", (NOBODY, None), version=1)
        yield self._leave("of itself", (self.own, None))
        yield self._leave("without a member id", ("", None))
        yield self._leave("of an instance", ("", KNOWN))
        yield self._leave("of an unknown instance", ("", UNKNOWN))
        yield self._leave("of nobody with an instance", (NOBODY, KNOWN))
        yield self._leave(f"of {self.other} with an unknown instance", (self.other, UNKNOWN))
        if self.subscription.speaks.leave_group >= 3:
            yield self._leave("of no one")
            yield self._leave(f"of {self.other} twice", (self.other, None), (self.other, None))
            yield self._leave(f"of nobody and {self.other}", (NOBODY, None), (self.other, None))
            yield self._leave(f"of itself and {self.other}", (self.own, None), (self.other, None))

    def _commit(
        self,
        what: str,
        member_id: str = "",
        generation_id: int = -1,
        version: int = 9,
        **changes: object,
    ) -> Odd:
        offset = _offsets(OffsetCommitPartition(0, 7))
        polite = OffsetCommitRequest(self._group, offset, generation_id, member_id)
        version = min(version, self.subscription.speaks.offset_commit)
        return Odd(f"OffsetCommit {what}", replace(polite, **changes), version)  # type: ignore[arg-type]

    def commits(self) -> Iterator[Odd]:
        normal, large = OffsetCommitPartition(0, 7), OffsetCommitPartition(1, 7, committed_metadata=TOO_LARGE)
        yield self._commit("from outside")
        yield self._commit("from outside with an id", NOBODY)
        yield self._commit("from outside as itself", self.own)
        for generation_id in (0, 1, 2):
            yield self._commit(f"as {self.other} of {generation_id}", self.other, generation_id)
        yield self._commit("v8 of a generation", NOBODY, 1, 8)
        yield self._commit("of a generation without an id", "", 1)
        yield self._commit("of an instance", NOBODY, 1, group_instance_id=KNOWN)
        yield self._commit("with too much metadata", self.other, 1, topics=_offsets(normal, large))
        yield self._commit("with nothing but too much metadata", topics=_offsets(large))
        yield self._commit("of two topics", topics=_offsets(normal, topic=OTHER_TOPIC))
        yield self._commit("v2 with a retention", version=2, retention_time_ms=1)

    def _transaction(
        self,
        what: str,
        member_id: str = "",
        generation_id: int = -1,
        instance: str | None = None,
        group_id: str | None = None,
    ) -> Odd:
        offset = _offsets(OffsetCommitPartition(0, 9))
        group_id = self._group if group_id is None else group_id
        request = TxnOffsetCommitRequest(group_id, PRODUCER, offset, generation_id, member_id, instance)
        return Odd(f"TxnOffsetCommit {what}", request, TRANSACTION_VERSION)

    def transactions(self) -> Iterator[Odd]:
        yield self._transaction("with no group id", group_id="")
        yield self._transaction("from outside")
        for generation_id in (1, 2):
            yield self._transaction(f"as {self.other} of {generation_id}", self.other, generation_id)
        yield self._transaction("as nobody", NOBODY, 1)
        yield self._transaction("of an instance", NOBODY, 1, KNOWN)

    def about_offsets(self) -> Iterator[Odd]:
        version = self.subscription.speaks.offset_fetch
        some = (TopicPartitions(TOPIC, (0, 1)),)
        yield Odd("OffsetFetch of some", OffsetFetchRequest(self._group, some), version)
        yield Odd("OffsetFetch v1 of some", OffsetFetchRequest(self._group, some), 1)
        if version >= 2:
            yield Odd("OffsetFetch of all", OffsetFetchRequest(self._group, None), version)
        if version >= 7:
            yield Odd("OffsetFetch of stable ones", OffsetFetchRequest(self._group, some, True), version)
        yield Odd("OffsetDelete with no group id", OffsetDeleteRequest("", some), 0)
        yield Odd("OffsetDelete of a topic in use", OffsetDeleteRequest(self._group, some), 0)
        unused = (TopicPartitions(OTHER_TOPIC, (0,)),)
        yield Odd("OffsetDelete of another topic", OffsetDeleteRequest(self._group, unused), 0)
        yield Odd("DeleteGroups", DeleteGroupsRequest(self._group), 2)

    def questions(self) -> Iterator[Odd]:
        group = self._group
        yield Odd("DescribeGroups", DescribeGroupsRequest(group), 6)
        yield Odd("DescribeGroups v5", DescribeGroupsRequest(group), 5)
        yield Odd("ListGroups", ListGroupsRequest(group), 5)
        yield Odd("ListGroups by state", ListGroupsRequest(group, (" stable ", "Empty")), 5)
        yield Odd("ListGroups by type", ListGroupsRequest(group, (), ("Classic",)), 5)
        yield Odd("ListGroups of another type", ListGroupsRequest(group, (), ("consumer",)), 5)
        yield Odd("FindCoordinator", FindCoordinatorRequest((group,)), 3)
        yield Odd("FindCoordinator of several", FindCoordinatorRequest((group, "")), 4)
        yield Odd("FindCoordinator of a share group", FindCoordinatorRequest((group,), 2), 6)


def _offsets(*partitions: OffsetCommitPartition, topic: str | None = None) -> tuple[OffsetCommitTopic, ...]:
    """The partitions in the topic that there is; a further topic with the first of them."""
    topics = (OffsetCommitTopic(TOPIC, partitions),)
    return topics if topic is None else (*topics, OffsetCommitTopic(topic, partitions[:1]))
