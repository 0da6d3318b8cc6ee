"""The Hypothesis machine of the consumer protocol: members that do as they are told, and whatever else comes.

Most runs get far because some rules act as consumers do; the others send what can be sent, change topics, let
timers go off, and have the log refuse, be read, or go to another coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from rota.coordinator import GroupCoordinator
from rota.oracle import consumer_inputs as happens
from rota.oracle.consumer_inputs import Beat, Input
from rota.oracle.consumer_lockstep import ConsumerLockstep
from rota.oracle.shadow import Make
from rota.spec.consumer.group import ConsumerGroup, Metadata
from rota.spec.vocabulary import AppendError

MEMBERS = ("m1", "m2", "m3", "m4")
TOPICS = ("t", "u", "v")
SUBSCRIPTIONS = (("t",), ("t",), ("t", "u"), ("u", "t", "u"), ("u",), ("t", "u", "v"), ())
ERRORS = tuple(one for one in AppendError if one is not AppendError.REQUEST_TIMED_OUT)
JOIN = Beat("m1", "zero", 0, ("t",), "nothing", 5_000)
LEAVE_EPOCH = -1

MISTAKES = (
    replace(JOIN, member_id=" "),
    replace(JOIN, group_id=" "),
    replace(JOIN, group_id=""),
    replace(JOIN, instance_id=" "),
    replace(JOIN, rack_id=""),
    replace(JOIN, timeout_ms=-1),
    replace(JOIN, owned=None),
    replace(JOIN, owned="foreign"),
    replace(JOIN, names=None),
    replace(JOIN, ahead=-3),
    replace(JOIN, ahead=-2),
    replace(JOIN, ahead=-2, instance_id="i"),
    replace(JOIN, assignor="sticky"),
    replace(JOIN, instance_id="i"),
    replace(JOIN, regex="t.*"),
    replace(JOIN, regex=""),
    replace(JOIN, names=None, regex=""),
    Beat(" ", version=0),
    Beat("", "zero", LEAVE_EPOCH, version=0),
    Beat("", "zero", 3, version=0),
    Beat(owned="assigned", assignor="sticky"),
    Beat("m1", "zero", LEAVE_EPOCH, assignor="sticky"),
    Beat("m1", "zero", 3),
)
"""Requests with which something is wrong, or only seems to be."""

members = st.sampled_from(MEMBERS)
topics = st.sampled_from((*TOPICS, "t", "t", "u"))
names = st.sampled_from(SUBSCRIPTIONS)
wishes = st.sampled_from((*[None] * 4, "uniform", "range", "range"))
few = st.integers(0, 3)


class ConsumerFollowsSpec(RuleBasedStateMachine):
    """Core and spec in lockstep. Subclass it and set `make` to judge another core."""

    make: Make = GroupCoordinator

    def __init__(self) -> None:
        super().__init__()
        self.lockstep = ConsumerLockstep(type(self).make)
        self.quick = True
        self.made = 0

    # ---- what rules are made of

    def do(self, one: Input) -> None:
        """An input; a quick log answers at once."""
        self.lockstep.do(one)
        if self.quick:
            self.stored()

    def stored(self) -> None:
        """The log has all."""
        while self.lockstep.appends:
            self.lockstep.do(happens.Stored())

    def ids(self) -> list[str]:
        """Members; one that is none where there are none."""
        return [*self.said()] or ["m1"]

    def said(self) -> Mapping[str, Metadata]:
        """What each member has said."""
        group = self.lockstep.group
        return group.members if isinstance(group, ConsumerGroup) else {}

    def at(self, index: int) -> str:
        """A member."""
        return self.ids()[index % len(self.ids())]

    # ---- how it begins

    @initialize(
        size=st.sampled_from((100, 100, 100, 2)),
        interval=st.sampled_from((0, 0, 1_000)),
        quick=st.sampled_from((True, True, False)),
        sizes=st.lists(few, max_size=3),
    )
    def begins(self, size: int, interval: int, quick: bool, sizes: list[int]) -> None:
        """Settings, and topics that there are."""
        self.quick = quick
        self.lockstep.do(happens.Settings(size, interval))
        for name, partitions in zip(TOPICS, sizes, strict=False):
            self.made += 1
            self.lockstep.do(happens.TopicIs(name, self.made, partitions))

    # ---- as consumers do

    @rule(member=members, some=names, wish=wishes, timeout=st.sampled_from((5_000, 0, 60_000)))
    def joins(self, member: str, some: tuple[str, ...], wish: str | None, timeout: int) -> None:
        """Somebody joins, or begins anew."""
        self.do(replace(JOIN, member_id=member, names=some, assignor=wish, timeout_ms=timeout))

    @rule(some=st.lists(names, min_size=2, max_size=4), alike=st.booleans())
    def all_join(self, some: list[tuple[str, ...]], alike: bool) -> None:
        """Several join one after the other."""
        for member, each in zip(MEMBERS, some, strict=False):
            self.do(replace(JOIN, member_id=member, names=some[0] if alike else each))

    @rule(some=names)
    def joins_without_an_id(self, some: tuple[str, ...]) -> None:
        """An old client is given an id, or brings one."""
        self.do(replace(JOIN, member_id="", names=some, version=0))

    @rule(index=few, owned=st.sampled_from(("assigned", "assigned", "assigned", None, "held")))
    def obeys(self, index: int, owned: str | None) -> None:
        """A member says what it owns, which is what is assigned to it, or has nothing to say."""
        self.do(Beat(self.at(index), owned=owned))

    @rule(rounds=st.integers(1, 2))
    def all_obey(self, rounds: int) -> None:
        """All members, once or twice."""
        for member in self.ids() * rounds:
            self.do(Beat(member, owned="assigned"))

    @rule(index=few, some=names, owned=st.sampled_from(("assigned", None, "nothing", "held")))
    def subscribes_anew(self, index: int, some: tuple[str, ...], owned: str | None) -> None:
        """A member wants other topics."""
        self.do(Beat(self.at(index), names=some, owned=owned))

    @rule(index=few, timeout=st.sampled_from((5_000, 7_000)), wish=wishes, rack=st.sampled_from((None, "r")))
    def says_all(self, index: int, timeout: int, wish: str | None, rack: str | None) -> None:
        """A full request."""
        member = self.at(index)
        known = self.said().get(member, Metadata(frozenset("t")))
        said = tuple(sorted(known.subscribed_topic_names))
        self.do(Beat(member, "current", 0, said, "assigned", timeout, wish, rack_id=rack))

    @rule(index=few)
    def leaves(self, index: int) -> None:
        """A member leaves."""
        self.do(Beat(self.at(index), "zero", LEAVE_EPOCH))

    # ---- whatever can be sent

    @rule(
        index=st.integers(0, 4),
        since=st.sampled_from(("current", "previous", "previous")),
        ahead=st.sampled_from((0, 0, 0, 1, -1, 1_000)),
        owned=st.sampled_from((None, "assigned", "held", "one", "nothing", "foreign")),
        some=st.sampled_from((None, None, None, *SUBSCRIPTIONS)),
        wish=wishes,
    )
    def beats(self, index: int, since: str, ahead: int, owned: str | None, some: tuple[str, ...] | None,
              wish: str | None) -> None:  # fmt: skip
        """A heartbeat at any epoch, of a stranger too."""
        self.do(Beat(self.at(index) if index < 4 else "stranger", since, ahead, some, owned, assignor=wish))

    @rule(
        index=few,
        ahead=st.sampled_from((1, -1)),
        since=st.sampled_from(("current", "previous")),
        topic=topics,
    )
    def at_other_epochs(self, index: int, ahead: int, since: str, topic: str) -> None:
        """A member heartbeats, commits and fetches at an epoch that is not its own, or was."""
        member = self.at(index)
        self.do(Beat(member, since, ahead, owned="assigned"))
        self.do(Beat(member, "previous", owned="held"))
        self.do(happens.Commit(member, since, ahead, topic))
        self.do(happens.Commit(member, "previous", 0, topic, 1))
        self.do(happens.Fetch(member, since, ahead))

    @rule(mistake=st.sampled_from(MISTAKES))
    def errs(self, mistake: Beat) -> None:
        """A request that is wrong."""
        self.do(mistake)

    @rule(some=st.lists(st.sampled_from((*MEMBERS, "stranger")), max_size=3))
    def removed(self, some: list[str]) -> None:
        """An administrator removes members."""
        self.do(happens.Leave(tuple(some)))

    @rule(
        one=st.sampled_from(
            (
                happens.Classic("JoinGroup"),
                happens.Classic("SyncGroup"),
                happens.Classic("Heartbeat"),
                happens.Classic("DescribeGroups", 5),
                happens.Classic("DescribeGroups", 6),
                happens.Describe(),
                happens.Describe(""),
                happens.ListGroups(),
                happens.ListGroups(("Stable", "EMPTY")),
                happens.ListGroups(("reconciling", "assigning"), ("consumer",)),
                happens.ListGroups((), ("classic",)),
                happens.ListGroups((), ("Consumer",)),
                happens.DeleteGroup(),
                happens.DeleteGroup(),
            )
        )
    )
    def asks(self, one: Input) -> None:
        """A request of an administrator, or of the other protocol."""
        self.do(one)

    @rule(
        member=members,
        since=st.sampled_from(("current", "current", "previous", "zero", "none")),
        ahead=st.sampled_from((0, 0, 0, 1, -1)),
        topic=topics,
        index=st.integers(0, 2),
        version=st.sampled_from((9, 9, 9, 8)),
    )
    def commits(self, member: str, since: str, ahead: int, topic: str, index: int, version: int) -> None:
        """OffsetCommit."""
        self.do(happens.Commit(member, since, ahead, topic, index, version))

    @rule(
        member=st.sampled_from((None, *MEMBERS)),
        since=st.sampled_from(("current", "current", "previous", "none")),
        ahead=st.sampled_from((0, 0, 1)),
    )
    def fetches(self, member: str | None, since: str, ahead: int) -> None:
        """OffsetFetch."""
        self.do(happens.Fetch(member, since, ahead))

    @rule(topic=topics)
    def deletes_offsets(self, topic: str) -> None:
        """OffsetDelete."""
        self.do(happens.DeleteOffsets(topic))

    @rule(comes=st.booleans())
    def classic_member(self, comes: bool) -> None:
        """A member of the other protocol."""
        self.do(happens.ClassicMember(comes))

    # ---- topics, timers, the log

    @rule(topic=topics, what=st.sampled_from(("grows", "goes", "anew")))
    def topic_changes(self, topic: str, what: str) -> None:
        """A topic comes, grows, goes or is made anew."""
        number, size = self.lockstep.cluster.topics.get(topic, (0, 0))
        if what == "anew" or not number:
            self.made += 1
            number, size = self.made, 2
        elif what == "goes":
            size = 0
        else:
            size = min(size + 1, 4)
        self.do(happens.TopicIs(topic, number, size))

    @rule(index=st.integers(0, 7))
    @precondition(lambda self: self.lockstep.armed)
    def timer(self, index: int) -> None:
        """A timer is due; rather one for giving up than a session."""
        armed = sorted(self.lockstep.armed)
        self.do(happens.Due(*armed[index % len(armed)]))

    @rule(ms=st.sampled_from((1_000, 400, 1)))
    def time_goes_by(self, ms: int) -> None:
        """Time."""
        self.do(happens.Waited(ms))

    @rule()
    @precondition(lambda self: self.lockstep.appends)
    def one_stored(self) -> None:
        """The log has the oldest batch."""
        self.lockstep.do(happens.Stored())

    @rule()
    @precondition(lambda self: self.lockstep.appends)
    def all_stored(self) -> None:
        """The log has all batches."""
        self.stored()

    @rule(count=st.integers(1, 3), error=st.sampled_from(ERRORS))
    @precondition(lambda self: self.lockstep.appends)
    def refused(self, count: int, error: AppendError) -> None:
        """The log refuses batches."""
        self.lockstep.do(happens.Failed(min(count, self.lockstep.appends), error))

    @rule(index=few, error=st.sampled_from(ERRORS), joins=st.booleans())
    @precondition(lambda self: bool(self.said()))
    def long_doubt(self, index: int, error: AppendError, joins: bool) -> None:
        """A member is led on and told to give up, and then the log has nothing of it; time is over."""
        self.stored()
        self.quick, member = False, self.at(index)
        for what in ("grows", "anew"):
            self.topic_changes("t", what)
            self.do(Beat(member, names=("t",), owned="assigned"))
        if joins:
            self.do(replace(JOIN, member_id=MEMBERS[index]))
        if self.lockstep.appends:
            self.lockstep.do(happens.Failed(self.lockstep.appends, error))
        for each in [each for each in sorted(self.lockstep.armed) if each[0] == "rebalance"][:1]:
            self.lockstep.do(happens.Due(*each))

    @rule(member=members, since=st.sampled_from(("none", "none", "zero")), topic=topics)
    def all_have_left(self, member: str, since: str, topic: str) -> None:
        """All are removed, and somebody commits."""
        self.stored()
        self.do(happens.Leave(tuple(self.ids())))
        self.stored()
        self.do(happens.Commit(member, since, 0, topic))

    @rule(member=members, version=st.sampled_from((8, 9)), asks=st.booleans())
    def all_is_gone(self, member: str, version: int, asks: bool) -> None:
        """All are removed, the group is deleted, and somebody has not heard of it."""
        self.stored()
        for one in (happens.Leave(tuple(self.ids())), happens.DeleteGroup()):
            self.do(one)
            self.stored()
        if asks:
            self.do(happens.Describe())
            self.do(happens.Commit(member, "zero", 1, version=version))
            self.do(happens.Leave((member,)))
            self.do(Beat(member, "zero", 1))
            self.do(happens.DeleteGroup())

    @rule(quick=st.booleans())
    def log_gets(self, quick: bool) -> None:
        """The log is quick from now on, or slow."""
        self.quick = quick

    @rule(stored=few, kept=st.integers(0, 12), tombstones=st.booleans(), rarely=few)
    def moves(self, stored: int, kept: int, tombstones: bool, rarely: int) -> None:
        """Another coordinator reads the log."""
        if rarely == 0:
            self.lockstep.do(happens.Moved(stored, kept, tombstones))

    @rule(back=st.integers(0, 12), kept=st.integers(0, 12), tombstones=st.booleans())
    def read(self, back: int, kept: int, tombstones: bool) -> None:
        """Somebody reads the log, all or the beginning."""
        upto = max(0, self.lockstep.batches - back)
        self.lockstep.do(happens.Read(upto, kept, tombstones))
