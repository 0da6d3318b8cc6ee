"""Every error code that an answer can carry is given in some pinned configuration."""

from __future__ import annotations

from collections import defaultdict

import pytest

from harness.explored import TELLING, answers
from rota.spec import ErrorCode

NEVER = {
    "UNSUPPORTED_VERSION": "is told before a request gets to a coordinator",
}
"""Error codes of the vocabulary that no answer has here → why."""


@pytest.fixture(scope="module")
def told() -> dict[str, set[str]]:
    """Kind of answer -> the error codes that it was given with, somewhere."""
    found: dict[str, set[str]] = defaultdict(set)
    for profile, names in TELLING.items():
        for name in names:
            for kind, codes in answers(name, profile).items():
                found[kind] |= codes
    return dict(found)


def test_every_error_code_is_told(told: dict[str, set[str]]) -> None:
    assert {code.name for code in ErrorCode}.difference(*told.values()) == NEVER.keys()


EXPECTED = {
    "DeleteGroupsReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "GROUP_ID_NOT_FOUND",
        "NONE",
        "NON_EMPTY_GROUP",
        "NOT_COORDINATOR",
    },
    "DescribeGroupsReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "GROUP_ID_NOT_FOUND",
        "NONE",
        "NOT_COORDINATOR",
    },
    "FindCoordinatorReply": {"INVALID_REQUEST", "NONE"},
    "HeartbeatReply": {
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "ILLEGAL_GENERATION",
        "INVALID_GROUP_ID",
        "NONE",
        "NOT_COORDINATOR",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
    },
    "JoinGroupReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "MEMBER_ID_REQUIRED",
        "NONE",
        "NOT_COORDINATOR",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_SERVER_ERROR",
    },
    "LeaveGroupReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "INVALID_GROUP_ID",
        "NONE",
        "NOT_COORDINATOR",
        "UNKNOWN_MEMBER_ID",
    },
    "ListGroupsReply": {"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NONE"},
    "OffsetCommitReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "GROUP_ID_NOT_FOUND",
        "ILLEGAL_GENERATION",
        "INVALID_COMMIT_OFFSET_SIZE",
        "NONE",
        "NOT_COORDINATOR",
        "OFFSET_METADATA_TOO_LARGE",
        "REBALANCE_IN_PROGRESS",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_SERVER_ERROR",
    },
    "OffsetDeleteReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "GROUP_ID_NOT_FOUND",
        "GROUP_SUBSCRIBED_TO_TOPIC",
        "INVALID_GROUP_ID",
        "NONE",
        "NOT_COORDINATOR",
    },
    "OffsetFetchReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NONE",
        "NOT_COORDINATOR",
        "UNSTABLE_OFFSET_COMMIT",
    },
    "SyncGroupReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "ILLEGAL_GENERATION",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "NONE",
        "NOT_COORDINATOR",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_SERVER_ERROR",
    },
    "TxnOffsetCommitReply": {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "ILLEGAL_GENERATION",
        "INVALID_GROUP_ID",
        "NONE",
        "NOT_COORDINATOR",
        "UNKNOWN_MEMBER_ID",
    },
}
"""Kind of answer -> the error codes that it carries there.

Only OffsetDelete has one more, NON_EMPTY_GROUP, which takes two odd requests (`raw-offsets-two`).
"""


@pytest.mark.parametrize("kind", EXPECTED)
def test_each_answer_has_all_its_error_codes(kind: str, told: dict[str, set[str]]) -> None:
    assert told[kind] == EXPECTED[kind]


def test_every_kind_of_answer_is_given(told: dict[str, set[str]]) -> None:
    assert told.keys() == EXPECTED.keys()
