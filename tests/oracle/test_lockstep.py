"""The coordinator core against the spec: arbitrary requests, timers and answers of the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rota.coordinator import sync as core_sync
from rota.coordinator import timers as core_timers
from rota.coordinator import voting as core_voting
from rota.coordinator.group import Group as CoreGroup
from rota.oracle import Divergence, Lockstep
from rota.oracle.lockstep import GROUP_ID
from rota.spec import (
    RULES,
    BrokerConfig,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.vocabulary import AppendError

LISTS = (
    ("range",),
    ("range", "sticky"),
    ("sticky", "range"),
    ("sticky",),
    ("cooperative-sticky", "range"),
    (),
)
PHASE_TIMERS = ("initial_join", "join")
TIMEOUTS = (-1, 0, 5_999, 6_000, 10_000, 300_000)

group_ids = st.sampled_from([GROUP_ID] * 20 + [""])
instance_ids = st.sampled_from([None] * 30 + ["i1"])
protocol_types = st.sampled_from(["consumer"] * 12 + ["connect", ""])


def protocols(names: tuple[str, ...], metadata: bytes) -> tuple[ProtocolMetadata, ...]:
    return tuple(ProtocolMetadata(name, metadata) for name in names)


class CoordinatorFollowsSpec(RuleBasedStateMachine):
    """Requests of several members with right and wrong fields, due timers, answers of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.picks: list[int] = []
        self.lockstep = Lockstep(BrokerConfig(), choose=self._choose)

    def _choose(self, count: int) -> int:
        return self.picks.pop() % count if self.picks else 0

    def ids(self) -> list[str]:
        group = self.lockstep.group
        return [] if group is None else [*group.members, *sorted(group.pending)]

    def pick_id(self, index: int) -> str:
        """A member's or pending id mostly, else none or a foreign one."""
        ids = self.ids()
        return ids[index] if index < len(ids) else ["", "stranger"][index % 2]

    def generation(self, offset: int) -> int:
        return (0 if self.lockstep.group is None else self.lockstep.group.generation_id) + offset

    @rule(picks=st.lists(st.integers(0, 7), min_size=1, max_size=4))
    def choices(self, picks: list[int]) -> None:
        self.picks = picks

    @rule(
        index=st.integers(0, 6),
        names=st.sampled_from(LISTS),
        metadata=st.sampled_from([b"", b"m"]),
        session=st.sampled_from(TIMEOUTS[2:]),
        rebalance=st.sampled_from(TIMEOUTS),
        version=st.integers(0, 9),
        group_id=group_ids,
        instance_id=instance_ids,
        kind=protocol_types,
    )
    def join(
        self,
        index: int,
        names: tuple[str, ...],
        metadata: bytes,
        session: int,
        rebalance: int,
        version: int,
        group_id: str,
        instance_id: str | None,
        kind: str,
    ) -> None:
        request = JoinGroupRequest(
            group_id, session, rebalance, self.pick_id(index), kind, protocols(names, metadata), instance_id
        )
        self.lockstep.call(request, version)

    @rule(metadata=st.sampled_from([b"", b"m"]))
    @precondition(lambda self: len(self.ids()) < 4)
    def polite_newcomer(self, metadata: bytes) -> None:
        """The member-id handshake as clients do it, so that most runs have members."""
        request = JoinGroupRequest(
            GROUP_ID, 10_000, 10_000, "", "consumer", protocols(("range", "sticky"), metadata)
        )
        before = set(self.ids())
        self.lockstep.call(request, 9)
        for member_id in set(self.ids()) - before:
            self.lockstep.call(replace(request, member_id=member_id), 9)

    @rule(index=st.integers(0, 3))
    @precondition(lambda self: self.lockstep.group is not None and self.lockstep.group.members)
    def polite_rejoin(self, index: int) -> None:
        """A member joins again with what it sent before."""
        group = self.lockstep.group
        assert group is not None
        member_id = list(group.members)[index % len(group.members)]
        member = group.members[member_id]
        request = JoinGroupRequest(
            GROUP_ID,
            10_000,
            member.rebalance_timeout_ms,
            member_id,
            str(group.protocol_type),
            member.protocols,
        )
        self.lockstep.call(request, 9)

    @rule()
    @precondition(lambda self: any(timer.name in PHASE_TIMERS for timer in self.lockstep.deadlines))
    def phase_ends(self) -> None:
        """The join phase runs out of time, so that most runs get beyond it."""
        self.lockstep.fire(next(timer for timer in self.lockstep.deadlines if timer.name in PHASE_TIMERS))

    @rule(index=st.integers(0, 3), right_name=st.booleans())
    @precondition(lambda self: self.lockstep.group is not None and self.lockstep.group.protocol_name)
    def sync_again(self, index: int, right_name: bool) -> None:
        """A member of the current generation syncs, perhaps for another protocol."""
        group = self.lockstep.group
        assert group is not None
        name = group.protocol_name if right_name else "other"
        member_id = list(group.members)[index % len(group.members)] if group.members else "stranger"
        request = SyncGroupRequest(GROUP_ID, group.generation_id, member_id, (), group.protocol_type, name)
        self.lockstep.call(request, 5)

    @rule()
    @precondition(lambda self: self.lockstep.appends)
    def log_stores(self) -> None:
        """The oldest append succeeds."""
        self.lockstep.answer_append(min(self.lockstep.appends), None)

    @rule(leader=st.booleans(), index=st.integers(0, 3))
    @precondition(lambda self: self.lockstep.group is not None and self.lockstep.group.pending_sync)
    def polite_sync(self, leader: bool, index: int) -> None:
        """A member syncs as it should; the leader with a share for everybody."""
        group = self.lockstep.group
        assert group is not None
        owing = sorted(group.pending_sync)
        member_id = str(group.leader) if leader else owing[index % len(owing)]
        parts = tuple(MemberAssignment(i, i.encode()) for i in group.members) if leader else ()
        kind, name = group.protocol_type, group.protocol_name
        self.lockstep.call(SyncGroupRequest(GROUP_ID, group.generation_id, member_id, parts, kind, name), 5)

    @rule(
        index=st.integers(0, 5),
        offset=st.sampled_from([0, 0, 0, 0, 1, -1]),
        version=st.integers(0, 5),
        named=st.sampled_from([True, True, True, None, False]),
        shares=st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=2)), max_size=3),
        group_id=group_ids,
        instance_id=instance_ids,
    )
    def sync(self, index: int, offset: int, version: int, named: bool | None, shares: list[tuple[int, bytes]],
             group_id: str, instance_id: str | None) -> None:  # fmt: skip
        group = self.lockstep.group
        kind, name = (None, None) if group is None else (group.protocol_type, group.protocol_name)
        if named is None or version < 5:
            kind = name = None
        elif not named:
            name = "other"
        parts = tuple(MemberAssignment(self.pick_id(i), share) for i, share in shares)
        request = SyncGroupRequest(
            group_id, self.generation(offset), self.pick_id(index), parts, kind, name, instance_id
        )
        self.lockstep.call(request, version)

    @rule(
        index=st.integers(0, 5),
        offset=st.sampled_from([0, 0, 0, 1, -1]),
        version=st.integers(0, 4),
        group_id=group_ids,
        instance_id=instance_ids,
    )
    def heartbeat(
        self, index: int, offset: int, version: int, group_id: str, instance_id: str | None
    ) -> None:
        request = HeartbeatRequest(group_id, self.generation(offset), self.pick_id(index), instance_id)
        self.lockstep.call(request, version)

    @rule(
        indexes=st.lists(st.tuples(st.integers(0, 5), instance_ids), max_size=3),
        version=st.integers(0, 5),
        group_id=group_ids,
    )
    def leave(self, indexes: list[tuple[int, str | None]], version: int, group_id: str) -> None:
        members = tuple(LeavingMember(self.pick_id(index), instance) for index, instance in indexes)
        if version < 3:
            members = (LeavingMember(self.pick_id(indexes[0][0] if indexes else 0)),)
        self.lockstep.call(LeaveGroupRequest(group_id, members), version)

    @rule(index=st.integers(0, 9))
    @precondition(lambda self: self.lockstep.deadlines)
    def timer(self, index: int) -> None:
        """Any armed timer, not only the first due: the spec allows every order."""
        timers = sorted(self.lockstep.deadlines)
        self.lockstep.fire(timers[index % len(timers)])

    @rule(index=st.integers(0, 3), error=st.sampled_from([None, None, *AppendError]))
    @precondition(lambda self: self.lockstep.appends)
    def log_answers(self, index: int, error: AppendError | None) -> None:
        appends = sorted(self.lockstep.appends)
        self.lockstep.answer_append(appends[index % len(appends)], error)

    @invariant()
    def counters_match(self) -> None:
        """The core's counters say what a scan would."""
        group = self.lockstep.core.groups.get(GROUP_ID)
        if group is not None:
            members = group.members.values()
            assert {*group.parked_joins, *group.parked_syncs} <= group.members.keys()
            names = [name for m in members for name in m.protocol_names]
            assert dict(group.supporters) == {name: names.count(name) for name in names}


