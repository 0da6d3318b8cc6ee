"""Static members (KIP-345): a member that keeps its group instance id takes its own place again.

It restarts without a member id and is given a new one; the former id is fenced from then on. What the log's
answer to a replacement does stands in `rota.spec.classic.replacement`.
"""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.admission import admit
from rota.spec.classic.join import existing, join_request, recorded
from rota.spec.classic.messages import JoinGroupReply, SyncGroupReply
from rota.spec.classic.rebalance import GMM
from rota.spec.classic.records import Replacement, record_of
from rota.spec.classic.replacement import UPDATE, renamed
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.sync import synced
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.context import Spec, only
from rota.spec.messages import Call
from rota.spec.vocabulary import ErrorCode

SKIPS_SINCE = 9
"""The JoinGroup version whose answer can tell a leader to skip the assignment (KIP-814)."""


@rule("static.validate", source="KIP-345; upstream ClassicGroup#validateMember", decides=True)
def validate(group: Group | None, member_id: str, group_instance_id: str | None) -> ErrorCode:
    """Whether a member may speak for itself: its instance id first, then its member id.

    An instance id that nobody holds is unknown, one that another member holds is fenced. A static member
    that leaves its instance id out is taken by its member id. Parameters: group, None where there is
    none; group_instance_id, None where the request has none. Returns NONE, UNKNOWN_MEMBER_ID or
    FENCED_INSTANCE_ID.

    Left out: the syntax of an instance id. Brokers do not check it; the client does, with the rules for
    names of topics.
    """
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group_instance_id is not None:
        holder = group.holder(group_instance_id)
        if holder is not None and holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


@rule("static.new-member", source="KIP-345; " + GMM + "classicGroupJoinNewStaticMember", since="JoinGroup v5")
def new_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A newcomer with an instance id that nobody holds is admitted at once: there is no handshake.

    Left out: the form of its member id (instance id, a hyphen, a random UUID), by which an operator
    recognises it. To rules a static member is one with a `group_instance_id`, whatever its id looks like.
    """
    request = join_request(call)
    if request.member_id or request.group_instance_id is None:
        return ()
    return recorded(spec, group, admit(spec, existing(group), call, call.fresh_id))


@rule("static.pending-with-instance", source=GMM + "classicGroupJoinExistingMember", since="JoinGroup v5")
def pending_with_instance(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An id that was handed out cannot become a static member's: the broker fails, the id stays pending.

    Left out: how it fails, an IllegalStateException (Java) or its like that is answered as
    UNKNOWN_SERVER_ERROR without a member id. It is thrown before anything has changed, so the answer is
    all there is to it.
    """
    group, request = existing(group), join_request(call)
    if request.group_instance_id is None or request.member_id not in group.pending:
        return ()
    return only(Step(group).answer(call.to, JoinGroupReply(ErrorCode.UNKNOWN_SERVER_ERROR)))


