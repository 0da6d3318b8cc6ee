"""Whether an answer that was seen is one that the spec gives.

Compared is what the request's version carries. Lists of members and of topics are sets. An id that is not
known yet agrees with any that nobody has, and is known from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from rota.kernel import frozen, replace
from rota.kernel.structs import Frozen, parts_of
from rota.linearise.ids import is_unknown
from rota.spec import JoinGroupReply, MemberMetadata, SyncGroupReply
from rota.spec.admin_messages import DescribedMember, DescribeGroupsReply, ListGroupsReply
from rota.spec.consumer.messages import Described
from rota.spec.messages import ReplyMessage
from rota.spec.offset_messages import (
    FetchedPartition,
    FetchedTopic,
    OffsetCommitReply,
    OffsetDeleteReply,
    OffsetFetchReply,
    TxnOffsetCommitReply,
)
from rota.spec.versions import as_sent
from rota.spec.vocabulary import ErrorCode

Names = Mapping[str, str]
"""Name of an unknown id → the id."""

INSTANCE_IDS_SINCE = {JoinGroupReply: 5, DescribeGroupsReply: 4}
TOP_ERROR_SINCE = 2
"""The OffsetFetch version whose answer has an error for the whole; before it each partition tells it."""

LEADER_EPOCHS_SINCE = 5
"""The OffsetFetch version whose answer has leader epochs."""

Reply = Any
"""A reply of any kind, once its kind is looked at."""


@frozen
class AnyAnswer(ReplyMessage):
    """An answer of which no more is known than that it has one of these errors, or nothing at all."""

    errors: frozenset[ErrorCode] = frozenset()

    def agrees(self, seen: Any) -> bool:
        """Whether an answer that was seen may be it."""
        return not self.errors or any(one in self.errors for one in errors_in(seen))


def errors_in(value: Any) -> Iterator[ErrorCode]:
    """Every error that stands somewhere in an answer."""
    if isinstance(value, ErrorCode):
        yield value
    elif isinstance(value, Frozen):
        for part in parts_of(value):
            yield from errors_in(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from errors_in(part)


def comparable(reply: ReplyMessage, version: int) -> ReplyMessage:
    """An answer of the spec's or of a coordinator's, with what a version carries, lists in one order."""
    sent: Reply = as_sent(reply, version)
    if isinstance(sent, JoinGroupReply):
        sent = _join(sent, version)
    elif isinstance(sent, SyncGroupReply) and version < 5:
        sent = replace(sent, protocol_type=None, protocol_name=None)
    elif isinstance(sent, DescribeGroupsReply):
        sent = replace(sent, members=_without_instances(sent, version))
    elif isinstance(sent, ListGroupsReply):
        sent = replace(sent, groups=tuple(_listed(line, version) for line in sent.groups))
    elif isinstance(sent, OffsetFetchReply):
        sent = _fetched(sent, version)
    elif isinstance(sent, OffsetCommitReply | TxnOffsetCommitReply | OffsetDeleteReply):
        sent = replace(sent, topics=_sorted_topics(sent.topics))
    message: ReplyMessage = sent
    return message


def _join(reply: JoinGroupReply, version: int) -> JoinGroupReply:
    reply = replace(reply, members=_without_instances(reply, version))
    if version < 7:
        reply = replace(reply, protocol_type=None)
    return reply if version >= 9 else replace(reply, skip_assignment=False)


def _without_instances(reply: JoinGroupReply | DescribeGroupsReply, version: int) -> tuple[Any, ...]:
    members: tuple[Any, ...] = reply.members
    if version >= INSTANCE_IDS_SINCE[type(reply)]:
        return members
    return tuple(replace(member, group_instance_id=None) for member in members)


def _listed(line: Any, version: int) -> Any:
    if version < 5:
        line = replace(line, group_type="")
    return line if version >= 4 else replace(line, group_state="")


def _fetched(reply: OffsetFetchReply, version: int) -> OffsetFetchReply:
    topics = tuple(
        FetchedTopic(topic.name, tuple(_of_partition(one, version) for one in topic.partitions))
        for topic in reply.topics
    )
    errors = {one.error_code for topic in topics for one in topic.partitions}
    if version < TOP_ERROR_SINCE and len(errors) == 1 and ErrorCode.NONE not in errors:
        return OffsetFetchReply(next(iter(errors)))
    return replace(reply, topics=_sorted_topics(topics))


def _of_partition(one: FetchedPartition, version: int) -> FetchedPartition:
    one = replace(one, metadata=one.metadata or "")
    return one if version >= LEADER_EPOCHS_SINCE else replace(one, committed_leader_epoch=-1)


def _sorted_topics(topics: tuple[Any, ...]) -> tuple[Any, ...]:
    ordered = (
        replace(topic, partitions=tuple(sorted(topic.partitions, key=lambda one: one.partition_index)))
        for topic in topics
    )
    return tuple(sorted(ordered, key=lambda topic: topic.name))


def agreements(wanted: Any, seen: Any, taken: Collection[str]) -> Iterator[Names]:
    """Every way in which a comparable answer of the spec's can be the one that was seen.

    taken: ids that somebody has, which no unknown one can be.
    """
    return _agree(wanted, seen, {}, taken)


def _agree(wanted: Any, seen: Any, names: Names, taken: Collection[str]) -> Iterator[Names]:
    if is_unknown(wanted):
        yield from _named(wanted, seen, names, taken)
    elif isinstance(wanted, AnyAnswer):
        if wanted.agrees(seen):
            yield names
    elif isinstance(wanted, Frozen):
        if type(wanted) is type(seen):
            yield from _each(parts_of(wanted), parts_of(seen), names, taken)
    elif (
        isinstance(wanted, tuple)
        and wanted
        and isinstance(wanted[0], MemberMetadata | DescribedMember | Described)
    ):
        if isinstance(seen, tuple) and len(seen) == len(wanted):
            known_first = sorted(wanted, key=lambda member: is_unknown(member.member_id))
            yield from _in_some_order(known_first, list(seen), names, taken)
    elif isinstance(wanted, tuple):
        if isinstance(seen, tuple) and len(seen) == len(wanted):
            yield from _each(wanted, seen, names, taken)
    elif wanted == seen:
        yield names


def _named(wanted: str, seen: Any, names: Names, taken: Collection[str]) -> Iterator[Names]:
    if wanted in names:
        if names[wanted] == seen:
            yield names
    elif isinstance(seen, str) and seen and seen not in taken and seen not in names.values():
        yield {**names, wanted: seen}


def _each(
    wanted: Sequence[Any], seen: Sequence[Any], names: Names, taken: Collection[str]
) -> Iterator[Names]:
    if not wanted:
        yield names
        return
    for found in _agree(wanted[0], seen[0], names, taken):
        yield from _each(wanted[1:], seen[1:], found, taken)


def _in_some_order(
    wanted: Sequence[Any], seen: Sequence[Any], names: Names, taken: Collection[str]
) -> Iterator[Names]:
    if not wanted:
        yield names
        return
    for at, one in enumerate(seen):
        for found in _agree(wanted[0], one, names, taken):
            yield from _in_some_order(wanted[1:], [*seen[:at], *seen[at + 1 :]], found, taken)


def differences(wanted: ReplyMessage, seen: ReplyMessage) -> tuple[tuple[str, Any, Any], ...]:
    """(field, wanted, seen) wherever two comparable answers differ; another kind of answer differs in all."""
    mine = _by_name(wanted)
    theirs = _by_name(seen) if type(seen) is type(wanted) else {}
    return tuple(
        (name, value, theirs.get(name))
        for name, value in mine.items()
        if name not in theirs or not any(True for _ in agreements(value, theirs[name], ()))
    )


def _by_name(reply: Any) -> dict[str, Any]:
    return {one.name: getattr(reply, one.name) for one in fields(reply)}
