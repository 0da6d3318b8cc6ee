"""Mistakes about static members: whose place an instance id is, and what a restart does."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import lasting, retold, untold
from rota.mutants.mutant import bug
from rota.spec import (
    Call,
    ErrorCode,
    Group,
    GroupRecord,
    GroupState,
    JoinGroupReply,
    JoinGroupRequest,
    Spec,
    Step,
)
from rota.spec.classic import replacement as replacement_rules
from rota.spec.classic import static as static_rules
from rota.spec.classic.join import existing
from rota.spec.classic.rebalance import joined_reply
from rota.spec.classic.records import Replacement
from rota.spec.classic.step import Steps
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.context import only, request_of
from rota.spec.messages import ReplyMessage
from rota.spec.vocabulary import AppendError


@bug(
    "static.validate",
    dies_in="same-instance",
    by="static.replaced-is-fenced",
    seen_in="KAFKA-8225; tansu; librdkafka's mock cluster",
)
def instance_not_compared(group: Group | None, member_id: str, group_instance_id: str | None) -> ErrorCode:
    """The member id is looked at and the instance id is not: nobody is ever fenced."""
    return static_rules.validate(group, member_id, None)


@bug("static.new-member", dies_in="crash-static-tie", by="client.given-id-is-used")
def static_newcomer_shakes_hands(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A static newcomer is sent away with a member id like any other."""
    return ()


@bug("static.replaced", dies_in="same-instance", by="static.one-member-per-instance")
def restart_is_a_newcomer(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Nobody looks who holds the instance id: a restarted member is added beside its former self."""
    return ()


@bug("static.replaced", dies_in="same-instance", by="parked.iff-waiting")
def replaced_join_forgotten(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Who is replaced while its JoinGroup is parked is not told."""
    return retold(static_rules.replaced(spec, group, call), _unless_fenced)


def _unless_fenced(message: ReplyMessage) -> ReplyMessage | None:
    return None if getattr(message, "error_code", None) is ErrorCode.FENCED_INSTANCE_ID else message


@bug("static.replaced", dies_in="same-instance", by="timers.match-state")
def replacement_without_session(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The new id of a static member has no session: if it falls silent nobody notices."""
    steps = static_rules.replaced(spec, group, call)
    return tuple(step.cancel(TimerKind.SESSION, call.fresh_id) for step in steps)


@bug("static.replaced", dies_in="same-instance", by="join.leader-is-a-member")
def former_id_leads(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A static leader's restart leaves the lead with its former id."""
    leader = existing(group).leader
    steps = static_rules.replaced(spec, group, call)
    return tuple(step.to(replace(step.live, leader=leader)) for step in steps)


@bug("static.replaced-while-preparing", dies_in="static-poll-timeout", by="join.open-barrier-completes")
def replacement_opens_nothing(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """A replacement that opens the barrier is parked like the others: only the timer ends the phase."""
    return only(step) if step.live.state is GroupState.PREPARING_REBALANCE else ()


@bug(
    "static.replaced-while-completing",
    dies_in="same-instance",
    by="sync.nothing-unowned",
    seen_in="KAFKA-9801",
)
def replaced_under_the_leaders_eyes(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """In CompletingRebalance a static member gets its new id and the generation at once, as in Stable.

    The leader assigns to the former id, and the member gets nothing.
    """
    if step.live.state is not GroupState.COMPLETING_REBALANCE:
        return ()
    member = step.live.members[replacement.member_id]
    step = step.answer(member.awaiting_join, joined_reply(step.live, replacement.member_id))
    return only(step.to(step.live.with_member(replacement.member_id, replace(member, awaiting_join=None))))


@bug(
    "static.replaced-in-stable",
    dies_in="move-static",
    by="static.fenced-by-another",
    seen_in="KAFKA-10284",
)
def restart_not_recorded(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """The new id is not written to the log: the next coordinator fences its true owner."""
    return tuple(
        replace(each, group=done.group, replies=each.replies + done.replies, records=())
        for each in static_rules.replaced_in_stable(spec, step, replacement)
        for record in each.records
        for done in spec.appended(each.group, record, None)
    )


@bug("static.replaced-in-stable", dies_in="same-instance", by="static.restart-is-quiet")
def restart_always_rebalances(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """A static member's restart makes the group rebalance, like anybody's."""
    if step.live.state is not GroupState.STABLE:
        return ()
    return spec.apply("join.rebalance-or-complete", step)


@bug("static.replaced-changed-vote", dies_in="crash-static-tie", by="deadlock")
def changed_vote_unnoticed(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """A restart that changes the vote is parked, and no rebalance begins."""
    return only(step) if static_rules.replaced_changed_vote(spec, step, replacement) else ()


@bug(
    "static.replacement-stored", dies_in="same-instance", by="join.members-for-leader-only", seen_in="KIP-814"
)
def restarted_leader_without_list(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """A leader that restarts is not given the list: it cannot see that topics have changed."""
    return retold(replacement_rules.replacement_stored(spec, group, record, error), _without_list)


def _without_list(message: ReplyMessage) -> ReplyMessage:
    return replace(message, members=()) if isinstance(message, JoinGroupReply) else message


@bug("static.replacement-failed", dies_in="move-static", by="parked.iff-waiting")
def failed_replacement_unanswered(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """When a replacement cannot be stored its JoinGroup is not answered."""
    return retold(replacement_rules.replacement_failed(spec, group, record, error), untold)


@bug("static.nobody-joined", dies_in="static-poll-timeout", by="timers.match-state")
def absent_members_wait_for_ever(spec: Spec, step: Step) -> Steps:
    """A join phase that nobody joined goes on without a timer."""
    steps = static_rules.nobody_joined(spec, step)
    return tuple(each.cancel(TimerKind.JOIN) for each in steps)


@bug("static.replaced", dies_in="own-timeouts-static", by="timers.session-as-asked")
def restart_has_its_own_session(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The session that begins with a restart is the one that the request asks for, not the former one."""
    asked = request_of(call, JoinGroupRequest).session_timeout_ms
    return tuple(lasting(step, TimerKind.SESSION, asked) for step in static_rules.replaced(spec, group, call))
