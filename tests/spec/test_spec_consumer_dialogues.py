"""The spec of the consumer protocol says what a running Apache Kafka 4.4.0 has said, dialogue by dialogue."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from beside_kafka.consumer_dialogues.steps import Dialogue
from consumer_dialogues import ALL, golden
from harness.spec_stage import Differs, OutOfScope, played_on_spec
from rota.kernel import RuleTable
from rota.spec.consumer.handlers import CONSUMER_RULES
from rota.spec.consumer.messages import ErrorReply
from rota.spec.consumer.step import Step
from rota.spec.consumer.vocabulary import ErrorCode

OUT_OF_SCOPE = {
    "membership.ids-that-are-null": "bytes that cannot be read are the codec's",
    "offsets.topic-ids": "topics of offsets have names in the spec, ids stand for them",
    "admin.classic-group": "a classic group with members is the other protocol's",
}
"""Dialogues that the spec does not decide, and why."""

PLAYED = [one for one in ALL if one.slug not in OUT_OF_SCOPE]


@pytest.mark.parametrize("dialogue", PLAYED, ids=lambda one: one.slug)
def test_the_spec_says_what_kafka_said(dialogue: Dialogue) -> None:
    played_on_spec(dialogue, golden(dialogue).read_text(encoding="utf-8"))


def refused(asked: Callable[[int, int], bool]) -> Callable[..., Any]:
    """A rule that refuses commits, by their epoch and the member's."""

    def rule(spec: Any, group: Any, call: Any) -> tuple[Step, ...]:
        request = call.request
        if not asked(request.member_epoch, group.current[request.member_id].epoch):
            return ()
        return (Step(group, at_once=True).answer(call.to, ErrorReply(ErrorCode.STALE_MEMBER_EPOCH)),)

    return rule


def differs(slug: str, rules: RuleTable, turned: bool) -> bool:
    (dialogue,) = (one for one in ALL if one.slug == slug)
    try:
        played_on_spec(dialogue, golden(dialogue).read_text(encoding="utf-8"), rules, turned)
    except Differs:
        return True
    return False


@pytest.mark.parametrize(
    ("slug", "planted", "found"),
    [
        (None, None, ()),
        ("offsets.commit-stale", operator.lt, (False,)),
        ("offsets.commit-ahead", operator.eq, (True,)),
    ],
    ids=["sound", "older epochs are refused", "the member's own epoch is refused"],
)
def test_on_a_connection_each_any_order_is_right(
    slug: str | None, planted: Callable[[int, int], bool], found: tuple[bool, ...]
) -> None:
    """The rules say the same in either order; a mistake about one side of the heartbeat shows in one."""
    rules = CONSUMER_RULES.replaced(slug, refused(planted)) if slug else CONSUMER_RULES
    orders = [
        turned for turned in (False, True) if differs("epochs.commit-beside-a-heartbeat", rules, turned)
    ]
    assert tuple(orders) == found


@pytest.mark.parametrize("slug", OUT_OF_SCOPE)
def test_what_is_out_of_scope_asks_for_what_the_spec_has_no_rules_for(slug: str) -> None:
    (dialogue,) = (one for one in ALL if one.slug == slug)
    with pytest.raises(OutOfScope):
        played_on_spec(dialogue, golden(dialogue).read_text(encoding="utf-8"))
