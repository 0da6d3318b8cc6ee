"""Commits and fetches of offsets, fenced by the member's epoch. The offsets themselves are kept elsewhere."""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.consumer.context import ConsumerSpec, request_of
from rota.spec.consumer.group import AnyGroup, ClassicGroup, ConsumerGroup
from rota.spec.consumer.messages import (
    Call,
    ErrorReply,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from rota.spec.consumer.state import partitions
from rota.spec.consumer.step import Step, Steps
from rota.spec.consumer.vocabulary import ErrorCode

COMMIT_HANDLER = (
    "offsets.commit-without-group",
    "offsets.first-of-a-simple-group",
    "offsets.commit-while-empty",
    "offsets.commit-of-nobody",
    "offsets.commit-too-old-a-version",
    "offsets.commit-ahead",
    "offsets.commit-stale",
    "offsets.commit",
)
FETCH_HANDLER = ("offsets.fetch-unnamed", "offsets.fetch-of-nobody", "offsets.fetch-stale", "offsets.fetch")
DELETE_HANDLER = ("offsets.delete-subscribed", "offsets.delete")

VALIDATE = "upstream ConsumerGroup#validateOffsetCommit"
FETCHED = "upstream ConsumerGroup#validateOffsetFetch"
NEWEST_WITHOUT_MEMBER_EPOCHS = 8


def _commit(call: Call) -> OffsetCommitRequest:
    return request_of(call, OffsetCommitRequest)


def _fetch(call: Call) -> OffsetFetchRequest:
    return request_of(call, OffsetFetchRequest)


def _told(group: AnyGroup | None, call: Call, error: ErrorCode) -> Steps:
    return (Step(group, at_once=True).answer(call.to, ErrorReply(error)),)


def _stored(group: AnyGroup | None, call: Call) -> Steps:
    step = Step(group, stores=_commit(call).partitions)
    return (step.answer(call.to, ErrorReply(ErrorCode.NONE)),)


@rule("offsets.commit-without-group", source="upstream OffsetMetadataManager#validateOffsetCommit")
def commit_without_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Without a group a commit at an epoch finds none, which older versions call another generation."""
    if group is not None or _commit(call).member_epoch < 0:
        return ()
    old = call.version <= NEWEST_WITHOUT_MEMBER_EPOCHS
    return _told(group, call, ErrorCode.ILLEGAL_GENERATION if old else ErrorCode.GROUP_ID_NOT_FOUND)


@rule("offsets.first-of-a-simple-group", source="upstream OffsetMetadataManager#validateOffsetCommit")
def first_of_a_simple_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A commit without an epoch makes a classic group without members, or is to one.

    Left out: commits to classic groups with members, which are that protocol's own.
    """
    if isinstance(group, ConsumerGroup):
        return ()
    return _stored(ClassicGroup(empty=True), call)


@rule("offsets.commit-while-empty", source=VALIDATE)
def commit_while_empty(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """An empty group takes a commit without an epoch from anybody."""
    if not isinstance(group, ConsumerGroup) or group.members or _commit(call).member_epoch >= 0:
        return ()
    return _stored(group, call)


@rule("offsets.commit-of-nobody", source=VALIDATE)
def commit_of_nobody(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Else only members commit."""
    if isinstance(group, ConsumerGroup) and _commit(call).member_id in group.members:
        return ()
    return _told(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule("offsets.commit-too-old-a-version", source=VALIDATE)
def commit_too_old_a_version(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A member of this protocol commits by a version that knows member epochs."""
    if call.version > NEWEST_WITHOUT_MEMBER_EPOCHS:
        return ()
    return _told(group, call, ErrorCode.UNSUPPORTED_VERSION)


@rule("offsets.commit-ahead", source=VALIDATE)
def commit_ahead(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A commit at an epoch that the member has not reached is stale, too."""
    asked = _commit(call)
    if not isinstance(group, ConsumerGroup) or asked.member_epoch <= group.current[asked.member_id].epoch:
        return ()
    return _told(group, call, ErrorCode.STALE_MEMBER_EPOCH)


@rule("offsets.commit-stale", source="KIP-1251, " + VALIDATE)
def commit_stale(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """At an older epoch a member commits what it has had since then; one partition too new fails all.

    What it was told to give up it still has. At its own epoch nobody asks what it has.

    Left out: metadata that are too long, which fail their partition alone.
    """
    asked = _commit(call)
    if not isinstance(group, ConsumerGroup) or asked.member_epoch == group.current[asked.member_id].epoch:
        return ()
    now = group.current[asked.member_id]
    had = partitions(frozenset(one for one in now.assigned | now.pending if one.epoch <= asked.member_epoch))
    if had.issuperset(asked.partitions):
        return ()
    return _told(group, call, ErrorCode.STALE_MEMBER_EPOCH)


@rule("offsets.commit", source="upstream OffsetMetadataManager#commitOffset")
def commit(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A commit that nothing speaks against is stored; the session's timer does not hear of it."""
    return _stored(group, call)


@rule("offsets.fetch-unnamed", source=FETCHED)
def fetch_unnamed(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A fetch that names nobody is not checked, and without such a group none is."""
    asked = _fetch(call)
    if isinstance(group, ConsumerGroup) and (asked.member_id is not None or asked.member_epoch >= 0):
        return ()
    return _told(group, call, ErrorCode.NONE)


@rule("offsets.fetch-of-nobody", source=FETCHED)
def fetch_of_nobody(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A fetch that names a member names one that is there."""
    if isinstance(group, ConsumerGroup) and _fetch(call).member_id in group.members:
        return ()
    return _told(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule("offsets.fetch-stale", source=FETCHED)
def fetch_stale(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A fetch names the member's very epoch; the newer rule for commits is not for it."""
    asked = _fetch(call)
    if isinstance(group, ConsumerGroup) and group.current[str(asked.member_id)].epoch == asked.member_epoch:
        return ()
    return _told(group, call, ErrorCode.STALE_MEMBER_EPOCH)


@rule("offsets.fetch", source="upstream OffsetMetadataManager#fetchOffsets")
def fetch(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A member at its epoch is told the offsets."""
    return _told(group, call, ErrorCode.NONE)


@rule("offsets.delete-subscribed", source="upstream OffsetMetadataManager#deleteOffsets")
def delete_subscribed(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Offsets of a topic stay as long as a member subscribes to it."""
    members = group.members.values() if isinstance(group, ConsumerGroup) else ()
    topic = request_of(call, OffsetDeleteRequest).topic
    if not any(topic in one.subscribed_topic_names for one in members):
        return ()
    return (Step(group).answer(call.to, ErrorReply(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)),)


@rule("offsets.delete", source="upstream OffsetMetadataManager#deleteOffsets")
def delete(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Other offsets are deleted, in whatever state the group is."""
    step = Step(group, forgets=request_of(call, OffsetDeleteRequest).topic)
    return (step.answer(call.to, ErrorReply(ErrorCode.NONE)),)
