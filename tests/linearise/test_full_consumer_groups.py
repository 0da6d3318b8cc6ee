"""A classic member that joins a full group of the consumer protocol: what it may be told.

By its policy of migration a coordinator tells it that the group is full, or of which kind it is. Of somebody
else's the policy is not known; rota's migrates no groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rota.kernel import FrozenMap
from rota.linearise import Answered, History, Sent, Verdict, judge
from rota.linearise.consumer import steps
from rota.linearise.consumer.apart import UNSURE
from rota.linearise.consumer.requests import ConsumerTerms
from rota.spec import KAFKA_4, Call
from rota.spec.consumer.context import ConsumerConfig
from rota.spec.consumer.messages import (
    ClassicRequest,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    ErrorReply,
)
from rota.spec.consumer.vocabulary import ErrorCode

FULL, KIND = ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.INCONSISTENT_GROUP_PROTOCOL
STRANGER = ErrorCode.UNKNOWN_MEMBER_ID


def verdict(told: ErrorCode, most: int, refuses: bool) -> Verdict:
    """One member joins a group of at most so many, and somebody by the classic protocol, who is told this.

    refuses: as rota's coordinator does, which is known to migrate no groups.
    """
    joins = ConsumerGroupHeartbeatRequest(
        "g", "m", 0, rebalance_timeout_ms=5000, subscribed_topic_names=frozenset("t"),
        topic_partitions=frozenset(),
    )  # fmt: skip
    granted = ConsumerGroupHeartbeatReply(ErrorCode.NONE, "m", 2, 5000, frozenset())
    events = (
        Sent(0.0, 0, 0, "a", Call(joins, to="0", version=1)),
        Answered(0.1, 0, granted),
        Sent(0.2, 1, 1, "b", Call(ClassicRequest("g", "JoinGroup"), to="1", version=9)),
        Answered(0.3, 1, ErrorReply(told)),
    )
    terms = ConsumerTerms(ConsumerConfig(max_size=most), FrozenMap(), refuses=refuses)
    return judge(History("g", events, KAFKA_4, consumer=terms)).verdict


ALLOWED = {
    # of whom, members at most -> what may be told
    (False, 1): {FULL, KIND},
    (False, 2): {KIND},
    (True, 1): {KIND},
    (True, 2): {KIND},
}


def found() -> dict[tuple[bool, int], set[ErrorCode]]:
    """What the judge takes."""
    return {
        (refuses, most): {
            code for code in (FULL, KIND, STRANGER) if verdict(code, most, refuses) is Verdict.CONSISTENT
        }
        for refuses, most in ALLOWED
    }


def test_only_of_a_full_group_of_somebody_else_another_answer_may_come() -> None:
    assert found() == ALLOWED


REAL = steps.full
MISTAKES: dict[str, Callable[..., Any]] = {
    "full groups are as others": lambda state, request, most: None,
    "a group is full before it is": lambda state, request, most: REAL(state, request, most - 1),
    "a group is full one member later": lambda state, request, most: REAL(state, request, most + 1),
    "any answer will do": lambda state, request, most: REAL(state, request, most) and UNSURE,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_judge_that_is_mistaken_about_it_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "full", MISTAKES[mistake])
    assert found() != ALLOWED
