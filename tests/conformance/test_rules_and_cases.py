"""A rule has one name: the spec's slug, which the conformance cases continue."""

from __future__ import annotations

from collections import Counter

import pytest

from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.registry import WIRE, rule_of
from rota.conformance.out_of_reach import CONSUMER_OUT_OF_REACH, OUT_OF_REACH, out_of_reach
from rota.conformance.rules import BY_NAME, CONSUMER
from rota.spec import RULES
from rota.spec.consumer.handlers import CONSUMER_RULES


def test_every_case_is_about_a_rule_of_the_spec_or_about_bytes() -> None:
    for case in all_cases():
        if case.part == WIRE:
            assert case.rule == case.id
        else:
            assert case.rule in (BY_NAME if case.part == CONSUMER else RULES)
            assert case.id.startswith(f"{case.rule}.")
            assert case.id not in RULES


def test_every_rule_that_can_be_seen_has_a_case() -> None:
    cases = Counter(case.rule for case in all_cases())
    assert {slug for slug in RULES if not cases[slug]} == OUT_OF_REACH.keys()


def test_every_rule_of_the_consumer_protocol_that_can_be_seen_has_a_case() -> None:
    cases = {case.rule.removeprefix(f"{CONSUMER}.") for case in all_cases() if case.part == CONSUMER}
    assert CONSUMER_RULES.keys() - cases == CONSUMER_OUT_OF_REACH.keys()
    assert cases <= CONSUMER_RULES.keys()


def test_what_is_out_of_reach_is_said_once() -> None:
    said = {*OUT_OF_REACH.values(), *CONSUMER_OUT_OF_REACH.values()}
    assert sorted(out_of_reach()) == sorted(said)


def test_the_part_follows_the_rule() -> None:
    parts = {rule.slug: rule.part for rule in RULES.values()}
    own = [case for case in all_cases() if case.part != CONSUMER]
    assert all(case.part == parts.get(case.rule, WIRE) for case in own)
    assert all(case.rule.startswith(f"{CONSUMER}.") for case in all_cases() if case not in own)


def test_the_longest_slug_is_the_rule() -> None:
    assert rule_of("static.replaced.haunted") == "static.replaced"
    assert rule_of("static.replaced-in-stable.same-generation") == "static.replaced-in-stable"
    assert rule_of("join.barrier.pending-blocks") == "join.barrier"
    assert rule_of("wire.unknown-tags") == "wire.unknown-tags"
    assert rule_of("consumer.offsets.commit-stale.never-had") == "consumer.offsets.commit-stale"
    assert rule_of("consumer.offsets.commit.at-its-epoch") == "consumer.offsets.commit"


@pytest.mark.parametrize(
    "id",
    ["join.barrier", "join.barriers.open", "join.no-such-rule.x", "barrier", "", "consumer.epochs.ahead"],
)
def test_an_id_without_a_rule_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="has to be the slug of a rule, a dot"):
        rule_of(id)
