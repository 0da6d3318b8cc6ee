"""The Hypothesis machine: what `Members` does, and static members, size limits, coordinators that move."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from rota.coordinator import Heartbeat, JoinGroup, LeaveGroup, MemberIdentity, SyncGroup
from rota.oracle.lockstep import GROUP_ID, Logged, Moved
from rota.oracle.members import INSTANCES, LISTS, METADATA, POLITE_MS, Members, first_types, offered
from rota.spec.classic.vocabulary import GroupState
from rota.spec.vocabulary import AppendError

NO_LIMIT = 2_147_483_647
LIMITS = (*[NO_LIMIT] * 6, 3, 2, 1)
CREWS = ((None, "i1"), ("i1", None), ("i1", "i2"), ("i1", "i2", None), (None, "i1", None), (None, "i2"))
"""Instance ids of the members of a group, the leader first."""

VERSIONS = (9, 9, 9, 8, 5)
MEANWHILE = ("", "", "newcomer", "metadata", "again", "leaves", "joins", "syncs", "phase", "phase, joins")
LATE = ("newcomer", "phase", "phase, joins")
"""What may come between a restart and an answer of the log that is late for it."""

ANOTHERS = "another's"
"""Stands for the instance id of a member that is not the one named."""

errors = st.sampled_from((*[None] * 6, *AppendError))
indexes = st.integers(0, 3)


class CoordinatorFollowsSpec(Members):
    """Core and spec in lockstep. Subclass it and set `make` or `mends` to judge another core."""

    @initialize(limit=st.sampled_from(LIMITS), creations_stored=st.sampled_from((True, True, True, False)))
    def begins(self, limit: int, creations_stored: bool) -> None:
        """A limit for the group, and whether the log is quick."""
        self.creations_stored = creations_stored
        if limit != NO_LIMIT:
            self.lockstep.do(Moved(limit))

    def static_ids(self) -> list[str]:
        """Members with an instance id."""
        return [key for key, member in self.group.members.items() if member.group_instance_id is not None]

    @rule(
        instances=st.sampled_from(CREWS),
        names=st.sampled_from((LISTS[0], LISTS[0], LISTS[2])),
        metadata=st.sampled_from(METADATA),
        stable=st.booleans(),
        delayed_sync=st.booleans(),
        first_type=first_types,
    )
    @precondition(lambda self: not self.group.members)
    def crew(self, instances: tuple[str | None, ...], names: tuple[str, ...], metadata: bytes,
             stable: bool, delayed_sync: bool, first_type: str) -> None:  # fmt: skip
        """Several members form a group, static ones among them."""
        for instance_id in instances:
            entries = offered(names, metadata)
            kind = self._type(first_type)
            version = 5 if instance_id else 3
            self.ask(JoinGroup(GROUP_ID, 10_000, 10_000, "", instance_id, kind, entries), version)
        if stable:
            self.all_goes_well(delayed_sync)

    @rule(
        instance_id=st.sampled_from(INSTANCES),
        names=st.sampled_from(LISTS[:4]),
        metadata=st.sampled_from(METADATA),
        rebalance=st.sampled_from(POLITE_MS),
        version=st.sampled_from(VERSIONS),
    )
    @precondition(lambda self: len(self.ids()) < 4)
    def static_newcomer(
        self, instance_id: str, names: tuple[str, ...], metadata: bytes, rebalance: int, version: int
    ) -> None:
        """A static member comes for the first time, or again."""
        entries = offered(names, metadata)
        self.ask(JoinGroup(GROUP_ID, 10_000, rebalance, "", instance_id, self._type(), entries), version)

    @rule(
        index=indexes, change=st.sampled_from(("", "", "metadata", "list")), version=st.sampled_from(VERSIONS)
    )
    @precondition(lambda self: self.static_ids())
    def restarts(self, index: int, change: str, version: int) -> None:
        """A static member has lost its id."""
        ids = self.static_ids()
        member = self.group.members[ids[index % len(ids)]]
        entries = tuple(offered((p.name,), p.metadata)[0] for p in member.protocols)
        if change == "metadata":
            entries = tuple(entry._replace(metadata=entry.metadata + b"+") for entry in entries)
        elif change == "list":
            entries = offered(("sticky",) if len(entries) > 1 else LISTS[1], b"")
        request = JoinGroup(GROUP_ID, 12_000, 12_000, "", member.group_instance_id, self._type(), entries)
        self.ask(request, version)

    @rule(
        index=indexes,
        other=indexes,
        delayed_sync=st.booleans(),
        change=st.sampled_from(("", "", "metadata", "list")),
        version=st.sampled_from(VERSIONS),
        meanwhile=st.sampled_from(MEANWHILE),
        error=errors,
    )
    @precondition(lambda self: self.static_ids())
    def restarts_in_stable(self, index: int, other: int, delayed_sync: bool, change: str, version: int,
                           meanwhile: str, error: AppendError | None) -> None:  # fmt: skip
        """A static member restarts, and something happens before the log answers."""
        self.all_goes_well(delayed_sync)
        if self.group.state is not GroupState.STABLE or not self.static_ids():
            return
        appends = self.lockstep.appends
        self.restarts(index, change, version)
        if self.lockstep.appends == appends:
            return
        self._meanwhile(meanwhile, index, other)
        self.lockstep.do(Logged(appends, error, self.picks))

    @rule(
        instances=st.sampled_from(CREWS),
        index=indexes,
        meanwhile=st.sampled_from(LATE),
        version=st.sampled_from(VERSIONS),
        error=st.sampled_from((None, AppendError.NOT_ENOUGH_REPLICAS)),
    )
    @precondition(lambda self: not self.group.members)
    def crew_restarts(self, instances: tuple[str | None, ...], index: int, meanwhile: str, version: int,
                      error: AppendError | None) -> None:  # fmt: skip
        """Several members form a group, and the log is slow to answer when one of them restarts."""
        self.crew(instances, LISTS[0], b"", True, False, "consumer")
        if self.static_ids():
            self.restarts_in_stable(index, index + 1, False, "", version, meanwhile, error)

    def _meanwhile(self, what: str, index: int, other: int) -> None:
        if what == "newcomer":
            entries = offered(LISTS[0], b"")
            self.ask(JoinGroup(GROUP_ID, 10_000, 10_000, "", None, self._type(), entries), 3)
        elif what == "metadata":
            self.rejoin(other, "metadata")
        elif what == "again":
            self.restarts(index, "", 9)
        elif what == "leaves":
            self.ask(LeaveGroup(GROUP_ID, (MemberIdentity("", INSTANCES[other % 2]),)), 5)
        elif what == "joins":
            self.rejoin(other, "")
        elif what == "syncs":
            self._sync_as(self.member_at(other))
        elif what.startswith("phase"):
            self.next_generation(other)
            if what == "phase, joins":
                self._restarted_joins_again()

    def _restarted_joins_again(self) -> None:
        """Who restarted last has new metadata in the next generation, and waits for the others."""
        self.rejoin(len(self.group.members) - 1, "metadata")

    @rule(index=indexes, somebody_rejoins=st.booleans())
    @precondition(
        lambda self: (
            self.static_ids() and self.group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
        )
    )
    def static_members_stay_away(self, index: int, somebody_rejoins: bool) -> None:
        """A join phase ends without the static members; all others have left, or one has rejoined."""
        leavers = [key for key in self.group.members if key not in self.static_ids()]
        if somebody_rejoins or not leavers:
            self.rejoin(index, "metadata")
        else:
            self.ask(LeaveGroup(GROUP_ID, tuple(map(MemberIdentity, leavers))), 5)
        if any(timer.name == "join" for timer in self.timers):
            self.phase_ends()

    @rule(
        names=st.sampled_from((*LISTS[:3], ())),
        instance_id=st.sampled_from((None, None, *INSTANCES)),
        version=st.sampled_from((9, 9, 5, 3)),
    )
    @precondition(lambda self: len(self.group.members) >= self.lockstep.config.group_max_size)
    def one_too_many(self, names: tuple[str, ...], instance_id: str | None, version: int) -> None:
        """Somebody comes to a full group."""
        entries = offered(names, b"")
        self.ask(JoinGroup(GROUP_ID, 10_000, 10_000, "", instance_id, self._type(), entries), version)

    @rule(
        index=st.integers(0, 5),
        instance_id=st.sampled_from((*[ANOTHERS] * 3, *INSTANCES, "i3")),
        kind=st.sampled_from(
            ("JoinGroup", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "LeaveGroup")
        ),
    )
    @precondition(lambda self: self.ids())
    def under_somebody_elses_name(self, index: int, instance_id: str, kind: str) -> None:
        """A request that is right but for its instance id, which may be another's."""
        group, member_id = self.group, self.ids()[index % len(self.ids())]
        if instance_id == ANOTHERS:
            others = [key for key in self.static_ids() if key != member_id]
            instance_id = str(self.instance(others[0])) if others else INSTANCES[0]
        generation_id, name = group.generation_id, group.protocol_name
        if kind == "JoinGroup":
            entries = offered(LISTS[0], b"")
            self.ask(JoinGroup(GROUP_ID, 10_000, 10_000, member_id, instance_id, self._type(), entries), 9)
        elif kind == "SyncGroup":
            place = (generation_id, member_id, instance_id, group.protocol_type, name)
            self.ask(SyncGroup(GROUP_ID, *place), 5 if name else 4)
        elif kind == "Heartbeat":
            self.ask(Heartbeat(GROUP_ID, generation_id, member_id, instance_id), 4)
        else:
            self.ask(LeaveGroup(GROUP_ID, (MemberIdentity(member_id, instance_id),)), 5)

    @rule(limit=st.sampled_from((NO_LIMIT, 2, 1)), rarely=st.integers(0, 3))
    @precondition(lambda self: self.lockstep.group is not None)
    def moves(self, limit: int, rarely: int) -> None:
        """Another coordinator reads the group, with another limit perhaps."""
        if rarely == 0:
            self.lockstep.do(Moved(limit, self.picks))
