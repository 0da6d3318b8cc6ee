"""The kit bites: with a bug planted in rota's coordinator the case of the broken rule fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rota.conformance.model import DEVIATION_VERDICT, Verdict
from rota.conformance.registry import all_cases, select
from rota.conformance.runner import Options, play_all
from rota.conformance.targets import parse_target
from rota.coordinator import (
    Group,
    GroupState,
    HeartbeatReply,
    LeaveGroupReply,
    heartbeat,
    join,
    leave,
    sync,
    timers,
    voting,
)

Original = Callable[..., Any]


def any_generation(original: Original) -> Original:
    def answer(step: Any, group: Group, request: Any) -> Any:
        return original(step, group, replace(request, generation_id=group.generation_id))

    return answer


def rebalancing_while_completing(original: Original) -> Original:
    def answer(step: Any, group: Group, request: Any) -> Any:
        reply = original(step, group, request)
        completing = group.state is GroupState.COMPLETING_REBALANCE
        return HeartbeatReply(27) if completing and reply.error_code == 0 else reply

    return answer


def everyone_is_told(original: Original) -> Original:
    def reply(group: Group, member: Any) -> Any:
        return replace(original(group, group.members[group.leader or ""]), member_id=member.member_id)

    return reply


def only_the_listed(original: Original) -> Original:
    def assign(step: Any, group: Group, assignments: Any) -> None:
        for member in group.members.values():
            if not assignments.get(member.member_id):
                member.parked_sync = None
        original(step, group, assignments)

    return assign


def followers_count(_original: Original) -> Original:
    def settle(step: Any, group: Group, member_id: str) -> None:
        group.leader = member_id

    return settle


def union(_original: Original) -> Original:
    return lambda group: frozenset(group.supporters)


def leaders_share(original: Original) -> Original:
    return lambda group, member: original(group, group.members[group.leader])


def protocol_for_good(original: Original) -> Original:
    return lambda group, choices: group.protocol_name or original(group, choices)


def unknown_at_the_top(original: Original) -> Original:
    def answer(step: Any, group: Group | None, identities: Any) -> Any:
        return LeaveGroupReply(25) if group is None else original(step, group, identities)

    return answer


def nothing(_original: Original) -> Original:
    return lambda *_: None


@dataclass(frozen=True)
class Bug:
    """What is wrong, where it is planted, and the case of the rule that it breaks."""

    what: str
    owner: Any
    attribute: str
    plant: Callable[[Original], Any]
    case: str
    bystander: str = "heartbeat.alive.stable"


BUGS = [
    Bug("generation unchecked", heartbeat, "heartbeat", any_generation, "heartbeat.illegal-generation.older"),
    Bug(
        "rejoin in CompletingRebalance",
        heartbeat,
        "heartbeat",
        rebalancing_while_completing,
        "heartbeat.alive.while-completing",
    ),
    Bug(
        "list for everyone",
        join,
        "_generation_reply",
        everyone_is_told,
        "join.next-generation.members-for-leader-only",
    ),
    Bug(
        "handed-out ids do not block",
        Group,
        "all_members_joined",
        lambda _: property(lambda group: group.awaiting_join == len(group.members)),
        "join.barrier.pending-blocks",
    ),
    Bug("left-out member unanswered", sync, "assign", only_the_listed, "sync.leader-assigns.left-out"),
    Bug(
        "whoever syncs leads",
        sync,
        "settle_pending_sync",
        followers_count,
        "sync.follower-waits.own-assignments-ignored",
    ),
    Bug("candidates by union", voting, "candidate_protocols", union, "voting.candidates.in-common"),
    Bug(
        "the leader's share for all",
        sync,
        "_assignment_reply",
        leaders_share,
        "persistence.assignment-stored.own-share",
    ),
    Bug("voted once for good", voting, "select_protocol", protocol_for_good, "join.protocol.voted-anew"),
    Bug("no group, said at the top", leave, "leave_group", unknown_at_the_top, "leave.unknown-group.batch"),
    Bug("absent members stay", Group, "remove", nothing, "join.complete-phase.absent-removed"),
    Bug("absent leader stays", voting, "settle_leader", nothing, "join.leader.absent-replaced"),
    Bug(
        "expiry unnoticed",
        timers,
        "_complete_if_all_joined",
        nothing,
        "join.complete-if-all-joined.session-expired",
    ),
    Bug("no sync timer", join, "start_sync_timer", nothing, "timers.sync-timeout.only-heartbeats"),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_planted_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = bug.plant(getattr(bug.owner, bug.attribute))
    monkeypatch.setattr(bug.owner, bug.attribute, planted)
    found = verdicts(bug.case, bug.bystander)
    (case,) = select(all_cases(), [bug.case])
    assert found[bug.case] is DEVIATION_VERDICT[case.level]
    assert found[bug.bystander] is Verdict.PASS


def verdicts(*ids: str) -> dict[str, Verdict]:
    """Case id → verdict on rota's own server."""
    cases = select(all_cases(), ids)
    results = play_all(cases, parse_target("rota"), Options(seed=1, patience=2), {})
    return {result.case.id: result.verdict for result in results}
