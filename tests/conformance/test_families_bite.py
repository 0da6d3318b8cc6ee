"""What a single case did not see its family does: mistakes in one state, with one kind of member or value.

Each is planted in rota's coordinator; the case that the family began with passes all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from harness.patched import Original, Patch
from harness.thinned import some
from rota.conformance.catalogue import all_cases, select
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.coordinator import (
    Group,
    GroupState,
    HeartbeatReply,
    heartbeat,
    join,
    rebalance,
    static,
    sync,
    voting,
)
from rota.server.groups import FirstByName


def two_ids_in_turn(_original: Original) -> Original:
    given: Counter[str] = Counter()

    def new_id(_: Any, prefix: str) -> str:
        given[prefix] += 1
        return f"{prefix}-{given[prefix] % 2}"

    return new_id


def least_leads(original: Original) -> Original:
    def add(group: Group, member: Any, protocol_type: str | None) -> None:
        original(group, member, protocol_type)
        if not group.has_generation:
            group.leader = min(group.members)

    return add


def by_position(original: Original) -> Original:
    def answer(step: Any, group: Group | None, request: Any, parked: Any) -> None:
        named = zip(group.members if group else (), request.assignments, strict=False)
        moved = tuple(entry._replace(member_id=member_id) for member_id, entry in named)
        original(step, group, replace(request, assignments=moved), parked)

    return answer


def unnamed_in(state: GroupState) -> Callable[[Original], Original]:
    """What a SyncGroup names is not looked at in one state."""

    def plant(original: Original) -> Original:
        def check(group: Group | None, request: Any) -> Any:
            if group is not None and group.state is state:
                request = replace(request, protocol_type=None, protocol_name=None)
            return original(group, request)

        return check

    return plant


def far_generations(original: Original) -> Original:
    """Only the generations beside the group's are refused."""

    def answer(step: Any, group: Group, request: Any) -> Any:
        if abs(request.generation_id - group.generation_id) > 7:
            request = replace(request, generation_id=group.generation_id)
        return original(step, group, request)

    return answer


def followers_generations(original: Original) -> Original:
    """Only the leader's generation is looked at while the members join."""

    def answer(step: Any, group: Group, request: Any) -> Any:
        if group.state is GroupState.PREPARING_REBALANCE and request.member_id != group.leader:
            request = replace(request, generation_id=group.generation_id)
        return original(step, group, request)

    return answer


def by_places(_original: Original) -> Original:
    def select_protocol(group: Group, choices: Any) -> str:
        points: Counter[str] = Counter()
        common = voting.candidate_protocols(group)
        for member in group.members.values():
            names = [entry.name for entry in member.protocols if entry.name in common]
            points.update({name: len(names) - place for place, name in enumerate(names)})
        return max(points, key=lambda name: points[name])

    return select_protocol


def greatest_name(_original: Original) -> Original:
    return lambda group, choices: max(voting.candidate_protocols(group))


def second_restart_rebalances(original: Original) -> Original:
    known: set[str] = set()

    def replace_member(step: Any, group: Group, old: Any, member_id: str, request: Any, parked: Any) -> None:
        before = old.member_id
        known.add(member_id)
        if before not in known:
            original(step, group, old, member_id, request, parked)
            return
        group.update_and_park(static._fence_and_rename(step, group, old, member_id), request, parked)
        rebalance.rebalance_or_complete(step, group, lambda: "a bug")

    return replace_member


def instances_unchecked_in(state: GroupState) -> Callable[[Original], Original]:
    def plant(original: Original) -> Original:
        def check(group: Group, member_id: str, instance_id: str | None) -> Any:
            known = member_id in group.members and group.state is state
            return original(group, member_id, None if known else instance_id)

        return check

    return plant


def empty_groups_are_fine(original: Original) -> Original:
    def answer(step: Any, group: Group, request: Any) -> Any:
        return HeartbeatReply(0) if group.state is GroupState.EMPTY else original(step, group, request)

    return answer


def static_members_change(original: Original) -> Original:
    """While assignments are awaited every JoinGroup of a static member counts as a change."""

    def rejoin(step: Any, group: Group, request: Any, joiner: Any) -> None:
        is_static = group.members[request.member_id].group_instance_id is not None
        if is_static and group.state is GroupState.COMPLETING_REBALANCE:
            request = replace(request, protocols=request.protocols[:1])
        original(step, group, request, joiner)

    return rejoin


def leaders_do_not_change(original: Original) -> Original:
    """While assignments are awaited no JoinGroup of the leader counts as a change."""

    def rejoin(step: Any, group: Group, request: Any, joiner: Any) -> None:
        if group.state is GroupState.COMPLETING_REBALANCE and request.member_id == group.leader:
            request = replace(request, protocols=group.members[request.member_id].protocols)
        original(step, group, request, joiner)

    return rejoin


