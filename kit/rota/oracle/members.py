"""The base of the Hypothesis machine: requests, right and wrong, of several members, timers, the log.

Most runs get far because some rules act as clients do; all others send whatever can be sent.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from rota.coordinator import (
    UNMENDED,
    CoordinatorConfig,
    GroupCoordinator,
    Heartbeat,
    JoinGroup,
    JoinGroupProtocol,
    LeaveGroup,
    MemberIdentity,
    Mends,
    SyncGroup,
    SyncGroupAssignment,
    TimerId,
)
from rota.oracle.lockstep import GROUP_ID, Due, Lockstep, Logged
from rota.oracle.shadow import Make
from rota.spec import Group, Timer
from rota.spec.classic.vocabulary import GroupState, kind_of
from rota.spec.vocabulary import AppendError

LISTS = (
    ("range", "sticky"),
    ("sticky", "range"),
    ("range",),
    ("sticky",),
    ("cooperative-sticky", "range"),
    ("range", "sticky", "range"),
    (),
)
PHASE_TIMERS = ("initial_join", "join")
SESSIONS = (10_000, 6_000, 5_999, 0, 300_000, 1_800_000, 1_800_001)
REBALANCES = (10_000, 6_000, -1, 0, 2_000, 300_000)
POLITE_MS = (10_000, 8_000, 4_000)
METADATA = (b"", b"m")
STABLE_THEN = ("leaves", "joins again", "syncs again", "instance id", "other type", "newcomer")

picks = st.lists(st.integers(0, 2), max_size=2)
group_ids = st.sampled_from([GROUP_ID] * 20 + [""])
INSTANCES = ("i1", "i2")
OWN = "own"
"""Stands for the instance id of the member that is named, none if it has none."""

instance_ids = st.sampled_from([None] * 8 + [OWN] * 4 + [*INSTANCES])
protocol_types = st.sampled_from(["consumer"] * 12 + ["connect", ""])
first_types = st.sampled_from(("consumer", "consumer", "consumer", "connect"))
"""Of a first member; an Empty group that had another type before takes this one over."""


def offered(names: tuple[str, ...], metadata: bytes) -> tuple[JoinGroupProtocol, ...]:
    """A member's list, with the same metadata for each protocol."""
    return tuple(JoinGroupProtocol(name, metadata) for name in names)


