"""The log's answer to an append, and what its errors are called towards clients.

The record of an assignment is appended by the leader's SyncGroup, that of an Empty group when a join phase
ends with nobody, another one when a JoinGroup makes a group or brings a static member back. Until
the log has answered the group goes on: the answer looks again at what there is then.
"""

from types import MappingProxyType

from rota.coordinator import loading, rebalance, static, sync
from rota.coordinator.group import Group, GroupState
from rota.coordinator.ledger import Assigned, Created, Outstanding, Replaced
from rota.coordinator.messages import ErrorCode, LeaveGroupReply
from rota.coordinator.step import Step

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
"""The error of an append that failed → the error code in the response; any other is passed on as it is."""


class UnknownAppendError(ValueError):
    """An answer came for an append that was never asked for, or that was answered before."""


def response_error(append_error: int) -> int:
    """The error code that a client gets for one of the log's."""
    return RESPONSE_TO_APPEND_ERROR.get(append_error, append_error)


def appended(step: Step, groups: dict[str, Group], entry: Outstanding, error_code: int) -> None:
    """The log has written a group's record, or failed to: what that means to the group, and to a LeaveGroup.

    A LeaveGroup that emptied the group fails as a whole, though its members are gone.
    """
    error = response_error(error_code)
    group = groups.get(entry.group_id)
    if group is not None:
        _dispatch(step, groups, group, entry, error)
    if entry.leaving is not None:
        parked, reply = entry.leaving
        step.reply(parked, reply if error == ErrorCode.NONE else LeaveGroupReply(error))


def _dispatch(step: Step, groups: dict[str, Group], group: Group, entry: Outstanding, error: int) -> None:
    if isinstance(entry.about, Assigned):
        _assignment_answered(step, group, entry.about, error)
    elif isinstance(entry.about, Replaced):
        static.replacement_answered(step, group, entry.about, error)
    elif isinstance(entry.about, Created) and error != ErrorCode.NONE:
        _undo_creation(step, groups, group, error)


def _assignment_answered(step: Step, group: Group, entry: Assigned, error: int) -> None:
    """Nothing happens when the group has moved on since.

    If the leader sent two assignments, the one that is acknowledged first is the generation's. After a
    failure a new rebalance makes the members join again; the generation's number is not used again.
    """
    if not _still_awaited(group, entry):
        return
    if error == ErrorCode.NONE:
        sync.assign(step, group, entry.assignments)
        group.transition_to(GroupState.STABLE, step.choices.now_ms())
    else:
        sync.reset_assignments(step, group, error)
        rebalance.prepare_rebalance(step, group, f"error {error} when the assignment was stored")


def _still_awaited(group: Group, entry: Assigned) -> bool:
    return group.state is GroupState.COMPLETING_REBALANCE and group.generation_id == entry.generation_id


def _undo_creation(step: Step, groups: dict[str, Group], group: Group, error: int) -> None:
    """The group goes, unless it has had a generation. Its parked requests get the error, without a member id.

    In a broker what came right after the creation is in the batch that could not be written, and fails with
    it; that it takes longer, up to a generation, can only be a time-out, which undoes nothing. Before a
    generation there is no other record of the group whose answer could come.
    """
    if group.generation_id > 0:
        return
    loading.close(step, group, error, with_ids=False)
    del groups[group.group_id]
