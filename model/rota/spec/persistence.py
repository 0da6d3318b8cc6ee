"""What the log's failures mean to those who wait for it, whichever kind of group they are in."""

from __future__ import annotations

from rota.spec.context import Spec
from rota.spec.vocabulary import AppendError, ErrorCode

TOO_LARGE = (
    AppendError.MESSAGE_TOO_LARGE,
    AppendError.RECORD_LIST_TOO_LARGE,
    AppendError.INVALID_FETCH_SIZE,
)
"""What the log says of a record, or of a batch, that is too large for it."""

REPLY_FOR = {
    AppendError.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    AppendError.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    AppendError.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    AppendError.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    **dict.fromkeys(TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}
"""What members are told when the append fails, but for a time-out (see `append_error`)."""


def append_error(spec: Spec, error: AppendError) -> ErrorCode:
    """The error code for whoever waits for a group record whose append fails.

    After a time-out the Scala coordinator says REBALANCE_IN_PROGRESS: old clients join again with that.
    Source: upstream appendGroupMetadataErrorToResponseError; GroupMetadataManager#storeGroup.
    """
    if error is AppendError.REQUEST_TIMED_OUT:
        return spec.profile.append_timeout_error
    return REPLY_FOR[error]
