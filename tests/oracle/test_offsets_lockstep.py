"""The coordinator core against the spec in what it keeps beside members: offsets, administration, expiry."""

from __future__ import annotations

import pytest

from oracle import pin
from rota.coordinator import (
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetFetchTopic,
    TxnOffsetCommit,
)
from rota.mutants.core import core_bugs, planted
from rota.oracle import Divergence, Logged
from rota.oracle import walk as walks
from rota.oracle.lockstep import Cleaned, Ended, Lockstep, Moved, replay
from rota.oracle.machine import NO_LIMIT
from rota.oracle.offsets_lockstep import OffsetsLockstep
from rota.oracle.offsets_translate import Delete, Describe, Fetch
from rota.spec import RULES
from rota.spec.vocabulary import AppendError

WEEK_MS = 7 * 24 * 3_600_000


def test_the_core_does_what_the_spec_allows_beside_members(walk, whole_walk, capsys):
    """Of 136 rules those are left that no coordinator of this profile is asked about."""
    rules = walk.rules | whole_walk.rules
    with capsys.disabled():
        print(
            f" lockstep of everything: {whole_walk.inputs:,} steps, {len(whole_walk.rules)} rules, with that "
            f"of members {len(rules)} of {len(RULES)}, {len(whole_walk.visited)} (rule, state) pairs"
        )
    assert whole_walk.found is None, whole_walk.found
    assert RULES.keys() - rules == walks.OUT_OF_REACH.keys()


def test_every_pinned_pair_beside_members_is_reached(whole_walk):
    reached, wanted = pin.beside_members(whole_walk), pin.pinned(pin.WHOLE_COVERAGE)
    assert reached == wanted, f"{sorted(reached ^ wanted)}; if that is meant: python tests/oracle/pin.py"


def commit(offset, *topics):
    lines = tuple(OffsetCommitTopic(topic, (OffsetCommitPartition(0, offset),)) for topic in topics)
    return OffsetCommit("g", lines)


def stored(*topics):
    """A group that only stores offsets."""
    lockstep = OffsetsLockstep()
    lockstep.tell(commit(5, *topics), 8)
    assert lockstep.do(Logged(0))
    return lockstep


def test_what_is_asked_is_kept_and_can_be_repeated():
    lockstep = stored("t")
    lockstep.tell(Fetch("g", (OffsetFetchTopic("t", (0,)),)), 8)
    lockstep.tell(TxnOffsetCommit("x", "g", 1, 0, commit(6, "t").topics), 3)
    lockstep.do(Logged(0))
    lockstep.do(Ended(1, True))
    lockstep.do(Logged(0))
    lockstep.do(Cleaned(2 * WEEK_MS))
    while lockstep.appends:
        lockstep.do(Logged(0))
    lockstep.tell(Describe("g"), 6)
    assert lockstep.group is None
    assert replay(lockstep.inputs, kind=OffsetsLockstep) == (None, lockstep.inputs)
    seen = {slug for slug, _ in lockstep.shadow.oracle.visited}
    assert seen >= {"transactions.ended", "expiry.group-removed", "admin.describe-unknown-group"}


def test_the_next_coordinator_finds_what_was_stored_and_whoever_waited_is_sent_away():
    lockstep = stored("t", "u")
    lockstep.tell(TxnOffsetCommit("x", "g", 1, 0, commit(6, "t").topics), 3)
    lockstep.do(Logged(0))
    lockstep.tell(commit(7, "u"), 8)
    lockstep.do(Moved(NO_LIMIT))
    assert lockstep.appends == 0
    lockstep.tell(Fetch("g", None), 8)
    assert {one.committed_offset for one in lockstep.offsets.keep("g").offsets.committed.values()} == {5}
    lockstep.do(Ended(1, True))
    lockstep.do(Logged(0))
    lockstep.tell(Fetch("g", None), 8)
    assert sorted(
        one.committed_offset for one in lockstep.offsets.keep("g").offsets.committed.values()
    ) == [5, 6]  # fmt: skip
    assert replay(lockstep.inputs, kind=OffsetsLockstep) == (None, lockstep.inputs)


def test_a_tombstone_that_was_not_stored_leaves_the_group_to_the_next_coordinator():
    lockstep = stored("t")
    lockstep.tell(Delete("g"), 2)
    lockstep.do(Moved(NO_LIMIT))
    assert lockstep.group is not None
    lockstep.tell(Delete("g"), 2)
    lockstep.do(Logged(0))
    lockstep.do(Moved(NO_LIMIT))
    assert lockstep.group is None


def test_where_offsets_are_left_alone_such_inputs_are_not_possible():
    assert replay(stored("t").inputs[:1]) == (None, [])
    assert not Lockstep().do(Cleaned(0))


def test_a_group_whose_deletion_is_in_doubt_stays_gone():
    lockstep = stored("t")
    lockstep.tell(Delete("g"), 2)
    lockstep.do(Logged(0, AppendError.REQUEST_TIMED_OUT))
    assert lockstep.group is None


def test_a_fetch_behind_a_tombstone_keeps_the_log_from_refusing_it():
    """What such a fetch finds when the group comes back is left open."""
    lockstep = stored("t")
    lockstep.tell(Delete("g"), 2)
    lockstep.tell(Fetch("g", None, True), 8)
    assert not lockstep.do(Logged(0, AppendError.KAFKA_STORAGE_ERROR))
    assert lockstep.do(Logged(0))


def test_a_report_tells_offsets_and_the_rule():
    with planted(core_bugs()["only-the-first-stored"]), pytest.raises(Divergence) as found:
        stored("t", "u")
    assert "offsets.stored" in found.value.rules
    assert "committed [t-0 5 -1  0 None u-0 5 -1  0 None]" in str(found.value)