class Members(RuleBasedStateMachine):
    """Core and spec in lockstep. `creations_stored`: the log stores a group that was created at once."""

    make: Make = GroupCoordinator
    mends: Mends = UNMENDED
    kind: type[Lockstep] = Lockstep

    def __init__(self) -> None:
        super().__init__()
        self.picks: tuple[int, ...] = ()
        self.creations_stored = True
        self.lockstep = self.kind(CoordinatorConfig(mends=type(self).mends), type(self).make)

    @property
    def group(self) -> Group:
        """The group as the spec sees it; an empty one where there is none."""
        return self.lockstep.group or Group()

    @property
    def timers(self) -> list[Timer]:
        """Armed timers, by name."""
        return sorted(self.lockstep.followed.armed)

    def ids(self) -> list[str]:
        """Members, then pending members, then those whose SyncGroup is pending but that are gone."""
        group = self.group
        return [*group.members, *sorted(group.pending), *sorted(group.pending_sync.difference(group.members))]

    def instance(self, member_id: str, instance_id: str | None = OWN) -> str | None:
        """An instance id to send, where "own" is the member's, None if it has none."""
        member = self.group.members.get(member_id)
        own = None if member is None else member.group_instance_id
        return own if instance_id == OWN else instance_id

    def id_at(self, index: int) -> str:
        """The id of a member or a pending one, none, or a foreign one."""
        ids = [*self.ids(), "", "stranger"]
        return ids[index % len(ids)]

    def member_at(self, index: int) -> str:
        """A member's id."""
        return list(self.group.members)[index % len(self.group.members)]

    def ask(self, request: Any, version: int) -> None:
        """A request of the usual group, or of the group that it names."""
        self.lockstep.ask(request, version, self.picks)
        if self.creations_stored:
            self.lockstep.answer_creations()

    def fire(self, timer: Timer) -> None:
        """An armed timer is due."""
        timer_id = TimerId(kind_of(timer).value, GROUP_ID, timer.member_id)
        self.lockstep.do(Due(timer_id, self.picks))

    @rule(drawn=picks)
    def choices(self, drawn: list[int]) -> None:
        """How the core's choices fall from now on."""
        self.picks = tuple(drawn)

    @rule(
        index=st.integers(0, 6),
        names=st.sampled_from(LISTS),
        metadata=st.sampled_from(METADATA),
        session=st.sampled_from(SESSIONS),
        rebalance=st.sampled_from(REBALANCES),
        version=st.integers(0, 9),
        group_id=group_ids,
        instance_id=instance_ids,
        kind=protocol_types,
    )
    def join(self, index: int, names: tuple[str, ...], metadata: bytes, session: int, rebalance: int,
             version: int, group_id: str, instance_id: str | None, kind: str) -> None:  # fmt: skip
        """Any JoinGroup."""
        member_id = self.id_at(index)
        entries, instance_id = offered(names, metadata), self.instance(member_id, instance_id)
        self.ask(JoinGroup(group_id, session, rebalance, member_id, instance_id, kind, entries), version)

    @rule(
        names=st.sampled_from(LISTS[:2]),
        metadata=st.sampled_from(METADATA),
        rebalance=st.sampled_from(POLITE_MS),
        version=st.sampled_from((9, 9, 9, 4, 3)),
        comes_back=st.sampled_from((True, True, True, False)),
        first_type=first_types,
    )
    @precondition(lambda self: len(self.ids()) < 4)
    def newcomer(self, names: tuple[str, ...], metadata: bytes, rebalance: int, version: int,
                 comes_back: bool, first_type: str) -> None:  # fmt: skip
        """A new member as clients do it: it asks for an id and mostly comes back with it."""
        entries = offered(names, metadata)
        kind = self._type(first_type)
        request = JoinGroup(GROUP_ID, 10_000, rebalance, "", None, kind, entries)
        before = self.group.pending
        self.ask(request, version)
        for member_id in self.group.pending - before:
            if comes_back:
                self._join_as(member_id, entries, rebalance, kind=kind)

    @rule(index=st.integers(0, 3))
    @precondition(lambda self: self.group.pending)
    def comes_back(self, index: int) -> None:
        """A pending member comes back after a while."""
        pending = sorted(self.group.pending)
        self._join_as(pending[index % len(pending)], offered(LISTS[0], b""))

    @rule(index=st.integers(0, 3), change=st.sampled_from(("", "", "metadata", "order", "timeouts")))
    @precondition(lambda self: self.group.members)
    def rejoin(self, index: int, change: str) -> None:
        """A member joins again with what it sent before, or with something else."""
        member_id = self.member_at(index)
        member = self.group.members[member_id]
        entries = tuple(JoinGroupProtocol(p.name, p.metadata) for p in member.protocols)
        if change == "metadata":
            entries = tuple(JoinGroupProtocol(p.name, p.metadata + b"+") for p in member.protocols)
        elif change == "order":
            entries = entries[::-1]
        timeouts = (member.session_timeout_ms, member.rebalance_timeout_ms)
        session, rebalance = (12_000, 20_000) if change == "timeouts" else timeouts
        self._join_as(member_id, entries, rebalance, session)

    def _join_as(
        self,
        member_id: str,
        entries: tuple[JoinGroupProtocol, ...],
        rebalance: int = 10_000,
        session: int = 10_000,
        kind: str = "consumer",
    ) -> None:
        instance_id = self.instance(member_id)
        request = JoinGroup(GROUP_ID, session, rebalance, member_id, instance_id, self._type(kind), entries)
        self.ask(request, 9)

    def _type(self, first: str = "consumer") -> str:
        """The protocol type of the group's members; first: that of somebody who will be the first."""
        return (self.group.protocol_type or first) if self.group.members else first

    @rule(index=st.integers(0, 3), how=st.sampled_from(("timer", "leave", "heartbeat")))
    @precondition(lambda self: self.group.pending)
    def id_unused(self, index: int, how: str) -> None:
        """A pending member expires, leaves, or acts as if it were a member."""
        pending = sorted(self.group.pending)
        member_id = pending[index % len(pending)]
        if how == "timer":
            self.fire(Timer("pending", member_id))
        elif how == "leave":
            self.ask(LeaveGroup(GROUP_ID, (MemberIdentity(member_id),)), 5)
        else:
            self.ask(Heartbeat(GROUP_ID, self.group.generation_id, member_id), 4)

    @rule()
    @precondition(lambda self: any(timer.name in PHASE_TIMERS for timer in self.timers))
    def phase_ends(self) -> None:
        """The join phase runs out of time."""
        self.fire(next(timer for timer in self.timers if timer.name in PHASE_TIMERS))

    @rule()
    @precondition(lambda self: self.group.state is GroupState.STABLE and self.group.pending_sync)
    def syncing_ends(self) -> None:
        """Somebody has not synced in time, though the others have their assignments."""
        self.fire(Timer("sync"))

    @rule(index=st.integers(0, 3), what=st.sampled_from(("type", "name", "voted")))
    @precondition(lambda self: self.group.members and self.group.protocol_name)
    def wrong_protocol(self, index: int, what: str) -> None:
        """A member syncs for another type or protocol, perhaps one that it supports."""
        group = self.group
        kind = "connect" if what == "type" else group.protocol_type
        other = {"range": "sticky"}.get(str(group.protocol_name), "range")
        name = {"type": group.protocol_name, "name": "other", "voted": other}[what]
        self.ask(SyncGroup(GROUP_ID, group.generation_id, self.member_at(index), None, kind, name), 5)

    @rule(delayed_sync=st.booleans())
    @precondition(lambda self: self.group.members)
    def all_goes_well(self, delayed_sync: bool) -> None:
        """Everybody does what it should until the group is Stable; perhaps one SyncGroup is missing."""
        self._generation_begins()
        pending = sorted(self.group.pending_sync, key=lambda one: (one == self.group.leader, one))
        for member_id in pending[delayed_sync:] if len(pending) > 1 else pending:
            self._sync_as(member_id)
        if self.lockstep.appends:
            self.lockstep.do(Logged(self.lockstep.appends - 1, None, self.picks))

    def _generation_begins(self) -> None:
        self._all_rejoin()
        for _ in range(4):
            if any(timer.name in PHASE_TIMERS for timer in self.timers):
                self.phase_ends()

    def _all_rejoin(self) -> None:
        for index, member in enumerate(tuple(self.group.members.values())):
            if self.group.state is GroupState.PREPARING_REBALANCE and member.awaiting_join is None:
                self.rejoin(index, "")

    @rule(index=st.integers(0, 3), what=st.sampled_from(STABLE_THEN))
    @precondition(lambda self: self.group.members)
    def stable_then(self, index: int, what: str) -> None:
        """The group becomes Stable, and then one thing happens, before it is gone again."""
        self.all_goes_well(delayed_sync=False)
        group = self.group
        if group.state is not GroupState.STABLE:
            return
        member_id = self.member_at(index)
        if what == "leaves":
            self.ask(LeaveGroup(GROUP_ID, (MemberIdentity(member_id),)), 5)
        elif what == "joins again":
            self.rejoin(index, "")
        elif what == "syncs again":
            self._sync_as(member_id)
        elif what == "instance id":
            self.ask(Heartbeat(GROUP_ID, group.generation_id, member_id, "i1"), 4)
        else:
            kind = "connect" if what == "other type" else self._type()
            self.ask(JoinGroup(GROUP_ID, 10_000, 10_000, "", None, kind, offered(LISTS[0], b"")), 9)

    @rule(index=st.integers(0, 3))
    @precondition(lambda self: self.group.protocol_name)
    def next_generation(self, index: int) -> None:
        """Somebody's metadata has changed, and everybody joins again."""
        if self.group.members:
            self.rejoin(index, "metadata")
            self._all_rejoin()

    @rule(index=st.integers(0, 3), late=st.booleans(), error=st.sampled_from((None, None, *AppendError)))
    @precondition(lambda self: self.group.state is GroupState.COMPLETING_REBALANCE)
    def log_takes_its_time(self, index: int, late: bool, error: AppendError | None) -> None:
        """The leader syncs; the log answers, perhaps when there is another generation already."""
        self._sync_as(str(self.group.leader))
        append = self.lockstep.appends - 1
        if late:
            self.next_generation(index)
        self.lockstep.do(Logged(append, error, self.picks))

    @rule(
        index=st.sampled_from((0, 0, 1, 2)),
        shares=st.lists(st.integers(0, 3), max_size=3),
        slip=st.sampled_from(("", "", "", "instance id", "generation")),
    )
    @precondition(lambda self: self.group.members)
    def odd_sync(self, index: int, shares: list[int], slip: str) -> None:
        """A member, leader or not, sends shares for some, strangers among them, or for some twice."""
        self._generation_begins()
        group = self.group
        if group.state is not GroupState.COMPLETING_REBALANCE:
            return
        parts = tuple(SyncGroupAssignment(self.id_at(i), bytes([place])) for place, i in enumerate(shares))
        member_id = str(group.leader) if index == 0 else self.member_at(index)
        kind, name = group.protocol_type, group.protocol_name
        generation_id = group.generation_id + (slip == "generation")
        instance_id = "i1" if slip == "instance id" else None
        self.ask(SyncGroup(GROUP_ID, generation_id, member_id, instance_id, kind, name, parts), 5)

    def _sync_as(self, member_id: str) -> None:
        group = self.group
        leads = member_id == group.leader
        parts = tuple(SyncGroupAssignment(each, each.encode()) for each in group.members) if leads else ()
        kind, name = group.protocol_type, group.protocol_name
        instance_id = self.instance(member_id)
        self.ask(SyncGroup(GROUP_ID, group.generation_id, member_id, instance_id, kind, name, parts), 5)

    @rule(index=st.integers(0, 3), leader=st.booleans())
    @precondition(lambda self: self.group.pending_sync)
    def good_sync(self, index: int, leader: bool) -> None:
        """A member syncs as it should; the leader with a share for everybody."""
        pending = sorted(self.group.pending_sync)
        self._sync_as(str(self.group.leader) if leader else pending[index % len(pending)])

    @rule(
        index=st.integers(0, 5),
        offset=st.sampled_from((0, 0, 0, 0, 1, -1)),
        version=st.sampled_from((5, 5, 5, 4, 0)),
        kind=st.sampled_from(("", "", "", "connect", None)),
        name=st.sampled_from(("", "", "", "other", None)),
        shares=st.lists(st.integers(0, 5), max_size=3),
        group_id=group_ids,
        instance_id=instance_ids,
    )
    def sync(self, index: int, offset: int, version: int, kind: str | None, name: str | None,
             shares: list[int], group_id: str, instance_id: str | None) -> None:  # fmt: skip
        """Any SyncGroup; "" is the group's own type or name."""
        group = self.group
        if version < 5:
            kind = name = None
        kind = group.protocol_type if kind == "" else kind
        name = group.protocol_name if name == "" else name
        parts = tuple(SyncGroupAssignment(self.id_at(i), bytes([place])) for place, i in enumerate(shares))
        generation_id, member_id = group.generation_id + offset, self.id_at(index)
        instance_id = self.instance(member_id, instance_id)
        self.ask(SyncGroup(group_id, generation_id, member_id, instance_id, kind, name, parts), version)

    @rule(
        index=st.integers(0, 5),
        offset=st.sampled_from((0, 0, 0, 1, -1)),
        version=st.integers(0, 4),
        group_id=group_ids,
        instance_id=instance_ids,
    )
    def heartbeat(
        self, index: int, offset: int, version: int, group_id: str, instance_id: str | None
    ) -> None:
        """Any Heartbeat."""
        generation_id, member_id = self.group.generation_id + offset, self.id_at(index)
        instance_id = self.instance(member_id, instance_id)
        self.ask(Heartbeat(group_id, generation_id, member_id, instance_id), version)

    @rule(
        leavers=st.lists(st.tuples(st.integers(0, 5), instance_ids), max_size=3),
        version=st.sampled_from((5, 3, 2)),
        group_id=group_ids,
    )
    def leave(self, leavers: list[tuple[int, str | None]], version: int, group_id: str) -> None:
        """Any LeaveGroup."""
        if version < 3:
            index = leavers[0][0] if leavers else 0
            self.ask(LeaveGroup(group_id, (), self.id_at(index)), version)
            return
        ids = [(self.id_at(index), instance_id) for index, instance_id in leavers]
        members = tuple(MemberIdentity(one, self.instance(one, instance_id)) for one, instance_id in ids)
        self.ask(LeaveGroup(group_id, members), version)

    @rule(index=st.integers(0, 9))
    @precondition(lambda self: self.timers)
    def timer(self, index: int) -> None:
        """Any armed timer, not only the first due: the spec allows every order."""
        self.fire(self.timers[index % len(self.timers)])

    @rule(place=st.integers(0, 2), error=st.sampled_from((None, None, *AppendError)))
    @precondition(lambda self: self.lockstep.appends)
    def log_answers(self, place: int, error: AppendError | None) -> None:
        """The log answers any append, in any way."""
        self.lockstep.do(Logged(place % self.lockstep.appends, error, self.picks))
