"""OffsetCommit: who may commit, and what goes to the log.

A commit changes nothing in the group but its sender's session. What becomes of it when the log has answered
stands in `rota.spec.offset_log`, how it is read in `rota.spec.offset_fetch`.
"""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only, request_of
from rota.spec.effects import Reply
from rota.spec.messages import Call
from rota.spec.offset_messages import (
    CommitRequest,
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetRequest,
    commit_reply,
    refused_offsets,
)
from rota.spec.offset_state import (
    NO_PRODUCER,
    Committed,
    OffsetBatch,
    OffsetRecord,
)
from rota.spec.vocabulary import ErrorCode

HANDLER = (
    "hosting.inactive",
    "hosting.loading",
    "hosting.elsewhere",
    "offsets.unknown-group",
    "offsets.commit-without-membership",
    "offsets.rebalance-before-membership",
    "offsets.unknown-member",
    "offsets.fenced-instance-id",
    "offsets.illegal-generation",
    "offsets.rebalance-in-progress",
    "offsets.commit",
)

CHECKS = "upstream ClassicGroup#validateOffsetCommit"
OMM = "upstream OffsetMetadataManager#"


def _request(call: Call) -> OffsetCommitRequest:
    return request_of(call, OffsetCommitRequest)


def refuse(group: Group | None, call: Call, request: OffsetRequest, error: ErrorCode) -> Steps:
    """The whole request fails."""
    return only(Step(group).answer(call.to, refused_offsets(request, error)))


@rule("offsets.unknown-group", source=OMM + "validateOffsetCommit")
def unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A commit with a generation needs a group; which error says so depends on broker and version.

    Left out: per-partition refusals that KafkaApis makes first (TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION). Partitions refused there never reach the coordinator, and if all are it
    is not asked.
    """
    request = _request(call)
    if group is not None or request.generation_id_or_member_epoch < 0:
        return ()
    error = next(code for since, code in spec.profile.absent_group_commit_error if call.version >= since)
    return refuse(group, call, request, error)


@rule("offsets.commit-without-membership", source=CHECKS + "; " + OMM + "validateOffsetCommit")
def commit_without_membership(spec: Spec, group: Group | None, call: Call) -> Steps:
    """While nobody is in the group anybody may commit without a generation, whatever ids it gives.

    Where there is no group, one without a protocol type is made for it (a simple group); it is not
    written to the log by itself.

    Left out: the Java coordinator takes the group back if the offsets cannot be stored. Nothing but the
    answers of the administration could tell, and an expiry removes it.
    """
    empty = group is None or group.state is GroupState.EMPTY
    if _request(call).generation_id_or_member_epoch >= 0 or not empty:
        return ()
    return only(committed(spec, Step(group or Group()), call, _request(call)))


@rule("offsets.rebalance-before-membership", source="upstream GroupCoordinator#doCommitOffsets (before 2.5)")
def rebalance_before_membership(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Old brokers refuse a commit in CompletingRebalance before they look at its sender.

    Nothing is left out: it is one check in another place, and whoever is told to rejoin by mistake learns
    from its JoinGroup that it is no member.
    """
    if not spec.profile.completing_told_before_membership or not _completing(group):
        return ()
    return refuse(group, call, _request(call), ErrorCode.REBALANCE_IN_PROGRESS)


