"""Audits of logs and of the offsets topic: sound lines hold, planted ones are found, each by its rule."""

from __future__ import annotations

import pytest

from harness.judged_frames import judged, terms_of
from rota.history import Event, Kind, Source
from rota.invariants import catalog
from rota.validate.audits import SENTENCES
from rota.validate.validation import Validation

LOG, TOPIC = Source.BROKER_LOG, Source.OFFSETS


def log(*told):
    """Lines of one log: (kind, generation, more)."""
    return [
        Event(1_000.0 + place, LOG, f"server.log:{place + 1}", kind, "g", generation=generation, **more)
        for place, (kind, generation, more) in enumerate(told)
    ]


def stored(generation, *members, leader=None, origin=0, protocol="range"):
    """A group's record; a member is (id, instance)."""
    listed = [{"member": id, "instance": instance} for id, instance in members]
    data = {"members": listed, "protocol": protocol if members else ""}
    who = leader if leader is not None else members[0][0] if members else ""
    return Event(
        1_003.0 + origin,
        TOPIC,
        f"__consumer_offsets-7@{origin}",
        Kind.GROUP_STORED,
        "g",
        who,
        generation=generation,
        data=data,
    )


def round_of(generation, members=1, leader="m"):
    """The lines of one rebalance."""
    return (
        (Kind.PREPARING, generation - 1, {"state": "PreparingRebalance"}),  # Kafka tells what it is by then
        (Kind.STABILIZED, generation, {"data": {"members": members}}),
        (Kind.ASSIGNMENT, generation, {"member": leader, "data": {"members": members}}),
    )


SOUND = (
    log(*round_of(1), *round_of(2), *round_of(3, 2)),
    log(*round_of(4), (Kind.EMPTY, 5, {}), (Kind.DEAD, 5, {}), *round_of(1)),
    log(*round_of(4), (Kind.LOADED, 2, {}), *round_of(3)),
    log(*round_of(2), (Kind.REPLACED, None, {"member": "n"}), (Kind.ASSIGNMENT, 2, {"member": "n"})),
    [
        stored(1, ("a", None)),
        stored(2, ("a", None), ("b", "i")),
        stored(2, ("a", None), ("c", "i"), origin=1),
    ],
    [stored(5, ("a", None)), Event(1.0, TOPIC, "t@1", Kind.GROUP_REMOVED, "g"), stored(1, ("a", None))],
    [*log(*round_of(1)), stored(1, ("m", None))],
)

PLANTED = {
    "stabilised twice": (
        "generation.grows-by-completed-joins",
        log(*round_of(3), (Kind.STABILIZED, 3, {"data": {"members": 1}})),
    ),
    "back": ("generation.grows-by-completed-joins", log(*round_of(3), *round_of(2))),
    "an assignment of the past": (
        "generation.grows-by-completed-joins",
        log(*round_of(3), (Kind.ASSIGNMENT, 2, {"member": "m"})),
    ),
    "prepared twice": (
        "state.legal-transition",
        log(*round_of(3), *[(Kind.PREPARING, 3, {"state": "PreparingRebalance"})] * 2),
    ),
    "two leaders": (
        "join.one-leader-per-generation",
        log(*round_of(3), (Kind.ASSIGNMENT, 3, {"member": "other"})),
    ),
    "an assignment for more": (
        "join.membership-fixed-in-a-generation",
        log(
            *round_of(3)[:2],
            (Kind.ASSIGNMENT, 3, {"member": "m", "data": {"members": 2}}),
        ),
    ),
    "a leader from elsewhere": ("join.leader-is-a-member", [stored(1, ("a", None), leader="b")]),
    "one instance, two members": ("static.one-member-per-instance", [stored(1, ("a", "i"), ("b", "i"))]),
    "a member twice": ("static.one-member-per-instance", [stored(1, ("a", None), ("a", None))]),
    "nobody leads": ("shape.fields-match-state", [stored(1, ("a", None), leader="")]),
    "empty with a leader": ("shape.fields-match-state", [stored(1, leader="a")]),
    "stored back": ("generation.grows-by-completed-joins", [stored(4, ("a", None)), stored(3, ("a", None))]),
    "others in one generation": (
        "join.membership-fixed-in-a-generation",
        [stored(4, ("a", None)), stored(4, ("a", None), ("b", None))],
    ),
    "log and topic number otherwise": (
        "join.list-is-the-membership",
        [*log(*round_of(1, 2)), stored(1, ("m", None))],
    ),
    "log and topic name other leaders": (
        "sync.as-stored",
        [*log(*round_of(1, 2, leader="n")), stored(1, ("m", None), ("n", None))],
    ),
}


@pytest.mark.parametrize("number", range(len(SOUND)))
def test_sound_sources_hold(number):
    account = judged(SOUND[number], terms_of())
    assert account.verdict == "holds", account.violations


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found_by_its_rule(name):
    rule, events = PLANTED[name]
    account = judged(events, terms_of())
    assert [one.rule for one in account.violations] == [rule]
    assert account.violations[0].line in {event.origin for event in events}
    assert set(account.violations[0].lines) <= {event.origin for event in events}


def test_every_rule_of_the_audits_is_planted_and_a_claim_of_the_spec():
    rules = {rule for sentences in SENTENCES.values() for rule in sentences}
    assert rules == {rule for rule, _ in PLANTED.values()}
    claims = {one.name for one in (*catalog.SHAPE, *catalog.SAFETY, *catalog.STATIC, *catalog.STEPS)}
    assert rules <= claims


def test_a_generation_that_was_never_told_of_is_undecided():
    account = judged(log(*round_of(3), *round_of(6)), terms_of())
    assert account.verdict == "undecided"
    assert not account.found


def test_clocks_are_measured_by_the_generations_that_both_tell_of():
    validation = Validation(terms_of())
    for event in [*log(*round_of(1)), stored(1, ("m", None), origin=97)]:
        validation.take(event)
    assert not validation.end().found
    assert dict(validation.crossing.skews) == {"broker-log before offsets": -98.0}
    assert validation.crossing.compared["offsets and broker-log"] == 1


def test_a_group_that_began_again_is_not_held_against_what_was_before():
    events = [*log(*round_of(1, 2)), stored(1, ("m", None), origin=90_000)]
    assert judged(events, terms_of()).verdict == "holds"
