"""The kit bites: with a bug planted in rota's coordinator the case of the broken rule fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.patched import Bug, Original
from harness.thinned import some
from rota.conformance.catalogue import all_cases, select
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.coordinator import (
    Group,
    GroupState,
    HeartbeatReply,
    LeaveGroupReply,
    admin,
    expiry,
    heartbeat,
    join,
    leave,
    offsets,
    rebalance,
    static,
    sync,
    timers,
    voting,
)
from rota.server.cluster import Cluster


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
    def reply(generation: rebalance.Generation, member_id: str) -> Any:
        return replace(original(generation, generation.leader), member_id=member_id)

    return reply


def only_the_listed(original: Original) -> Original:
    def assign(step: Any, group: Group, assignments: Any) -> None:
        for member_id in group.members:
            if not assignments.get(member_id):
                group.parked_syncs.take(member_id)
        original(step, group, assignments)

    return assign


def followers_count(_original: Original) -> Original:
    def settle(step: Any, group: Group, member_id: str) -> None:
        group.leader = member_id

    return settle


def union(_original: Original) -> Original:
    return lambda group: frozenset(group.supporters)


def leaders_share(original: Original) -> Original:
    return lambda group: lambda _: original(group)(group.members[group.leader].assignment)


def type_for_good(original: Original) -> Original:
    def add(group: Group, member: Any, protocol_type: str | None) -> None:
        original(group, member, group.protocol_type or protocol_type)

    return add


def protocol_for_good(original: Original) -> Original:
    return lambda group, choices: group.protocol_name or original(group, choices)


def unknown_at_the_top(original: Original) -> Original:
    def answer(step: Any, group: Group | None, identities: Any) -> Any:
        return LeaveGroupReply(25) if group is None else original(step, group, identities)

    return answer


def nothing(_original: Original) -> Original:
    return lambda *_: None


def instances_unchecked(original: Original) -> Original:
    return lambda group, member_id, instance_id: original(group, member_id, None)


def everyone_fenced(original: Original) -> Original:
    """An instance id that nobody holds is fenced, too."""
    return lambda group, member_id, instance_id: (
        82
        if instance_id is not None and instance_id not in group.static_members
        else original(group, member_id, instance_id)
    )


def always_rebalances(_original: Original) -> Original:
    def instead(step: Any, group: Group, old: Any, member_id: str, request: Any, parked: Any) -> None:
        group.update_and_park(static._fence_and_rename(step, group, old, member_id), request, parked)
        rebalance.rebalance_or_complete(step, group, lambda: "a static member is back")

    return instead


def nobody_fenced(_original: Original) -> Original:
    def take_over(step: Any, group: Group, old: Any, member_id: str) -> Any:
        group.parked_joins.take(old.member_id)
        group.parked_syncs.take(old.member_id)
        return group.rename(old, member_id)

    return take_over


def never_skips(original: Original) -> Original:
    def stored(step: Any, group: Group, entry: Any) -> None:
        old = replace(entry.parked, version=8)
        original(step, group, replace(entry, parked=old))

    return stored


def static_dropped(original: Original) -> Original:
    def complete(step: Any, group: Group) -> None:
        for member in group.members.values():
            member.group_instance_id = None
        original(step, group)

    return complete


def always(_original: Original) -> Original:
    return lambda *_: True


def never(_original: Original) -> Original:
    return lambda *_: False


def members_first(_original: Original) -> Original:
    return lambda group, member_id, most: member_id in group.members or len(group.parked_joins) < most


def without_check(code: int) -> Callable[[Original], Original]:
    """A check that lets one error pass."""

    def plant(original: Original) -> Original:
        return lambda *arguments: 0 if original(*arguments) == code else original(*arguments)

    return plant


def one_error_for_another(code: int, other: int) -> Callable[[Original], Original]:
    def plant(original: Original) -> Original:
        def check(*arguments: Any) -> int:
            error: int = original(*arguments)
            return other if error == code else error

        return check

    return plant


def nothing_subscribed(_original: Original) -> Original:
    return lambda *_: lambda topic: False


def always_stable(original: Original) -> Original:
    def described(group_id: str, group: Group | None) -> Any:
        found = original(group_id, group)
        return replace(found, protocol_data=(group.protocol_name if group else None) or "")

    return described


def without_filters(original: Original) -> Original:
    return lambda groups, request: original(groups, replace(request, states_filter=(), types_filter=()))


def any_key_type(original: Original) -> Original:
    return lambda self, key_type, key, listener: original(self, 0, key, listener)


def no_offset_is_an_error(original: Original) -> Original:
    def told(index: int, record: Any) -> Any:
        found = original(index, record)
        return found if record is not None else replace(found, error_code=3)

    return told


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
        rebalance.Generation,
        "reply",
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
    Bug(
        "left-out member unanswered",
        sync,
        "assign",
        only_the_listed,
        "sync.leader-assigns.some-left-out.syncing-two-static.leader",
    ),
    Bug(
        "whoever syncs leads",
        sync,
        "remove_pending_sync",
        followers_count,
        "sync.follower-waits.own-assignments-ignored",
    ),
    Bug(
        "candidates by union",
        voting,
        "candidate_protocols",
        union,
        "voting.candidates.in-common.first-of-one",
    ),
    Bug(
        "the leader's share for all",
        sync,
        "_assigned",
        leaders_share,
        "persistence.assignment-stored.own-share",
    ),
    Bug(
        "the first type for ever",
        Group,
        "add",
        type_for_good,
        "join.inconsistent-protocol.type-of-the-next-first-member",
    ),
    Bug("voted once for good", voting, "select_protocol", protocol_for_good, "join.protocol.voted-anew"),
    Bug("no group, said at the top", leave, "leave_group", unknown_at_the_top, "leave.unknown-group.batch"),
    Bug("absent members stay", Group, "remove", nothing, "join.complete-phase.absent-removed"),
    Bug("absent leader stays", voting, "elect_joined_leader", nothing, "join.leader.absent-replaced"),
    Bug(
        "expiry unnoticed",
        timers,
        "_complete_if_all_joined",
        nothing,
        "join.complete-if-all-joined.session-expired",
    ),
    Bug(
        "instance ids unchecked",
        Group,
        "member_error",
        instances_unchecked,
        "heartbeat.fenced-instance-id.wrong-id",
    ),
    Bug(
        "instance ids unchecked",
        Group,
        "member_error",
        instances_unchecked,
        "sync.fenced-instance-id.wrong-id",
    ),
    Bug(
        "instance ids unchecked",
        Group,
        "member_error",
        instances_unchecked,
        "join.fenced-instance-id.wrong-id",
    ),
    Bug(
        "instance ids unchecked",
        Group,
        "member_error",
        instances_unchecked,
        "leave.fenced-instance-id.wrong-id",
    ),
    Bug(
        "unknown instances fenced", Group, "member_error", everyone_fenced, "static.validate.unknown-instance"
    ),
    Bug(
        "a restart always rebalances",
        static,
        "replace_member",
        always_rebalances,
        "static.replaced-in-stable.same-generation",
    ),
    Bug(
        "nobody fenced",
        static,
        "_fence_and_rename",
        nobody_fenced,
        "static.replaced-while-completing.rebalances",
    ),
    Bug(
        "nobody fenced",
        static,
        "_fence_and_rename",
        nobody_fenced,
        "static.replaced-while-preparing.fences-waiting",
    ),
    Bug("never told to skip", static, "_stored", never_skips, "static.replacement-stored.leader-skips"),
    Bug(
        "absent static members dropped",
        rebalance,
        "complete_join",
        static_dropped,
        "join.complete-phase.static-kept",
    ),
    Bug("no size limit", join, "has_room", always, "join.group-max-size-reached.first-step"),
    Bug(
        "members keep their places", join, "has_room", members_first, "join.group-max-size-reached.pushed-out"
    ),
    Bug(
        "commits while assignments are awaited",
        offsets,
        "commit_error",
        without_check(27),
        "offsets.rebalance-in-progress.completing",
        "offsets.commit.member",
    ),
    Bug(
        "commits of any generation",
        offsets,
        "commit_error",
        without_check(22),
        "offsets.illegal-generation.older-and-newer",
        "offsets.commit.member",
    ),
    Bug(
        "commits of strangers",
        offsets,
        "commit_error",
        without_check(25),
        "offsets.unknown-member.stranger",
        "offsets.commit.member",
    ),
    Bug(
        "no group, said as before version 9",
        offsets,
        "commit_error",
        one_error_for_another(69, 22),
        "offsets.unknown-group.from-9",
        "offsets.unknown-group.before-9",
    ),
    Bug(
        "metadata unmeasured",
        offsets,
        "metadata_error",
        without_check(12),
        "offsets.metadata-too-large.others-stored",
    ),
    Bug("subscriptions ignored", offsets, "is_subscribed", nothing_subscribed, "offsets.delete.subscribed"),
    Bug(
        "any group's offsets deleted",
        offsets,
        "delete_error",
        without_check(68),
        "offsets.delete-non-empty-group.other-type",
    ),
    Bug("no offset is an error", offsets, "_fetched", no_offset_is_an_error, "offsets.fetch.absent-group"),
    Bug("protocol always told", admin, "_described", always_stable, "admin.describe.outside-stable"),
    Bug("filters ignored", admin, "list_groups", without_filters, "admin.list.state-filter"),
    Bug(
        "groups with members deleted",
        admin,
        "deletion_error",
        without_check(68),
        "admin.delete-non-empty-group.stable",
    ),
    Bug("key types unread", Cluster, "_coordinator", any_key_type, "hosting.find-coordinator.unknown-type"),
    Bug("nothing expires", expiry, "is_expired", never, "expiry.offsets-expired.own-retention"),
    Bug("everything expires", expiry, "is_expired", always, "expiry.expired.not-before"),
    Bug("expiry while rebalancing", expiry, "expires", always, "expiry.nothing-expires.other-type"),
    Bug("no sync timer", rebalance, "start_sync_timer", nothing, "timers.sync-timeout.only-heartbeats"),
]


@pytest.mark.parametrize("bug", some(BUGS, 2, name=str), ids=str)
def test_planted_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.put_in(monkeypatch)
    found = verdicts(bug.case, bug.bystander)
    (case,) = select(all_cases(), [bug.case])
    assert found[bug.case] is DEVIATION_VERDICT[case.level]
    assert found[bug.bystander] is Verdict.PASS


def verdicts(*ids: str) -> dict[str, Verdict]:
    """Case id → verdict on rota's own server, as Kafka to the letter: what the cases are written from."""
    cases = select(all_cases(), ids)
    letter = parse_target("rota", profile="kafka-4.x")
    results = play_all(cases, letter, Options(seed=1, patience=2), {})
    return {result.case.id: result.verdict for result in results}
