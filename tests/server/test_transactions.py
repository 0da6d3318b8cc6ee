"""Transactions on rota's server: it says what Kafka 4.4.0 says, and a recorded dialogue tells each bug."""

from __future__ import annotations

import pytest

from harness.transactions import (
    DIALOGUES,
    by_hand,
    by_itself,
    fenced,
    golden,
    ids,
    listing,
    offsets,
    played,
    side_by_side,
    timed_out,
)
from rota.mutants.core import CoreBug, planted
from rota.server import running

LIKE_KAFKA = {"offsets.topic.num.partitions": 1}


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one.__name__)
def test_the_dialogue_is_kafkas(dialogue, serving):
    assert played(dialogue, serving) == golden(dialogue)


@pytest.fixture(scope="module")
def serving():
    """A server whose groups are in one partition, as those of the recorded broker are."""
    with running(LIKE_KAFKA) as address:
        yield address


CORE, ENDING = "rota.transactions.core:TransactionCoordinator.", "rota.transactions.ending:"
SERVER, SERVICE = "rota.server.", "rota.server.transactions:TransactionService."
LOG, PRODUCERS = "rota.server.partition:PartitionLog.", "rota.server.producers:Producers."

BUGS = (
    ("lso-is-the-end", LOG + "last_stable", "if first is None", "if True", side_by_side),
    ("open-records-are-read", SERVER + "fetch:_Fetch._partition", "self.read_committed)", "False)", by_hand),
    ("aborted-untold", LOG + "aborted", "each.first_offset < end", "False", by_hand),
    ("aborted-told-for-ever", LOG + "_aborted_since", "offset, key", "0, key", by_hand),
    ("committed-told-as-aborted", PRODUCERS + "ended", "and not is_commit", "", by_hand),
    ("stable-end-not-listed", SERVER + "list_offsets:_partition", "if stable and", "if False and", by_hand),
    ("fenced-epoch-adds", CORE + "error_of", "!= producer_epoch", "< producer_epoch", ids),
    ("fenced-epoch-produces", PRODUCERS + "check_epoch", "< known.epoch", "> known.epoch", fenced),
    (
        "fenced-epoch-ends",
        ENDING + "_has_epoch",
        "producer_epoch == found",
        "producer_epoch <= found",
        fenced,
    ),
    ("marker-of-the-old-epoch", CORE + "_fence", ") + 1", ") + 0", fenced),
    (
        "marker-twice",
        ENDING + "_after_the_end",
        "if not bumps:",
        "if not bumps and not done:",
        by_hand,
    ),
    ("timeout-never-aborts", CORE + "fire", "is not State.ONGOING", "is not None", timed_out),
    ("any-timeout", CORE + "init_producer_id", "<= self._config", "<= 9 * self._config", ids),
    ("open-transaction-goes-on", CORE + "init_producer_id", "found.state is", "None is", fenced),
    ("epoch-stays", CORE + "end_transaction", "if bumps:", "if False:", by_itself),
    ("unadded-batch", SERVICE + "check_batch", "_refuse_batch(error, version)", "pass", by_hand),
    ("unadded-offsets", SERVICE + "check_commit", "version < _COMMIT_ABORTABLE_SINCE", "False", offsets),
    ("marker-without-offsets", SERVICE + "_mark", "topic == OFFSETS", "False", offsets),
    ("old-clients-told-fenced", SERVER + "transactions:_told", "version < ", "version < 0 * ", ids),
    ("half-is-added", SERVICE + "_added", "if not all(", "if not any(", ids),
    (
        "outside-of-the-transaction",
        PRODUCERS + "check",
        "and not info.is_transactional",
        "and False",
        by_hand,
    ),
    ("any-state", SERVICE + "list_all", "not states or", "True or", listing),
    ("any-producer", SERVICE + "list_all", "not ids or", "True or", listing),
    ("any-duration", SERVICE + "list_all", "longer < 0 or", "True or", listing),
    ("unknown-states-untold", SERVICE + "list_all", "not in _NAMES_OF_STATES", "is None", listing),
    (
        "sequence-goes-on",
        PRODUCERS + "_of_epoch",
        "known.epoch, known.sent = epoch, ()",
        "known.epoch = epoch",
        by_itself,
    ),
)
"""Name, function, the text that is exchanged and what for, the dialogue that tells."""


@pytest.mark.parametrize(("name", "function", "old", "new", "dialogue"), BUGS, ids=[bug[0] for bug in BUGS])
def test_a_recorded_dialogue_tells_a_planted_bug(name, function, old, new, dialogue, serving, monkeypatch):
    monkeypatch.setattr("harness.transactions.PATIENCE", 1.5)
    with planted(CoreBug("", name, "", function, old, new)):
        try:
            told = played(dialogue, serving)
        except AssertionError:
            return
    assert told != golden(dialogue)
