"""What older versions of a request say, and what their answers can say.

The rules speak the newest version; these two functions translate what comes in and what goes out.
"""

from __future__ import annotations

from rota.kernel import replace
from rota.spec.classic.messages import JoinGroupReply, JoinGroupRequest, LeaveGroupReply
from rota.spec.messages import Call, ReplyMessage
from rota.spec.offset_messages import TxnOffsetCommitReply, with_errors
from rota.spec.vocabulary import ErrorCode


def as_received(call: Call) -> Call:
    """A request in the terms of the newest version.

    JoinGroup v0 has no rebalance timeout, the session timeout stands in. Source: upstream
    JoinGroupRequest (constructor).
    """
    request = call.request
    if isinstance(request, JoinGroupRequest) and call.version == 0:
        return replace(call, request=replace(request, rebalance_timeout_ms=request.session_timeout_ms))
    return call


def as_sent(reply: ReplyMessage, version: int) -> ReplyMessage:
    """An answer as the request's version can carry it.

    JoinGroup: no protocol name is "" below v7 and null from there on. LeaveGroup: below v3 the member's
    error is the only one. TxnOffsetCommit: below v2 nobody is told of loading. Source: upstream
    JoinGroupResponse, LeaveGroupResponse (constructors), KafkaApis#handleTxnOffsetCommitRequest.
    """
    if isinstance(reply, JoinGroupReply):
        return replace(
            reply, protocol_name=(reply.protocol_name or "") if version < 7 else reply.protocol_name
        )
    if isinstance(reply, LeaveGroupReply) and version < 3:
        errors = (reply.error_code, *(outcome.error_code for outcome in reply.members))
        return LeaveGroupReply(next((e for e in errors if e is not ErrorCode.NONE), ErrorCode.NONE))
    if isinstance(reply, TxnOffsetCommitReply) and version < 2:
        loading, instead = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE
        return TxnOffsetCommitReply(with_errors(reply.topics, lambda e: instead if e is loading else e))
    return reply
