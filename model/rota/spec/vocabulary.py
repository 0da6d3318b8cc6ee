"""Names of the protocol: states of a group and error codes, spelt as on the wire."""

from rota.kernel import Word


class ErrorCode(Word):
    """The error codes that the modelled requests answer. Source: upstream `Errors`.

    A plain Enum, not an IntEnum: a state must not mistake an error code for a number.
    """

    NONE = 0
    UNKNOWN_SERVER_ERROR = -1
    REQUEST_TIMED_OUT = 7
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    UNSTABLE_OFFSET_COMMIT = 88


class AppendError(Word):
    """How the log may fail an append of a group record. Source: upstream `Errors`."""

    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    KAFKA_STORAGE_ERROR = 56


class Hosting(Word):
    """What a broker is to a group when it takes a request.

    INACTIVE: its coordinator does not run; LOADING: it reads the group's log; ELSEWHERE: another broker is
    the group's coordinator. Source: upstream CoordinatorRuntime.CoordinatorState.
    """

    ACTIVE = "active"
    INACTIVE = "inactive"
    LOADING = "loading"
    ELSEWHERE = "elsewhere"
