"""The Hypothesis machine of everything: what `CoordinatorFollowsSpec` does, with offsets, transactions of
offsets, the administration and expiry, in one group, while the log answers in any order.
"""

from __future__ import annotations

import struct

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from rota import coordinator as core
from rota.oracle.lockstep import GROUP_ID, Cleaned, Ended, Logged
from rota.oracle.machine import CoordinatorFollowsSpec
from rota.oracle.members import OWN, instance_ids
from rota.oracle.offsets_lockstep import METADATA_MAX, OffsetsLockstep
from rota.oracle.offsets_translate import Delete, Describe, Fetch, Listing
from rota.spec.classic.vocabulary import GroupState
from rota.spec.vocabulary import AppendError

TOPICS = ("t", "u")
RETENTION_MS = 7 * 24 * 3_600_000
LATER = (0, 1, RETENTION_MS - 1, RETENTION_MS, 2 * RETENTION_MS)
ASKED_RETENTION = (*[-1] * 6, 0, 1_000)
METADATA = ("", "", None, "note", "x" * METADATA_MAX, "x" * (METADATA_MAX + 1), "𝄞" * 4, "𝄞" * 5)
STATES = (
    (),
    ("Stable",),
    (" stable ",),
    ("Empty", "PreparingRebalance"),
    ("nothing",),
    ("CompletingRebalance",),
)
TYPES = ((), (), ("classic",), ("CLASSIC",), ("consumer",), (" classic",))
PRODUCERS = (1, 2)

keys = st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(0, 1)), min_size=1, max_size=3)
indexes = st.integers(0, 6)
groups = st.sampled_from([GROUP_ID] * 12 + [""])
errors = st.sampled_from((*[None] * 8, *(each for each in AppendError)))


