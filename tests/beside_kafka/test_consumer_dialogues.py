"""Dialogues by the consumer protocol (KIP-848) with Apache Kafka 4.4.0 are the golden ones, word by word."""

from __future__ import annotations

import pytest

from beside_kafka.consumer_dialogues.steps import Dialogue
from consumer_dialogues import ALL, GOLDEN, golden, played

PARTS = {"membership", "epochs", "reconcile", "topics", "target", "offsets", "admin", "records"}


@pytest.mark.parametrize("dialogue", ALL, ids=lambda one: one.slug)
def test_the_dialogue_is_the_golden_one(dialogue: Dialogue, address: tuple[str, int]) -> None:
    assert played(dialogue, address) == golden(dialogue).read_text(encoding="utf-8")


def test_there_is_a_file_for_every_dialogue_and_no_other() -> None:
    slugs = [one.slug for one in ALL]
    assert len(set(slugs)) == len(slugs)
    assert {path.name for path in GOLDEN.iterdir()} == {f"{slug}.txt" for slug in slugs}


def test_every_dialogue_has_a_part_and_a_point() -> None:
    assert {one.slug.partition(".")[0] for one in ALL} == PARTS
    for one in ALL:
        assert one.point.endswith("."), one.slug
        assert len(one.point.split()) > 7, one.slug
