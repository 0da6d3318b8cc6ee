"""The log's answer to an append, and what its errors are called towards clients.

The record of an assignment is appended by the leader's SyncGroup, that of an Empty group when a join phase
ends with nobody. While an append is under way the group goes on: the answer looks again at state and
generation.
"""

from types import MappingProxyType

from rota.coordinator import join, sync
from rota.coordinator.effects import Outstanding, Step
from rota.coordinator.group import Group, GroupState
from rota.coordinator.messages import ErrorCode

RESPONSE_TO_APPEND_ERROR = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What a client is told about an append that failed; any other error is passed on as it is."""


class UnknownAppendError(ValueError):
    """An answer came for an append that was never asked for, or that was answered before."""


def response_error(append_error: int) -> int:
    """The error code that a client gets for one of the log's."""
    return RESPONSE_TO_APPEND_ERROR.get(append_error, append_error)


def appended(step: Step, group: Group, entry: Outstanding, error_code: int) -> None:
    """The log has written the record, or failed to.

    Nothing happens for an Empty group's record, nor when the group has moved on since. If the leader sent two
    assignments, the one that is acknowledged first is the generation's. After a failure the members are told
    to join again by a new rebalance; the generation's number is not used again.
    """
    if entry.assignments is None or not _still_awaited(group, entry):
        return
    if error_code == ErrorCode.NONE:
        sync.assign(step, group, entry.assignments)
        group.transition_to(GroupState.STABLE)
    else:
        sync.reset_assignments(step, group, response_error(error_code))
        join.prepare_rebalance(step, group)


def _still_awaited(group: Group, entry: Outstanding) -> bool:
    return group.state is GroupState.COMPLETING_REBALANCE and group.generation_id == entry.generation_id