def any_type_while_preparing(original: Original) -> Original:
    def supports(group: Group, request: Any) -> Any:
        if group.state is GroupState.PREPARING_REBALANCE and group.has_generation is False:
            request = replace(request, protocol_type=group.protocol_type)
        return original(group, request)

    return supports


def leaders_wait_too(original: Original) -> Original:
    """A leader that awaits its first answer again is not answered while others wait in SyncGroup."""

    def rejoin(step: Any, group: Group, request: Any, joiner: Any) -> None:
        waits = group.state is GroupState.COMPLETING_REBALANCE and group.parked_syncs
        if waits and request.member_id == group.leader:
            return
        original(step, group, request, joiner)

    return rejoin


@dataclass(frozen=True)
class Hole(Patch):
    """A bug with the family that sees it, and a case of its rule that does not."""

    family: str
    blind: str


HOLES = [
    Hole("each second id is the same", FirstByName, "new_member_id", two_ids_in_turn,
         "join.member-id-required.never-twice", "join.member-id-required.id-handed-out"),
    Hole("static ids given again", FirstByName, "new_member_id", two_ids_in_turn,
         "static.new-member.never-twice", "static.new-member.at-once"),
    Hole("the least member id leads", Group, "add", least_leads,
         "join.leader.first-of-empty", "join.leader.first-of-empty.first-least"),
    Hole("the least instance id leads", Group, "add", least_leads,
         "join.leader.first-static-of-empty", "join.leader.first-static-of-empty.first-least"),
    Hole("assignments by position", sync, "sync_group", by_position,
         "sync.leader-assigns.to-everyone", "sync.follower-waits.for-leader"),
    Hole("protocols unchecked in Stable", sync, "sync_error", unnamed_in(GroupState.STABLE),
         "sync.inconsistent-protocol.other-names", "sync.inconsistent-protocol.name"),
    Hole("types unchecked in Stable", sync, "sync_error", unnamed_in(GroupState.STABLE),
         "sync.inconsistent-protocol.other-types", "sync.inconsistent-protocol.type"),
    Hole("far generations pass", heartbeat, "heartbeat", far_generations,
         "heartbeat.illegal-generation.above", "heartbeat.alive.stable"),
    Hole("followers' generations unchecked", heartbeat, "heartbeat", followers_generations,
         "heartbeat.illegal-generation.below", "heartbeat.illegal-generation.older"),
    Hole("votes by places", voting, "select_protocol", by_places,
         "voting.tally.majority", "voting.tally.majority.last-two"),
    Hole("the greatest name is elected", voting, "select_protocol", greatest_name,
         "voting.tally.majority", "voting.tally.majority.last-two"),
    Hole("the second restart rebalances", static, "replace_member", second_restart_rebalances,
         "static.replaced-in-stable.again", "static.replaced.keeps-assignment"),
    Hole("instance ids unchecked before assignments", Group, "member_error",
         instances_unchecked_in(GroupState.COMPLETING_REBALANCE),
         "static.validate.instances-of-others", "static.validate.anothers-instance"),
    Hole("instance ids unchecked while joining", Group, "member_error",
         instances_unchecked_in(GroupState.PREPARING_REBALANCE),
         "static.validate.other-instances", "static.validate.unknown-instance"),
    Hole("heartbeats to an Empty group", heartbeat, "heartbeat", empty_groups_are_fine,
         "heartbeat.unknown-member.outsiders", "heartbeat.unknown-member.stranger"),
    Hole("static members always change", join, "_rejoin", static_members_change,
         "join.unchanged.followers", "join.unchanged.while-completing"),
    Hole("leaders never change", join, "_rejoin", leaders_do_not_change,
         "join.changed-protocols.members", "join.changed-protocols.while-completing"),
    Hole("any type in the first join phase", voting, "supports_protocols", any_type_while_preparing,
         "join.inconsistent-protocol.other-types", "join.inconsistent-protocol.other-type"),
    Hole("leaders wait beside followers", join, "_rejoin", leaders_wait_too,
         "join.unchanged.leaders", "join.unchanged.leader-while-completing"),
]  # fmt: skip


def named(hole: Hole) -> str:
    return f"{hole.what}: {hole.family}"


@pytest.mark.parametrize("hole", some(HOLES, 2, name=named), ids=named)
def test_a_family_sees_what_its_first_case_does_not(hole: Hole, monkeypatch: pytest.MonkeyPatch) -> None:
    hole.put_in(monkeypatch)
    cases = select(all_cases(), [hole.family, hole.blind])
    letter = parse_target("rota", profile="kafka-4.x")
    options = Options(seed=1, patience=2)
    verdicts = {result.case.id: result.verdict for result in play_all(cases, letter, options, {})}
    assert verdicts[hole.blind] is Verdict.PASS
    bad = {DEVIATION_VERDICT[case.level] for case in cases if case.family == hole.family}
    assert bad & {verdict for id, verdict in verdicts.items() if id != hole.blind}, verdicts
