"""Every error code that an answer can carry is given in some pinned configuration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from rota.environment.broker.coordinator import Broker
from rota.environment.broker.offsets import OffsetsKeeper
from rota.explore.fast import engine as fast
from rota.mutants import system
from rota.scopes import load
from rota.spec import ErrorCode

SMALL = load("small")

PLAYED = {
    "kafka-4.x": (
        "core",
        "no-common-protocol",
        "full",
        "fault",
        "crash-static-full",
        "fault-static",
        "same-instance",
        "moves",
        "raw",
        "raw-static",
        "raw-offsets",
        "raw-offsets-static",
        "raw-append",
        "raw-move",
        "append-timeout",
        "append-too-large",
    ),
    "kafka-3.x": ("raw-append", "raw-move", "append-timeout", "append-too-large"),
}
"""Configurations that together give every answer, by profile."""

NEVER = {
    "UNSUPPORTED_VERSION": "is told before a request gets to a coordinator",
}
"""Error codes of the vocabulary that no answer has here → why."""


def codes(value: Any) -> Iterator[ErrorCode]:
    """All error codes in an answer, at any depth."""
    if isinstance(value, ErrorCode):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from codes(getattr(value, field.name))
    elif isinstance(value, tuple):
        for each in value:
            yield from codes(each)


@pytest.fixture(scope="module")
def answers() -> dict[str, set[str]]:
    """Kind of answer -> the error codes that it was given with."""
    found: dict[str, set[str]] = defaultdict(set)

    def noted(fold: Any) -> Any:
        def folded(self: Any, value: Any, step: Any, *rest: Any, **named: Any) -> Any:
            outcome = fold(self, value, step, *rest, **named)
            for message in (send.message for send in outcome.sends if send.to.startswith("client/")):
                kind = type(message).__name__
                if kind.endswith("Reply"):
                    found[kind] |= {code.name for code in codes(message)}
            return outcome

        return folded

    with pytest.MonkeyPatch.context() as patch:
        for machine in (Broker, OffsetsKeeper):
            patch.setattr(machine, "_fold", noted(machine._fold))
        for profile, configurations in PLAYED.items():
            for name in configurations:
                fast.explore(system(SMALL.configuration(name).settings_for(profile)))
    return dict(found)


def test_every_error_code_is_told(answers: dict[str, set[str]]) -> None:
    told = set().union(*answers.values())
    assert {code.name for code in ErrorCode} - told == NEVER.keys()


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
def test_each_answer_has_all_its_error_codes(kind: str, answers: dict[str, set[str]]) -> None:
    assert answers[kind] == EXPECTED[kind]


def test_every_kind_of_answer_is_given(answers: dict[str, set[str]]) -> None:
    assert answers.keys() == EXPECTED.keys()
