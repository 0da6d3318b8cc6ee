"""The retry rules of Kafka's client: what it does about each answer.

Source: upstream AbstractCoordinator (JoinGroupResponseHandler, SyncGroupResponseHandler,
HeartbeatResponseHandler), ConsumerCoordinator (OffsetCommitResponseHandler, OffsetFetchResponseHandler),
facts of October 2024. Where upstream asks whether the generation has changed since a request was sent: it
has not, as a client of the model has one request at a time. That a client looks for the coordinator anew is
in `rota.environment.clients.lookup`.
"""

from __future__ import annotations

from collections.abc import Mapping

from rota.kernel import Word
from rota.spec import ErrorCode, HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from rota.spec.offset_messages import OffsetCommitReply, OffsetFetchReply

Answer = (
    JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply | OffsetCommitReply | OffsetFetchReply
)
"""What a client may wait for."""


class Reaction(Word):
    """What a client does about an answer."""

    GO_ON = "takes the answer, or does without, and goes on"
    AGAIN = "asks again"
    ADOPT = "takes the member id that it is given and joins again with it"
    REJOIN = "joins again, with id and generation as they are"
    SOFT = "forgets its generation and joins again with its id"
    FULL = "forgets its id and joins again as a new member"
    FAIL = "raises an error to the application and ends"


Reactions = Mapping[ErrorCode, Reaction]

JOIN: Reactions = {
    ErrorCode.NONE: Reaction.GO_ON,
    ErrorCode.MEMBER_ID_REQUIRED: Reaction.ADOPT,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.REJOIN,
    ErrorCode.NOT_COORDINATOR: Reaction.REJOIN,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.FULL,
}

SYNC: Reactions = {
    ErrorCode.NONE: Reaction.GO_ON,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.REJOIN,
    ErrorCode.NOT_COORDINATOR: Reaction.REJOIN,
    ErrorCode.ILLEGAL_GENERATION: Reaction.SOFT,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.FULL,
}
"""COORDINATOR_LOAD_IN_PROGRESS is not in it: upstream's client takes it for a fatal error."""

HEARTBEAT: Reactions = {
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.ILLEGAL_GENERATION: Reaction.SOFT,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.FULL,
    ErrorCode.FENCED_INSTANCE_ID: Reaction.FAIL,
}
"""Any other error counts as a heartbeat that was missed."""

COMMIT: Reactions = {
    ErrorCode.NONE: Reaction.GO_ON,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.GO_ON,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.GO_ON,
    ErrorCode.NOT_COORDINATOR: Reaction.GO_ON,
    ErrorCode.REQUEST_TIMED_OUT: Reaction.GO_ON,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.ILLEGAL_GENERATION: Reaction.SOFT,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.FULL,
}
"""A commit is not repeated (commitAsync); FENCED_INSTANCE_ID and whatever says that it can never succeed is
fatal."""

FETCH: Reactions = {
    ErrorCode.NONE: Reaction.GO_ON,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: Reaction.AGAIN,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.AGAIN,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.AGAIN,
    ErrorCode.NOT_COORDINATOR: Reaction.AGAIN,
}

TABLES: Mapping[type[Answer], tuple[Reactions, Reaction]] = {
    JoinGroupReply: (JOIN, Reaction.FAIL),
    SyncGroupReply: (SYNC, Reaction.FAIL),
    HeartbeatReply: (HEARTBEAT, Reaction.GO_ON),
    LeaveGroupReply: ({}, Reaction.GO_ON),
    OffsetCommitReply: (COMMIT, Reaction.FAIL),
    OffsetFetchReply: (FETCH, Reaction.FAIL),
}
"""Kind of answer -> (what is done about an error, what about any that is not listed)."""


def error_of(reply: Answer) -> ErrorCode:
    """The error of an answer: the one for the whole, else the first of a partition."""
    if isinstance(reply, OffsetCommitReply):
        errors = [line.error_code for topic in reply.topics for line in topic.partitions]
    elif isinstance(reply, OffsetFetchReply):
        lines = [line.error_code for topic in reply.topics for line in topic.partitions]
        errors = [reply.error_code, *lines]
    else:
        errors = [reply.error_code]
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)


def reaction(reply: Answer) -> Reaction:
    """What a client does about an answer."""
    table, otherwise = TABLES[type(reply)]
    return table.get(error_of(reply), otherwise)


def before_joining(react: Reaction) -> Reaction:
    """What a client does about the answer to the commit that it makes before it joins again.

    It joins whatever the answer says; what matters is only whether its generation or its member id is still
    good. If it has been fenced, the JoinGroup will be told so. Upstream repeats a commit that may yet succeed
    until the rebalance timeout is over; to give up at once is what it does when nothing of that time is left.
    Source: ConsumerCoordinator#onJoinPrepare.
    """
    return react if react in (Reaction.SOFT, Reaction.FULL) else Reaction.REJOIN
