"""A history that is written by hand: who sent what when, and what was answered."""

from __future__ import annotations

from rota.linearise import Answered, Broken, History, Quiet, Sent
from rota.spec import (
    ROTA,
    BrokerConfig,
    Call,
    ErrorCode,
    HeartbeatReply,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    MemberMetadata,
    MemberOutcome,
    ProtocolMetadata,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.admin_messages import DescribedMember, DescribeGroupsReply, DescribeGroupsRequest
from rota.spec.offset_messages import (
    FetchedPartition,
    FetchedTopic,
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetFetchReply,
    OffsetFetchRequest,
    PartitionOutcome,
    TopicOutcome,
    TopicPartitions,
)

CONFIG = BrokerConfig(group_min_session_timeout_ms=1_000, group_initial_rebalance_delay_ms=1_000)


class Told:
    """Adds events in the order of their times; every request is numbered. now: seconds."""

    def __init__(self, profile=ROTA, lateness=0.05, **more):
        self.events = []
        self.now = 0.0
        self._about = dict(profile=profile, config=CONFIG, lateness=lateness, **more)
        self._requests = 0

    def history(self):
        return History("g", tuple(self.events), **self._about)

    def after(self, seconds):
        """Time passes."""
        self.now = round(self.now + seconds, 6)
        return self

    def quiet(self, after=0.0):
        """Everything was read."""
        self.events.append(Quiet(self.after(after).now))
        return self

    def breaks(self, connection):
        """A connection ends."""
        self.events.append(Broken(self.now, connection))

    def sends(self, connection, request, version):
        """A request; its number is returned."""
        number, self._requests = self._requests, self._requests + 1
        self.events.append(
            Sent(self.now, number, connection, f"c{connection}", Call(request, str(number), version))
        )
        return number

    def hears(self, number, reply, after=0.001):
        """An answer."""
        self.events.append(Answered(self.after(after).now, number, reply))
        return self

    def joins(self, connection, member_id="", *, version=9, session=2_000, names=("range",), instance=None):
        """JoinGroup."""
        lists = tuple(ProtocolMetadata(name, b"of " + member_id.encode()) for name in names)
        request = JoinGroupRequest("g", session, 2_000, member_id, "consumer", lists, instance)
        return self.sends(connection, request, version)

    def beats(self, connection, member_id, generation=1):
        """Heartbeat."""
        return self.sends(connection, HeartbeatRequest("g", generation, member_id), 4)

    def beaten(self, number, error="NONE"):
        """The answer to a Heartbeat."""
        return self.hears(number, HeartbeatReply(ErrorCode[error]))

    def alone(self, member_id="m", session=2_000):
        """One member becomes Stable in generation 1, in 1.1 s."""
        self.hears(self.joins(0, session=session), asked_for(member_id))
        number = self.joins(0, member_id, session=session)
        self.after(1.0).hears(number, joined(member_id, 1, (member_id,)))
        share = (MemberAssignment(member_id, b"all"),)
        number = self.sends(0, SyncGroupRequest("g", 1, member_id, share, "consumer", "range"), 5)
        return self.hears(number, SyncGroupReply(ErrorCode.NONE, "consumer", "range", b"all"))

    def describes(self, connection=9):
        """DescribeGroups."""
        return self.sends(connection, DescribeGroupsRequest("g"), 5)

    def commits(self, connection, *names, member=("", -1), kept_ms=-1, version=4):
        """OffsetCommit of 7 in partition 0 of these topics. member: an id and a generation."""
        partition = OffsetCommitPartition(0, 7, 3 if version >= 6 else -1, "x")
        topics = tuple(OffsetCommitTopic(one, (partition,)) for one in names)
        request = OffsetCommitRequest("g", topics, member[1], member[0], None, kept_ms)
        return self.sends(connection, request, version)

    def fetches(self, connection, *names):
        """OffsetFetch of partition 0 of these topics."""
        asked = tuple(TopicPartitions(one, (0,)) for one in names)
        return self.sends(connection, OffsetFetchRequest("g", asked), 7)

    def leaves(self, connection, member_id):
        """LeaveGroup."""
        return self.sends(connection, LeaveGroupRequest("g", (LeavingMember(member_id),)), 4)


def asked_for(member_id):
    """The first answer of a handshake."""
    return JoinGroupReply(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)


def joined(member_id, generation, members, leader=None, metadata=None):
    """The answer to a JoinGroup that ends a join phase; members: in the leader's list."""
    lines = tuple(MemberMetadata(one, (metadata or "of " + one).encode()) for one in members)
    named = ("consumer", "range", leader or member_id)
    return JoinGroupReply(ErrorCode.NONE, generation, *named, False, member_id, lines)


def committed(*names):
    """The answer to an OffsetCommit that was taken."""
    outcomes = (TopicOutcome(one, (PartitionOutcome(0, ErrorCode.NONE),)) for one in names)
    return OffsetCommitReply(tuple(outcomes))


def fetched(epoch=-1, /, **offsets):
    """The answer to an OffsetFetch: each topic's offset, -1 where there is none, committed in this epoch."""
    topics = tuple(
        FetchedTopic(
            name,
            (FetchedPartition(0, offset, *((-1, "") if offset == -1 else (epoch, "x")), ErrorCode.NONE),),
        )
        for name, offset in offsets.items()
    )
    return OffsetFetchReply(ErrorCode.NONE, topics)


def left(member_id):
    """The answer to a LeaveGroup."""
    return LeaveGroupReply(ErrorCode.NONE, (MemberOutcome(member_id, None, ErrorCode.NONE),))


def described(state, *members, protocol_type="consumer"):
    """The answer to a DescribeGroups outside of Stable."""
    lines = tuple(DescribedMember(one, None, b"", b"") for one in members)
    return DescribeGroupsReply(ErrorCode.NONE, "g", state, protocol_type, "", lines)
