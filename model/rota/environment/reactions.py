"""The retry rules of Kafka's client: what it does about each answer.

Source: upstream AbstractCoordinator (JoinGroupResponseHandler, SyncGroupResponseHandler,
HeartbeatResponseHandler), ConsumerCoordinator (OffsetCommitResponseHandler, OffsetFetchResponseHandler),
facts of October 2024. Where upstream asks whether the generation has changed since a request was sent: it
has not, as a client of the model has one request at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from rota.spec import ErrorCode, HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from rota.spec.messages import ReplyMessage


class Reaction(Enum):
    """What a client does about an answer.

    Finding the coordinator anew is not shown: there is one address for whatever broker it is.
    """

    GO_ON = "takes the answer and goes on"
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

TABLES: Mapping[type[ReplyMessage], tuple[Reactions, Reaction]] = {
    JoinGroupReply: (JOIN, Reaction.FAIL),
    SyncGroupReply: (SYNC, Reaction.FAIL),
    HeartbeatReply: (HEARTBEAT, Reaction.GO_ON),
    LeaveGroupReply: ({}, Reaction.GO_ON),
}
"""Kind of answer -> (what is done about an error, what about any that is not listed)."""


def reaction(reply: ReplyMessage) -> Reaction:
    """What a client does about an answer."""
    table, otherwise = TABLES[type(reply)]
    return table.get(reply.error_code, otherwise)