def subscription(*topics: str) -> bytes:
    """A consumer's metadata of version 0."""
    names = b"".join(struct.pack(">h", len(one)) + one.encode() for one in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


SUBSCRIPTIONS = (subscription("t"), subscription("t", "u"), subscription("v"), subscription(), b"odd", b"")


class EverythingFollowsSpec(CoordinatorFollowsSpec):
    """Core and spec in lockstep, with all that a group has."""

    kind = OffsetsLockstep
    lockstep: OffsetsLockstep

    @initialize(quick=st.booleans())
    def the_log(self, quick: bool) -> None:
        """Whether the log answers what is about offsets at once."""
        self.quick = quick

    def _settle(self) -> None:
        while self.quick and self.lockstep.offsets.keep(GROUP_ID).line:
            self.lockstep.do(Logged(self.lockstep.appends - 1))

    def _topics(self, those: list[tuple[str, int]], offset: int, metadata: str | None
                ) -> tuple[core.OffsetCommitTopic, ...]:  # fmt: skip
        return tuple(
            core.OffsetCommitTopic(topic, (core.OffsetCommitPartition(index, offset, 5, metadata),))
            for topic, index in those
        )

    def _who(self, index: int, instance_id: str | None) -> tuple[str, str | None]:
        member_id = self.id_at(index)
        return member_id, self.instance(member_id, instance_id)

    @rule(
        those=keys,
        offset=st.integers(0, 9),
        metadata=st.sampled_from(METADATA),
        index=indexes,
        ahead=st.sampled_from((0, 0, 0, 0, 1, -1)),
        instance_id=instance_ids,
        version=st.sampled_from((10, 9, 8, 7, 4, 2)),
        retention=st.sampled_from(ASKED_RETENTION),
    )
    def commits(self, those: list[tuple[str, int]], offset: int, metadata: str | None, index: int, ahead: int,
                instance_id: str | None, version: int, retention: int) -> None:  # fmt: skip
        """Any OffsetCommit with a generation."""
        who = self._who(index, instance_id)
        generation_id = max(0, self.group.generation_id + ahead)
        topics = self._topics(those, offset, metadata)
        request = core.OffsetCommit(GROUP_ID, topics, generation_id, *who, retention)
        self.lockstep.tell(request, version)
        self._settle()

    @rule(
        those=keys,
        offset=st.integers(0, 9),
        metadata=st.sampled_from(METADATA),
        index=st.sampled_from((6, 6, 0, 5)),
        retention=st.sampled_from(ASKED_RETENTION),
    )
    def commits_alone(self, those: list[tuple[str, int]], offset: int, metadata: str | None, index: int,
                      retention: int) -> None:  # fmt: skip
        """An OffsetCommit from outside of group management."""
        topics = self._topics(those, offset, metadata)
        who = ("", None) if index == 6 else self._who(index, None)
        self.lockstep.tell(core.OffsetCommit(GROUP_ID, topics, -1, *who, retention), 8)
        self._settle()

    @rule(
        those=keys,
        offset=st.integers(10, 19),
        metadata=st.sampled_from(METADATA),
        producer=st.sampled_from(PRODUCERS),
        index=indexes,
        named=st.booleans(),
        ahead=st.sampled_from((0, 0, 0, 1, -99)),
        instance_id=instance_ids,
        group_id=groups,
    )
    def commits_in_a_transaction(self, those: list[tuple[str, int]], offset: int, metadata: str | None,
                                 producer: int, index: int, named: bool, ahead: int,
                                 instance_id: str | None, group_id: str) -> None:  # fmt: skip
        """Any TxnOffsetCommit."""
        topics = self._topics(those, offset, metadata)
        who = self._who(index, instance_id) if named else ("", None)
        generation_id = max(-1, self.group.generation_id + ahead) if named else -1
        request = core.TxnOffsetCommit("x", group_id, producer, 0, topics, generation_id, *who)
        self.lockstep.tell(request, 3)
        self._settle()

    @rule(producer=st.sampled_from(PRODUCERS), committed=st.booleans())
    def transaction_ends(self, producer: int, committed: bool) -> None:
        """A marker is written."""
        self.lockstep.do(Ended(producer, committed))
        self._settle()

    @rule(topic=st.sampled_from(TOPICS), first=st.sampled_from(PRODUCERS), committed=st.booleans())
    def transactions_overlap(self, topic: str, first: int, committed: bool) -> None:
        """Both producers commit an offset of one partition; one ends its transaction before the other."""
        for producer in PRODUCERS:
            topics = self._topics([(topic, 0)], 20 + producer, "")
            self.lockstep.tell(core.TxnOffsetCommit("x", GROUP_ID, producer, 0, topics), 3)
            self._settle()
        for producer in sorted(PRODUCERS, key=lambda each: each != first):
            self.transaction_ends(producer, committed)

    @rule(those=st.none() | keys, stable=st.booleans(), version=st.sampled_from((10, 8, 7)))
    def fetches(self, those: list[tuple[str, int]] | None, stable: bool, version: int) -> None:
        """An OffsetFetch, of some or of all."""
        topics = None if those is None else tuple(core.OffsetFetchTopic(t, (i,)) for t, i in those)
        self.lockstep.tell(Fetch(GROUP_ID, topics, stable), version)

    @rule(those=keys, group_id=groups)
    def deletes_offsets(self, those: list[tuple[str, int]], group_id: str) -> None:
        """An OffsetDelete."""
        topics = tuple(core.OffsetDeleteTopic(topic, (index,)) for topic, index in those)
        self.lockstep.tell(core.OffsetDelete(group_id, topics), 0)
        self._settle()

    @rule(version=st.sampled_from((6, 5, 2)))
    def describes(self, version: int) -> None:
        """A DescribeGroups."""
        self.lockstep.tell(Describe(GROUP_ID), version)

    @rule(states=st.sampled_from(STATES), types=st.sampled_from(TYPES))
    def lists(self, states: tuple[str, ...], types: tuple[str, ...]) -> None:
        """A ListGroups."""
        self.lockstep.tell(Listing(GROUP_ID, core.ListGroups(states, types)), 5)

    @rule()
    def deletes(self) -> None:
        """A DeleteGroups."""
        self.lockstep.tell(Delete(GROUP_ID), 2)
        self._settle()

    @rule(those=keys, error=st.sampled_from(tuple(AppendError)), cleaned=st.booleans())
    @precondition(lambda self: not self.group.members and not self.lockstep.appends)
    def tombstones_fail(self, those: list[tuple[str, int]], error: AppendError, cleaned: bool) -> None:
        """What a group alone has stored goes, but the log refuses."""
        self.lockstep.tell(core.OffsetCommit(GROUP_ID, self._topics(those, 3, ""), -1), 8)
        self.lockstep.do(Logged(0))
        if cleaned and not self.lockstep.followed.armed:
            self.lockstep.do(Cleaned(2 * RETENTION_MS))
        else:
            self.lockstep.tell(Delete(GROUP_ID), 2)
        while self.lockstep.appends:
            self.lockstep.do(Logged(0, error))
        self.fetches(None, False, 8)

    @rule(after_ms=st.sampled_from(LATER))
    @precondition(lambda self: not self.lockstep.followed.armed)
    def cleans(self, after_ms: int) -> None:
        """Some time passes, and what has expired goes."""
        self.lockstep.do(Cleaned(after_ms))
        self._settle()

    @rule()
    def cleans_at_once(self) -> None:
        """What has expired goes."""
        self.lockstep.do(Cleaned(0))
        self._settle()

    @rule(metadata=st.sampled_from(SUBSCRIPTIONS), kind=st.sampled_from(("consumer", "consumer", "connect")),
          those=keys, then=st.sampled_from(("commits", "cleans", "deletes", "goes", "")),
          after_ms=st.sampled_from((RETENTION_MS - 1, RETENTION_MS)))  # fmt: skip
    @precondition(lambda self: not self.group.members)
    def subscribes(self, metadata: bytes, kind: str, those: list[tuple[str, int]], then: str,
                   after_ms: int) -> None:  # fmt: skip
        """Somebody alone in the group reads topics; what it does not read may go, and all when it is gone."""
        entries = (core.JoinGroupProtocol("range", metadata),)
        self.ask(core.JoinGroup(GROUP_ID, 10_000, 10_000, "", None, self._type(kind), entries), 3)
        if len(self.group.members) != 1:
            return
        self.all_goes_well(False)
        if self.group.state is not GroupState.STABLE:
            return
        if then:
            self.commits(those, 7, "", 0, 0, OWN, 8, -1 if then == "goes" else 0)
        if then == "goes":
            while self.timers:
                self.fire(self.timers[0])
            self.cleans(after_ms)
        if then == "cleans":
            self.cleans_at_once()
        if then == "deletes":
            self.deletes_offsets(those, GROUP_ID)

    @rule(place=st.integers(0, 3), error=errors)
    @precondition(lambda self: self.lockstep.appends)
    def log_answers_any(self, place: int, error: AppendError | None) -> None:
        """The log answers any append, whatever it is about."""
        self.lockstep.do(Logged(place % self.lockstep.appends, error, self.picks))
