"""The spec of the consumer protocol says what a running Apache Kafka 4.4.0 has said, dialogue by dialogue."""

from __future__ import annotations

import pytest

from beside_kafka.consumer_dialogues.steps import Dialogue
from consumer_dialogues import ALL, golden
from harness.spec_stage import OutOfScope, played_on_spec

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


@pytest.mark.parametrize("slug", OUT_OF_SCOPE)
def test_what_is_out_of_scope_asks_for_what_the_spec_has_no_rules_for(slug: str) -> None:
    (dialogue,) = (one for one in ALL if one.slug == slug)
    with pytest.raises(OutOfScope):
        played_on_spec(dialogue, golden(dialogue).read_text(encoding="utf-8"))
