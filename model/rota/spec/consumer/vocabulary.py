"""Words of the consumer protocol: error codes, states of a group, timers, kinds of records."""

from __future__ import annotations

from enum import StrEnum

from rota.kernel import Word


class ErrorCode(Word):
    """What requests about a group of this protocol are answered. Source: upstream `Errors`."""

    NONE = 0
    UNKNOWN_SERVER_ERROR = -1
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    GROUP_MAX_SIZE_REACHED = 81
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    FENCED_MEMBER_EPOCH = 110
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113


class GroupState(StrEnum):
    """The states of a group. Source: upstream ConsumerGroup.ConsumerGroupState."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class TimerKind(Word):
    """The timers of a member."""

    SESSION = "session"
    REBALANCE = "rebalance"


class RecordKind(Word):
    """The records of a group, by the version of their keys. Source: upstream CoordinatorRecordType."""

    CLASSIC_GROUP = 2
    GROUP = 3
    TOPICS = 4
    MEMBER = 5
    TARGET = 6
    MEMBERS_TARGET = 7
    CURRENT = 8