def _completing(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.COMPLETING_REBALANCE


def member_error(spec: Spec, group: Group | None, request: CommitRequest) -> ErrorCode:
    """Whether the sender of a commit may speak for itself."""
    error: ErrorCode = spec.ask("static.validate", group, request.member_id, request.group_instance_id)
    return error


@rule("offsets.unknown-member", source=CHECKS)
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A commit of someone who is no member is refused, also one without any id while the group has members.

    Left out: COORDINATOR_NOT_AVAILABLE for a commit that meets a Dead group. The model has no such group
    (`GroupState.DEAD`): it is there or it is not.
    """
    if member_error(spec, group, _request(call)) is not ErrorCode.UNKNOWN_MEMBER_ID:
        return ()
    return refuse(group, call, _request(call), ErrorCode.UNKNOWN_MEMBER_ID)


@rule("offsets.fenced-instance-id", source="KIP-345; " + CHECKS, since="OffsetCommit v7")
def fenced_instance_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A commit with an instance id that another member id holds is fenced, each of its partitions.

    Nothing is left out: no offset of a fenced process is stored and no session starts anew, so its
    successor's commits are not overwritten.
    """
    if member_error(spec, group, _request(call)) is not ErrorCode.FENCED_INSTANCE_ID:
        return ()
    return refuse(group, call, _request(call), ErrorCode.FENCED_INSTANCE_ID)


@rule("offsets.illegal-generation", source=CHECKS)
def illegal_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member must name the current generation: in PreparingRebalance that is still the old one.

    Left out: the member epoch that version 9 puts into the same field (KIP-848). In a classic group it is
    always a generation.
    """
    if group is None or _request(call).generation_id_or_member_epoch == group.generation_id:
        return ()
    return refuse(group, call, _request(call), ErrorCode.ILLEGAL_GENERATION)


@rule("offsets.rebalance-in-progress", source=CHECKS)
def rebalance_in_progress(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance nobody has an assignment yet that it could commit for; no timer is touched.

    Nothing is left out: the sender has been found to be a member of the current generation, so it knows
    of the rebalance and can retry the commit when it has synced.
    """
    if not _completing(group):
        return ()
    return refuse(group, call, _request(call), ErrorCode.REBALANCE_IN_PROGRESS)


@rule("offsets.commit", source=OMM + "commitOffset")
def commit(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member of the current generation commits in Stable or PreparingRebalance.

    It is a sign of life like a heartbeat, also where no offset of it can be stored.

    Left out: whether the member was assigned the partitions it commits, and whether offsets go backwards.
    Brokers check neither; that clients commit only what they consume is a property of theirs
    (`client.commits-its-own`).
    """
    if group is None:
        return ()
    request = _request(call)
    member = group.members[request.member_id]
    kind = TimerKind.NEW_MEMBER if member.is_new else TimerKind.SESSION
    step = Step(group).arm(kind, member.session_timeout_ms, request.member_id)
    return only(committed(spec, step, call, request))


@rule("offsets.metadata-too-large", source=OMM + "isMetadataInvalid", decides=True)
def metadata_too_large(metadata: str | None, limit: int) -> bool:
    """Metadata are measured in UTF-16 code units, though the setting (offset.metadata.max.bytes) says bytes.

    Parameters: limit, the most that is allowed.

    Nothing is left out: String#length of upstream's is what is computed here, from whatever text the
    request could carry, and None counts as empty.
    """
    return len((metadata or "").encode("utf-16-le", "surrogatepass")) // 2 > limit


def committed(
    spec: Spec, step: Step, call: Call, request: CommitRequest, producer_id: int = NO_PRODUCER
) -> Step:
    """The offsets of a commit go to the log, and the answer waits for it.

    A partition with too much metadata gets its error in the answer and no record; if no record is left the
    answer does not wait.
    """
    limit = spec.config.offset_metadata_max_bytes

    def error_of(each: OffsetCommitPartition) -> ErrorCode:
        too_large = spec.ask("offsets.metadata-too-large", each.committed_metadata, limit)
        return ErrorCode.OFFSET_METADATA_TOO_LARGE if too_large else ErrorCode.NONE

    records = tuple(
        OffsetRecord(topic.name, each.partition_index, _value(request, each, call.now_ms), producer_id)
        for topic in request.topics
        for each in topic.partitions
        if error_of(each) is ErrorCode.NONE
    )
    message = commit_reply(request, error_of)
    if not records:
        return step.answer(call.to, message)
    return step.tell_offsets(OffsetBatch(records, Reply(call.to, message)))


def _value(request: CommitRequest, partition: OffsetCommitPartition, now_ms: int) -> Committed:
    """What is stored; a commit timestamp of its own (version 1) and a retention (2 to 4) where given."""
    retention_ms = request.retention_time_ms if isinstance(request, OffsetCommitRequest) else -1
    return Committed(
        committed_offset=partition.committed_offset,
        committed_leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=now_ms if partition.commit_timestamp == -1 else partition.commit_timestamp,
        expire_timestamp_ms=None if retention_ms == -1 else now_ms + retention_ms,
    )
