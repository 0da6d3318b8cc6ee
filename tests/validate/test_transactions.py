"""Recordings in which a group's offsets are committed in transactions: how these end is told by producers."""

from __future__ import annotations

import logging
from functools import lru_cache

import pytest
from msgspec.structs import replace

from harness.judged_frames import judged
from harness.recorded_frames import frames_of
from harness.recorded_walks import shown_in, starts_of
from harness.walk_hunt import grounds
from rota.generate.hunt import trial
from rota.generate.settings import broker_config
from rota.history import Kind
from rota.mutants.core import core_bugs
from rota.spec import PROFILES
from rota.validate.terms import Terms, looks_every
from rota.validate.transactions import (
    ADDS,
    BEGINS,
    ENDS,
    OF_TRANSACTIONS,
    SHORTEST,
    UNHEARD,
    UNSEEN,
    Timeouts,
    Transactions,
    Word,
    word_of,
)

PLAN = 0
"""A walk with transactions that are committed and aborted, and with looks at what they leave."""

INVALID_TXN_STATE = 48


@lru_cache(maxsize=1)
def walk():
    """Its frames, and by what they are judged."""
    ground = grounds(1, "kafka-4.x", transactional=True)
    played = trial(ground.plan(PLAN), ground.settings, ground.profile).played
    terms = Terms(
        PROFILES[ground.profile],
        broker_config(ground.settings),
        fresh=True,
        durable=True,
        starts=starts_of(played.history),
        looks_every=looks_every(ground.settings),
    )
    return frames_of(played), terms


def with_fields(event, **fields):
    return replace(event, data={**event.data, "fields": {**event.data["fields"], **fields}})


def of(event, kind, api):
    return event.kind is kind and event.data.get("api") == api


def as_it_was(event):
    return event


def ended_otherwise(event):
    """As if it had been asked for the other end."""
    ends = of(event, Kind.REQUEST, ENDS)
    return with_fields(event, committed=not event.data["fields"]["committed"]) if ends else event


def refused(event):
    """As if no transaction had been ended by its producer."""
    return with_fields(event, error_code=INVALID_TXN_STATE) if of(event, Kind.RESPONSE, ENDS) else event


def unasked(event):
    """As if no producer had asked to end any."""
    return None if event.data.get("api") == ENDS else event


def unread(event):
    """As if the requests could not be read."""
    if not of(event, Kind.REQUEST, ENDS):
        return None if of(event, Kind.RESPONSE, ENDS) else event
    return replace(event, kind=Kind.UNREAD, reason="a version that is not known")


def without_producers(event):
    """As a recorder writes it that does not know of these requests."""
    return None if event.data.get("api") in OF_TRANSACTIONS else event


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (as_it_was, "holds"),
        (ended_otherwise, "violated"),
        (refused, "violated"),
        (unasked, "violated"),
        (unread, UNHEARD),
        (without_producers, UNSEEN),
    ],
)
def test_what_becomes_of_offsets_is_held_against_how_their_transactions_ended(change, verdict):
    frames, terms = walk()
    changed = [one for event in frames if (one := change(event)) is not None]
    account = judged(changed, terms)
    causes = {cause for _, cause in account.undecided}
    assert account.verdict == ("undecided" if causes else verdict), (account.violations, account.undecided)
    assert causes <= {verdict}


@pytest.mark.parametrize("bug", ["aborted-offsets-count", "stored-without-its-transaction"])
def test_planted_bugs_of_transactions_are_found(bug, caplog):
    caplog.set_level(logging.CRITICAL)
    ground = grounds(1, "kafka-4.x", transactional=True)
    found = (shown_in(core_bugs()[bug], ground, number) for number in range(10))
    recording = next(one for one in found if one is not None)
    assert recording.judged(ground, fresh=True).verdict == "violated"


def word(api, asked=0.0, error=0, producer=7, committed=True, timeout=None):
    return Word(api, "t", producer, committed, asked, timeout, error)


def test_words_are_read_as_they_were_written():
    assert word_of(word(ENDS).as_text) == word(ENDS)


def test_a_transaction_is_over_when_another_one_could_begin():
    transactions = Transactions(Timeouts())
    transactions.commits({"transactional_id": "t", "producer_id": 7}, 1.0)
    end = transactions.may_end("g", word(ENDS, 2.0), 10, ("c", 1))
    assert (end.group_id, end.producer_id, end.committed) == ("g", 7, True)
    assert transactions.answered(("c", 1)) == 10
    transactions.ended(word(ENDS, 2.0))
    assert transactions.may_end("g", word(ENDS, 2.5), 11, None) is None, "nothing was committed since"
    assert transactions.over("t", 1.5) == []
    assert transactions.over("t", 3.0) == [10]


def test_another_producers_end_is_not_this_ones():
    transactions = Transactions(Timeouts())
    transactions.commits({"transactional_id": "t", "producer_id": 7}, 1.0)
    assert transactions.may_end("g", word(ENDS, producer=8), 10, None) is None
    assert transactions.may_end("g", word(BEGINS, producer=-1), 10, None).committed is False


def test_what_is_refused_ends_nothing():
    transactions = Transactions(Timeouts())
    transactions.commits({"transactional_id": "t", "producer_id": 7}, 1.0)
    transactions.may_end("g", word(ENDS, 2.0), 10, ("c", 1))
    transactions.refused(word(ENDS, error=INVALID_TXN_STATE), 10)
    assert transactions.over("t", 3.0) == []
    assert transactions.may_end("g", word(ENDS, 4.0), 11, None) is not None


@pytest.mark.parametrize(("timeout", "until"), [(None, 5.0 + SHORTEST), (60.0, 61.0), (2.0, 5.0)])
def test_a_transaction_may_have_timed_out_since_its_producer_was_free(timeout, until):
    timeouts = Timeouts()
    timeouts.hear(word(BEGINS, 1.0, timeout=timeout))
    timeouts.hear(word(ADDS, 4.0))
    transactions = Transactions(timeouts)
    transactions.commits({"transactional_id": "t", "producer_id": 7}, 5.0)
    assert [*transactions.timed_out(until)] == []
    assert [*transactions.timed_out(until + 0.1)] == [(until, "t")]
    assert [*transactions.timed_out(until + 9.0)] == [], "it is said once"
