"""What becomes of a group when another broker begins to lead its partition: read from the log, or given up.

Only what was written survives: members and assignments of the last generation that the log has, each member
with the one protocol that was chosen. Rebalances under way, ids that were handed out, and generations that
were never written are lost, and their numbers are used again.
"""

from __future__ import annotations

from rota.kernel import FrozenMap, replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import JoinGroupReply, ProtocolMetadata, SyncGroupReply
from rota.spec.classic.rebalance import GMM, subscriptions
from rota.spec.classic.records import GroupRecord, MemberRecord
from rota.spec.classic.state import Group, Member
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.context import Spec, only
from rota.spec.vocabulary import AppendError, ErrorCode

LOAD_HANDLER = ("loading.over-capacity", "loading.load")
UNLOAD_HANDLER = ("loading.unload",)


@rule("loading.load", source=GMM + "replay, onLoaded")
def load(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """The group is as its last record says: Stable if it has members, else Empty; all sessions begin.

    Without a record there is no group: it was never written (the Scala coordinator does not write a group
    that is created) or it was deleted. Every list of protocols is only the chosen one. A rebalance
    timeout that an old record lacks (-1) is the session timeout.

    Left out: offsets, which are loaded beside the group and need none (`offsets.simple-group`), and
    record versions that a broker does not know, which upstream skips. The log of the model holds what
    these brokers write.
    """
    if record is None:
        return only(Step(None))
    members = FrozenMap(
        (line.member_id, _member(line, record.protocol_name or "")) for line in record.members
    )
    loaded = Group(
        state=GroupState.STABLE if members else GroupState.EMPTY,
        generation_id=record.generation_id,
        protocol_type=record.protocol_type or None,
        protocol_name=record.protocol_name,
        leader=record.leader,
        members=members,
    )
    step = Step(replace(loaded, subscriptions=subscriptions(loaded)))
    for member_id, member in members.items():
        step = step.arm(TimerKind.SESSION, member.session_timeout_ms, member_id)
    return only(step)


def _member(line: MemberRecord, protocol_name: str) -> Member:
    rebalance, session = line.rebalance_timeout_ms, line.session_timeout_ms
    return Member(
        rebalance_timeout_ms=session if rebalance == -1 else rebalance,
        session_timeout_ms=session,
        protocols=(ProtocolMetadata(protocol_name, line.subscription),),
        assignment=line.assignment,
        group_instance_id=line.group_instance_id,
    )


@rule("loading.over-capacity", source=GMM + "onLoaded; KIP-389")
def over_capacity(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """More members than the limit, which was lowered meanwhile: the group rebalances at once.

    Nobody is removed here; who joins again too late for a place is refused.

    Nothing is left out: sessions are armed before the rebalance begins, as in
    GroupMetadataManager#onLoaded, so a member that does not come back is removed by the end of the phase
    or by its session, whichever is first.
    """
    if record is None or not spec.profile.size_limit or len(record.members) <= spec.config.group_max_size:
        return ()
    loaded = spec.apply("loading.load", group, record)
    return spec.then(loaded, "join.prepare-rebalance")


@rule("loading.unload", source=GMM + "onUnloaded; upstream CoordinatorRuntime.CoordinatorContext#unload")
def unload(spec: Spec, group: Group | None, unanswered: tuple[GroupRecord, ...]) -> Steps:
    """The broker does not lead the partition any more: it forgets the group, and who waits is told so.

    Answers that wait for the log come first, as if it had said that another broker leads, though the next
    coordinator may find the record. Then parked JoinGroups get NOT_COORDINATOR with their own id, parked
    SyncGroups without anything, and all timers stop. While the creation of the group is not stored nobody
    is told an id.

    Left out: upstream fails every append that is in flight, also those for which nobody waits. These
    failures would change a group that is forgotten in the same step.
    """
    steps = only(Step(group))
    for record in unanswered:
        if record.answer or record.replacement or record.kind is RecordKind.CREATION:
            steps = tuple(after for step in steps for after in _fails(spec, step, record))
    return tuple(dict.fromkeys(_given_up(step) for step in steps))


def _fails(spec: Spec, step: Step, record: GroupRecord) -> Steps:
    failed = spec.appended(step.group, record, AppendError.NOT_LEADER_OR_FOLLOWER)
    return tuple(
        Step(
            after.group,
            replies=step.replies + after.replies,
            timers=step.timers + after.timers,
            rules=step.rules + after.rules,
        )
        for after in failed
    )


def _given_up(step: Step) -> Step:
    group = step.group
    if group is None:
        return step
    error = ErrorCode.NOT_COORDINATOR
    for kind in (TimerKind.INITIAL_JOIN, TimerKind.JOIN, TimerKind.SYNC):
        step = step.cancel(kind)
    for member_id in sorted(group.pending):
        step = step.cancel(TimerKind.PENDING, member_id)
    for member_id, member in group.members.items():
        step = step.cancel(TimerKind.SESSION, member_id).cancel(TimerKind.NEW_MEMBER, member_id)
        step = step.answer(member.awaiting_join, JoinGroupReply(error, member_id=member_id))
        step = step.answer(member.awaiting_sync, SyncGroupReply(error))
    return Step(None, replies=step.replies, timers=step.timers, rules=step.rules)