@rule(
    "static.replaced",
    source="KIP-345; " + UPDATE + "; ClassicGroup#replaceStaticMember",
    since="JoinGroup v5",
)
def replaced(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A static member that comes without a member id takes the place of its former self, under a new id.

    What the former self has parked is fenced. Assignment and lead pass on, but the new id does not take
    over an outstanding SyncGroup: with Kafka the former id stays among those that must still sync, though
    nobody can send it any more; rota forgets it. Protocols and timeouts are the request's from now on, but
    the session runs with the former timeout until it is started anew. What follows depends on the state, and
    in Stable on the vote.

    Left out: client id and host, which stay those of the former self in DescribeGroups. Nothing is
    decided by them.
    """
    request, present = join_request(call), existing(group)
    former_id = None if request.member_id else present.holder(request.group_instance_id)
    if former_id is None:
        return ()
    former = present.members[former_id]
    stays_new = former.is_new and spec.profile.replaced_member_stays_new
    member = replace(
        former,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=request.protocols,
        awaiting_join=call.to,
        awaiting_sync=None,
        is_new=stays_new,
    )
    step = Step(present).answer(
        former.awaiting_join, JoinGroupReply(ErrorCode.FENCED_INSTANCE_ID, member_id=former_id)
    )
    step = step.answer(former.awaiting_sync, SyncGroupReply(ErrorCode.FENCED_INSTANCE_ID))
    step = renamed(step, former_id, call.fresh_id, member)
    kind = TimerKind.NEW_MEMBER if stays_new else TimerKind.SESSION
    step = step.arm(kind, former.session_timeout_ms, call.fresh_id)
    if not spec.profile.replaced_owes_sync:
        step = synced(step, former_id)
    replacement = Replacement(
        member_id=call.fresh_id,
        former_id=former_id,
        leader=present.leader,
        skips_assignment=call.version >= SKIPS_SINCE,
        rebalance_timeout_ms=former.rebalance_timeout_ms,
        session_timeout_ms=former.session_timeout_ms,
        protocols=former.protocols,
    )
    return tuple(after for slug in BY_STATE for after in spec.apply(slug, step, replacement))


BY_STATE = (
    "static.replaced-while-preparing",
    "static.replaced-while-completing",
    "static.replaced-in-stable",
    "static.replaced-changed-vote",
)


@rule("static.replaced-while-preparing", source=UPDATE, since="JoinGroup v5")
def replaced_while_preparing(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """While a rebalance is prepared the JoinGroup is parked like any other, and may open the barrier.

    It does not extend the initial delay, for nobody was added.

    Left out: upstream's exception for a replacement in an Empty group. There is nobody in it to be
    replaced, so `static.replaced` does not apply.
    """
    if step.live.state is not GroupState.PREPARING_REBALANCE:
        return ()
    return spec.apply("join.rebalance-or-complete", step)


@rule("static.replaced-while-completing", source=UPDATE, since="JoinGroup v5")
def replaced_while_completing(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """In CompletingRebalance a new rebalance begins: the leader may be assigning to the former id.

    Nothing is left out: unlike other changes it does not ask whether a rebalance may begin, since in this
    state it always may, and a phase that all have joined ends at once.
    """
    if step.live.state is not GroupState.COMPLETING_REBALANCE:
        return ()
    return spec.apply("join.prepare-rebalance", step)


def _vote(spec: Spec, group: Group) -> tuple[str, ...]:
    """The names that may win if the members vote now."""
    lists = [member.names for member in group.members.values()]
    tied: tuple[str, ...] = spec.ask("voting.tally", lists, spec.ask("voting.candidates", lists))
    return tied


@rule("static.replaced-in-stable", source="KIP-345, KIP-814; " + UPDATE, since="JoinGroup v5")
def replaced_in_stable(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """In Stable, where a vote would choose the same protocol, nobody rebalances; the log is told.

    Only the name is compared: with other metadata the member keeps its assignment, and the leader is told
    nothing. The JoinGroup is parked until the log has answered.

    Left out: that the Java coordinator writes the record in one batch with other writes to its partition,
    which are stored or fail together. In the model each append fails by itself, and several that fail are
    a run with several faults.
    """
    group = step.live
    if group.state is not GroupState.STABLE or group.protocol_name not in _vote(spec, group):
        return ()
    assignments = {member_id: member.assignment for member_id, member in group.members.items()}
    record = record_of(group, assignments, RecordKind.REPLACEMENT)
    return only(step.append(replace(record, replacement=replacement)))


@rule("static.replaced-changed-vote", source="KIP-345; " + UPDATE, since="JoinGroup v5")
def replaced_changed_vote(spec: Spec, step: Step, replacement: Replacement) -> Steps:
    """In Stable, where a vote would choose another protocol, a rebalance begins.

    Left out: which of several tied names upstream's trial vote would take. If the present protocol is
    among them both this rule and `static.replaced-in-stable` apply, each as a step.
    """
    group = step.live
    if group.state is not GroupState.STABLE or _vote(spec, group) == (group.protocol_name,):
        return ()
    return spec.apply("join.rebalance-or-complete", step)


@rule("static.nobody-joined", source=GMM + "completeClassicGroupJoin", since="JoinGroup v5")
def nobody_joined(spec: Spec, step: Step) -> Steps:
    """A join phase ends and only static members that have not joined are left: it goes on.

    The join timer starts again, until somebody joins or their sessions have run out. If the leader was
    dropped any of them leads meanwhile (upstream: hash order).

    Left out: the error that upstream logs each time. An operator may be alarmed by it, clients are told
    nothing: nobody of the group waits for an answer.
    """
    group = step.live
    if not group.members or group.awaiting_join:
        return ()
    step = step.arm(TimerKind.JOIN, group.rebalance_timeout_ms)
    leaders = (group.leader,) if group.leader in group.members else tuple(group.members)
    return tuple(step.to(replace(group, leader=leader)) for leader in leaders)
