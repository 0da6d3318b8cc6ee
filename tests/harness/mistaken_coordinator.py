"""Dialogues with a coordinator that has one mistake in one rule: the spec, with that rule in doubt."""

from __future__ import annotations

from harness.told import CONFIG, Told
from rota.doubt.doubting import Doubting
from rota.generate.simulated import Simulated
from rota.spec import (
    ROTA,
    Call,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.admin_messages import DescribeGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetFetchRequest,
    TopicPartitions,
)


class Mistaken:
    """Such a coordinator, and what is said to it as a history. doubt: its mistake, None for none."""

    def __init__(self, doubt=None):
        self.told = Told()
        self._oracle = Doubting(CONFIG, ROTA, doubt, sound=doubt is None)
        self._simulated = Simulated(CONFIG, ROTA)
        self._simulated._oracle = self._oracle
        self._ids = iter("mnopqrst")
        self.generation = 0

    @property
    def noted(self):
        """Mistakes that would have changed something of what was asked, where it has none."""
        return self._oracle.noted

    def says(self, connection, request, version):
        """Send a request; what is answered at once is read."""
        number = self.told.sends(connection, request, version)
        fresh = next(self._ids) if isinstance(request, JoinGroupRequest) and not request.member_id else ""
        self._simulated.handle(Call(request, str(number), version, fresh))
        self._hear()
        return self

    def waits(self, seconds):
        """Time passes; what comes is read when it comes, and the end is a quiet moment."""
        end = self._simulated.now + round(seconds * 1000)
        while (due := self._simulated.next_due()) is not None and due <= end:
            self._pass(due)
        self._pass(end)
        self.told.quiet()
        return self

    def _pass(self, until):
        before = self._simulated.now
        self._simulated.wait(max(until - before, 0))
        self.told.after((self._simulated.now - before) / 1000)
        self._hear()

    def _hear(self):
        for reply in self._simulated.taken():
            if isinstance(reply.message, JoinGroupReply) and reply.message.generation_id > 0:
                self.generation = reply.message.generation_id
            self.told.hears(int(reply.to), reply.message, after=0.0)

    def history(self):
        """What was said."""
        return self.told.history()

    def joins(self, connection, member_id="", *names):
        """JoinGroup with two seconds of either timeout. names: of its protocols, range if none is given."""
        lists = tuple(ProtocolMetadata(name, b"of " + name.encode()) for name in names or ("range",))
        return self.says(connection, JoinGroupRequest("g", 2_000, 2_000, member_id, "consumer", lists), 9)

    def syncs(self, connection, member_id, *assigned, protocol="range"):
        """SyncGroup of the generation that was told last. assigned: whom it assigns something."""
        shares = tuple(MemberAssignment(one, b"share of " + one.encode()) for one in assigned)
        return self.says(
            connection, SyncGroupRequest("g", self.generation, member_id, shares, "consumer", protocol), 5
        )

    def beats(self, connection, member_id, older=0):
        """Heartbeat. older: generations than the one that was told last."""
        return self.says(connection, HeartbeatRequest("g", self.generation - older, member_id), 4)

    def leaves(self, connection, *member_ids):
        """LeaveGroup."""
        return self.says(connection, LeaveGroupRequest("g", tuple(map(LeavingMember, member_ids))), 4)

    def commits(self, connection, member_id, *names):
        """OffsetCommit of 7 in partition 0 of these topics."""
        topics = tuple(OffsetCommitTopic(one, (OffsetCommitPartition(0, 7, -1, "x"),)) for one in names)
        return self.says(connection, OffsetCommitRequest("g", topics, self.generation, member_id), 4)

    def fetches(self, connection, *names):
        """OffsetFetch of partition 0 of these topics."""
        asked = tuple(TopicPartitions(one, (0,)) for one in names)
        return self.says(connection, OffsetFetchRequest("g", asked), 7)

    def describes(self):
        """DescribeGroups."""
        return self.says(9, DescribeGroupsRequest("g"), 5)


def silent(talk):
    """Two members with two protocols each; one falls silent, the other rejoins, commits and leaves."""
    talk.joins(0, "", "range", "sticky").joins(0, "m", "range", "sticky").joins(1, "", "sticky", "range")
    talk.joins(1, "n", "sticky", "range").waits(2.1)
    talk.syncs(1, "n").syncs(0, "m", "m", "n").describes().beats(0, "m").beats(1, "n").waits(1.5)
    talk.beats(0, "m", older=1).beats(1, "stranger").beats(1, "n").waits(0.7)
    talk.beats(1, "n").joins(1, "n", "sticky", "range").waits(0.2).describes()
    talk.syncs(1, "n", "n", protocol="sticky").beats(1, "n").waits(0.5)
    talk.commits(1, "n", "a", "b").fetches(1, "a", "b").beats(1, "n").waits(1.5)
    return talk.beats(1, "n").leaves(1, "n").describes().fetches(9, "a").waits(0.5)


def syncing_again(talk):
    """A member asks for its assignment once more, and that is all that is heard of it for a session."""
    talk.joins(0).joins(0, "m").waits(1.5).syncs(0, "m", "m").waits(1.5)
    return talk.syncs(0, "m").waits(1.0).beats(0, "m").waits(0.2)
