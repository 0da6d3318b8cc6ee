"""Histories with one thing changed: an answer says something else, is missing, or comes at another time."""

from __future__ import annotations

from dataclasses import replace as rebuilt
from random import Random

from rota.kernel import replace
from rota.linearise import Answered, Broken, History
from rota.spec import ErrorCode, HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from rota.spec.admin_messages import DeleteGroupsReply, DescribeGroupsReply
from rota.spec.offset_messages import FetchedPartition, OffsetFetchReply

CODES = (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)


def altered(history: History, random: Random) -> History:
    """The history with one change, which may be none that matters."""
    events = [*history.events]
    places = [at for at, event in enumerate(events) if isinstance(event, Answered)]
    if not places:
        return history
    at = random.choice(places)
    event = events[at]
    how = random.random()
    if how < 0.15:
        del events[at]
    elif how < 0.3:
        later = random.randrange(at, len(events))
        if any(isinstance(one, Broken) for one in events[at : later + 1]):
            return history
        moved = rebuilt(event, at=events[later].at)
        events = [*events[:at], *events[at + 1 : later + 1], moved, *events[later + 1 :]]
    elif how < 0.4:
        shift = random.choice((0.5, 1.0, 2.0))
        events = [one if i < at else rebuilt(one, at=one.at + shift) for i, one in enumerate(events)]
    else:
        events[at] = rebuilt(event, reply=_otherwise(event.reply, random))
    return rebuilt(history, events=tuple(events))


def _otherwise(reply, random):
    if isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.NONE and random.random() < 0.8:
        changes = [{"generation_id": reply.generation_id + random.choice((-1, 1))}, {"leader": "nobody"}]
        changes += [{"members": reply.members[1:]}] if reply.members else [{"protocol_name": "other"}]
        return replace(reply, **random.choice(changes))
    if isinstance(reply, SyncGroupReply) and reply.error_code is ErrorCode.NONE and random.random() < 0.5:
        return replace(reply, assignment=reply.assignment + b"?")
    if isinstance(reply, DescribeGroupsReply):
        if reply.members and random.random() < 0.5:
            return replace(reply, members=reply.members[1:])
        states = ("Dead", "Empty", "PreparingRebalance", "Stable", "CompletingRebalance")
        return replace(reply, group_state=random.choice(states))
    if isinstance(reply, OffsetFetchReply) and reply.topics:
        return replace(reply, topics=(replace(reply.topics[0], partitions=(FetchedPartition(0, 3),)),))
    if isinstance(
        reply, HeartbeatReply | JoinGroupReply | SyncGroupReply | LeaveGroupReply | DeleteGroupsReply
    ):
        return replace(reply, error_code=random.choice(CODES))
    return reply