def run(examples: int, steps: int = 40) -> tuple[set[str], set[tuple[str, str]]]:
    """Run the machine; the rules, and (rule, state) pairs, that it visited."""
    rules: set[str] = set()
    visited: set[tuple[str, str]] = set()

    class Recorded(CoordinatorFollowsSpec):
        def teardown(self) -> None:
            rules.update(self.lockstep.rules)
            visited.update(self.lockstep.visited)

    run_state_machine_as_test(
        Recorded,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            report_multiple_bugs=False,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return rules, visited


def test_the_core_does_what_the_spec_allows(capsys: pytest.CaptureFixture[str]) -> None:
    """Thousands of steps without a divergence; every rule takes part, and how many (rule, state) pairs."""
    rules, visited = run(700)
    acting = {slug for slug, one in RULES.items() if not one.decides}
    with capsys.disabled():
        print(f" lockstep: {len(rules)} of {len(acting)} rules, {len(visited)} (rule, state) pairs")
    assert acting - rules == set()
    assert len(visited) >= 130


PLANTED: dict[str, tuple[object, str, object]] = {
    "the barrier ignores pending ids": (
        CoreGroup,
        "all_members_joined",
        property(lambda group: len(group.parked_joins) == len(group.members)),
    ),
    "sessions never expire": (core_timers, "expires", lambda group, member: False),
    "any supported protocol may win": (
        core_voting,
        "candidate_protocols",
        lambda group: frozenset(group.supporters),
    ),
    "the protocol's name is not checked": (core_sync, "_differs", lambda given, expected: False),
    "a successor is the newest member": (
        core_voting,
        "settle_leader",
        lambda group, choices: setattr(group, "leader", list(group.members)[-1] if group.members else None),
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found_and_shrunk(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bug in the core ends in a divergence whose dialogue a person can read."""
    target, name, function = PLANTED[bug]
    monkeypatch.setattr(target, name, function)
    with pytest.raises(Divergence) as found:
        run(400, steps=25)
    dialogue = [line for line in str(found.value).splitlines() if " ms  " in line]
    assert 1 <= len(dialogue) <= 12, str(found.value)


def test_the_counters_bug_is_found_by_the_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter that drifts is caught even before it shows."""

    def remove(self: CoreGroup, member: Any) -> None:
        del self.members[member.member_id]
        self.pending_sync_members.discard(member.member_id)

    monkeypatch.setattr(CoreGroup, "remove", remove)
    with pytest.raises(AssertionError):
        run(200, steps=25)
