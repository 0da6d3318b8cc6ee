"""Answers by the consumer protocol in one order, with what their version carries."""

from __future__ import annotations

from typing import Any

from rota.kernel import replace
from rota.linearise.consumer.requests import Committed
from rota.spec.consumer.messages import ConsumerGroupDescribeReply, Listed
from rota.spec.consumer.vocabulary import GroupState

STATES_SINCE, TYPES_SINCE = 4, 5
"""The first versions of ListGroups whose answers have states and types."""


def comparable(reply: Any, version: int) -> Any:
    """An answer of the spec's or of a coordinator's."""
    if isinstance(reply, ConsumerGroupDescribeReply):
        return replace(reply, members=tuple(sorted(reply.members, key=lambda one: str(one.member_id))))
    if isinstance(reply, Committed):
        return replace(reply, partitions=tuple(sorted(reply.partitions)))
    if isinstance(reply, Listed):
        if reply.group_state is None:
            return Listed(None, "")
        state = reply.group_state if version >= STATES_SINCE else GroupState.EMPTY
        return Listed(state, reply.group_type if version >= TYPES_SINCE else "")
    return reply
