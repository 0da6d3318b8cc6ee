"""The replacement of a static member, when the log answers: it holds, or the former self is back."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import JoinGroupReply, SyncGroupReply
from rota.spec.classic.rebalance import GMM, joined_reply
from rota.spec.classic.records import GroupRecord, Replacement
from rota.spec.classic.state import Group, Member
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only
from rota.spec.persistence import append_error
from rota.spec.vocabulary import AppendError, ErrorCode

UPDATE = GMM + "updateStaticMemberThenRebalanceOrCompleteJoin"


def renamed(step: Step, former_id: str, member_id: str, member: Member) -> Step:
    """A member under another id, with the lead if it had it; the former id's timers stop.

    Upstream leaves them armed: they expire without effect, for nobody has that id.
    """
    group = step.live
    group = replace(
        group,
        members=group.members.without(former_id).set(member_id, member),
        leader=member_id if group.leader == former_id else group.leader,
    )
    return step.to(group).cancel(TimerKind.SESSION, former_id).cancel(TimerKind.NEW_MEMBER, former_id)


@rule("static.replacement-stored", source="KIP-814; " + UPDATE, since="JoinGroup v5")
def replacement_stored(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """The replacement is stored: its JoinGroup is answered with the current generation.

    From v9 on a leader gets the member list and is told to skip the assignment. Below, the answer names
    the leader that there was before: one that restarted sees its former id and takes itself for a
    follower.

    Whatever happened since: if the member still waits, it is answered with what the group is now, also
    while a rebalance is prepared, and must join again; but then a leader that would be given the list
    waits on, since upstream fails on the list (ClassicGroup#currentClassicGroupMembers). If it was
    answered, has gone or was replaced, nothing happens. No timer is touched: a session that ran out
    meanwhile begins with the first heartbeat.

    Left out: in the Scala coordinator a member that restarts twice is one object, so the record of the
    first restart answers the JoinGroup of the second one, with the first, fenced id; and its failure
    drops it. Its client is then fenced by its own past or never answered, both of which the model has
    from other causes (`weakness.fenced-by-its-own-past`, `weakness.replaced-request-unanswered`).
    """
    change = record.replacement
    if change is None or error is not None:
        return ()
    member = None if group is None else group.members.get(change.member_id)
    if group is None or member is None or member.awaiting_join is None:
        return only(Step(group))
    leads = change.skips_assignment and group.leader == change.member_id
    if leads and group.state is GroupState.PREPARING_REBALANCE:
        return only(Step(group))
    reply = replace(joined_reply(group, change.member_id), skip_assignment=leads)
    if not change.skips_assignment:
        reply = replace(reply, leader=change.leader or "", members=())
    step = Step(group.with_member(change.member_id, replace(member, awaiting_join=None)))
    return only(step.answer(member.awaiting_join, reply))


@rule("static.replacement-failed", source=UPDATE, since="JoinGroup v5")
def replacement_failed(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """The replacement could not be stored: the former id is back, with its timeouts and its protocols.

    The answer names no member id but the generation, the protocol and who led before. The Scala
    coordinator keeps the new protocols.

    Upstream does this whatever happened since, as long as the new id is a member: in a later generation,
    in which the member has been answered, its parked SyncGroup is fenced and its parked JoinGroup is
    never answered. With rota such a member stays: its new id is what the next record will say.

    Left out: three faults of upstream's that follow an append that fails late. It restores the protocols
    even where a newcomer or a new generation relies on the new ones, and then fails in the vote or on the
    record; where the new id has sent a second JoinGroup it answers the first; where the new id is gone
    the Java coordinator counts the group's protocols wrongly from then on. They are bugs of bookkeeping
    that no protocol should promise; that the member is fenced, which clients do see, is the known
    weakness `weakness.fenced-by-a-failed-restart`.
    """
    change = record.replacement
    if change is None or error is None:
        return ()
    member = None if group is None else group.members.get(change.member_id)
    if group is None or member is None:
        return only(Step(group))
    late = group.generation_id != record.generation_id
    if late and not spec.profile.late_failure_undoes:
        return only(Step(group))
    reply = JoinGroupReply(
        error_code=append_error(spec, error),
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=change.leader or "",
    )
    step = Step(group)
    if not late:
        step = step.answer(member.awaiting_join, reply)
    step = step.answer(member.awaiting_sync, SyncGroupReply(ErrorCode.FENCED_INSTANCE_ID))
    keeps = spec.profile.failed_replacement_keeps_protocols
    back = replace(
        member,
        rebalance_timeout_ms=change.rebalance_timeout_ms,
        session_timeout_ms=change.session_timeout_ms,
        protocols=member.protocols if keeps or not _fits(spec, group, change) else change.protocols,
        awaiting_join=None,
        awaiting_sync=None,
    )
    step = renamed(step, change.member_id, change.former_id, back)
    return only(step.arm(TimerKind.SESSION, change.session_timeout_ms, change.former_id))


def _fits(spec: Spec, group: Group, change: Replacement) -> bool:
    """Whether the former protocols fit the other members: one in common, in a generation the chosen one."""
    others = [member.names for member_id, member in group.members.items() if member_id != change.member_id]
    former = tuple(protocol.name for protocol in change.protocols)
    shared = spec.ask("voting.candidates", [former, *others])
    return bool(shared) if group.state is GroupState.PREPARING_REBALANCE else group.protocol_name in shared
