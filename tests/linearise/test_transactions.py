"""Offsets in transactions: they are pending until the end is in the log, which nobody is told of."""

from __future__ import annotations

import pytest

from harness.both_judges import plain
from harness.told import Told, committed, fetched
from rota.linearise import Restarted, Sent, Verdict, judge
from rota.linearise.history import EndTransaction, Over
from rota.mutants.core import CoreBug, planted
from rota.spec import Call, ErrorCode
from rota.spec.offset_messages import (
    FetchedPartition,
    FetchedTopic,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetFetchReply,
    OffsetFetchRequest,
    PartitionOutcome,
    TopicOutcome,
    TopicPartitions,
    TxnOffsetCommitReply,
    TxnOffsetCommitRequest,
)
from rota.spec.profiles import KAFKA_3

PASSES, FAILS = Verdict.CONSISTENT, Verdict.VIOLATED
UNSTABLE = "unstable"


def begun(producer=1):
    """A group in which a producer has an offset pending."""
    return commits(Told(), producer)


def commits(told, producer=1, offset=7):
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, offset, -1, "x"),)),)
    number = told.sends(5, TxnOffsetCommitRequest("g", producer, topics), 3)
    outcomes = (TopicOutcome("t", (PartitionOutcome(0, ErrorCode.NONE),)),)
    return told.hears(number, TxnOffsetCommitReply(outcomes))


def ends(told, committed=True, producer=1, until=0.01):
    """The transaction is ended, and that is over so many seconds later; None: nobody knows when."""
    number, told._requests = told._requests, told._requests + 1
    call = Call(EndTransaction("g", producer, committed), str(number), 0)
    over = float("inf") if until is None else told.now + until
    told.events.append(Sent(told.now, number, -1 - number, "producer", call, until=over))
    return told


def over(told):
    """The producer could begin another one: the end that was asked for last is done."""
    asked = (
        one for one in told.events if isinstance(one, Sent) and isinstance(one.call.request, EndTransaction)
    )
    *_, last = asked
    told.events.append(Over(told.now, last.number))
    return told


def seen(told, what, stable=True):
    """OffsetFetch is answered with an offset, -1 for none, or that it is unstable."""
    asked = (TopicPartitions("t", (0,)),)
    number = told.sends(7, OffsetFetchRequest("g", asked, stable), 7)
    reply = fetched(t=what) if what != UNSTABLE else unstable()
    return told.hears(number, reply)


def unstable():
    one = FetchedPartition(0, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)
    return OffsetFetchReply(ErrorCode.NONE, (FetchedTopic("t", (one,)),))


def restarted(told):
    """The coordinator is killed and started again, in 0.2 s."""
    for connection in (5, 6):
        told.breaks(connection)
    told.after(0.2).events.append(Restarted(told.now, told.now - 0.2, told.now - 0.1))
    return told


def overtaken(kept_ms=-1):
    """A transaction of Kafka 3 has 5 pending, 7 is committed after it and read after a restart.

    kept_ms: for how long, in milliseconds, -1: for days. The coordinator looks every two seconds.
    """
    told = commits(Told(KAFKA_3, looks_every=2.0), offset=5)
    told.hears(told.commits(0, "t", kept_ms=kept_ms), committed("t")).breaks(0)
    return seen(restarted(told), 7, False)


STORIES = {
    "it is pending while it is open": (lambda: seen(seen(begun(), UNSTABLE), -1, False), PASSES),
    "it does not count before": (lambda: seen(begun(), 7, False), FAILS),
    "it counts when it is committed": (lambda: seen(ends(begun()).after(0.5), 7), PASSES),
    "it must, when that is over": (lambda: seen(ends(begun()).after(0.5), UNSTABLE), FAILS),
    "it may not yet while that goes on": (
        lambda: seen(ends(begun(), until=2.0).after(0.5), UNSTABLE),
        PASSES,
    ),
    "or it may": (lambda: seen(ends(begun(), until=2.0).after(0.5), 7), PASSES),
    "nobody knows when": (lambda: seen(ends(begun(), until=None).after(9.0), UNSTABLE), PASSES),
    "until it is told to be over": (
        lambda: seen(over(ends(begun(), until=None).after(9.0)).after(0.5), UNSTABLE),
        FAILS,
    ),
    "which may have been at any time": (
        lambda: seen(seen(over(seen(ends(begun(), until=None), UNSTABLE).after(9.0)), 7).after(0.5), 7),
        PASSES,
    ),
    "it is gone when it is aborted": (lambda: seen(ends(begun(), False).after(0.5), -1), PASSES),
    "and does not count then": (lambda: seen(ends(begun(), False).after(0.5), 7), FAILS),
    "one ends and not the other": (lambda: seen(ends(commits(begun(), 2)).after(0.5), UNSTABLE), PASSES),
    "the later record counts, not the later end": (
        lambda: seen(ends(ends(commits(begun(), 2, 9), producer=2).after(0.5)).after(0.5), 9),
        PASSES,
    ),
    "a restart leaves it open": (lambda: seen(restarted(begun()), UNSTABLE), PASSES),
    "or aborts it": (lambda: seen(restarted(begun()), -1), PASSES),
    "but never commits it": (lambda: seen(restarted(begun()), 7), FAILS),
    "what has overtaken it counts after a restart": (
        lambda: seen(ends(overtaken()).after(0.5), 7),
        PASSES,
    ),
    "and stays, when it ends": (lambda: seen(ends(overtaken()).after(0.5), 5), FAILS),
    "unless it has expired meanwhile": (
        lambda: seen(ends(overtaken(kept_ms=0).after(3.0)).after(0.5), 5),
        PASSES,
    ),
    "and is gone then": (lambda: seen(ends(overtaken(kept_ms=0).after(3.0)).after(0.5), 7), FAILS),
    "an end goes on after a restart": (
        lambda: seen(seen(restarted(ends(begun(), until=None)), UNSTABLE).after(1.0), 7),
        PASSES,
    ),
    "and what has ended stays": (lambda: seen(restarted(ends(begun()).after(0.5)), UNSTABLE), FAILS),
}


def verdict(name):
    return judge(STORIES[name][0]().quiet().history()).verdict


@pytest.mark.parametrize("name", STORIES)
def test_what_is_pending(name):
    assert verdict(name) is STORIES[name][1]


PLANTED = (
    ("an end has no last moment", "rota.linearise.closing:Closing._begun", "return sent.until", "return 9e9"),
    ("what is over is not", "rota.linearise.run:Run._over", "number not in one.pending", "True"),
    (
        "what is over is not sought",
        "rota.linearise.closing:Closing._suffices",
        "sought.number in state.pending",
        "False",
    ),
    ("an end is always committed", "rota.linearise.steps:Steps._transaction_ends", "end.committed", "True"),
    ("one end is of all", "rota.linearise.steps:Steps._transaction_ends", "end.producer_id", "1"),
    (
        "a restart ends no end",
        "rota.linearise.states:unended",
        "isinstance(request, EndTransaction)",
        "False",
    ),
    (
        "a restart forgets what overtakes",
        "rota.oracle.offsets_follow:Kept.load",
        "found.pending)",
        "tuple(replace(one, overtaken=False) for one in found.pending))",
    ),
    (
        "what was overtaken is what overtook it",
        "rota.oracle.offsets_follow:Kept.load",
        "found.pending)",
        "tuple(replace(one, record=replace(one.record, value=found.committed.get(one.record.key, "
        "one.record.value))) for one in found.pending))",
    ),
    (
        "a restart aborts nothing",
        "rota.linearise.steps:Steps.restart",
        "if kept.offsets.pending:",
        "if False:",
    ),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_mistake_is_found(name, function, old, new):
    with plain(), planted(CoreBug("", name, name, function, old, new)):
        assert any(verdict(one) is not wanted for one, (_, wanted) in STORIES.items())


def test_a_mistake_of_the_judge_that_learns_is_found():
    known = "number not in one[4].value"
    with planted(CoreBug("", "over", "", "rota.linearise.quick:QuickRun._over", known, "True")):
        assert verdict("until it is told to be over") is not FAILS
    sought = "sought.number in state[4].value"
    of_closing = "rota.linearise.quick_closing:QuickClosing._is_enough"
    with planted(CoreBug("", "sought", "", of_closing, sought, "False")):
        assert any(verdict(one) is not wanted for one, (_, wanted) in STORIES.items())


def test_a_commit_of_somebody_else_goes_on_beside_it():
    told = begun()
    told.hears(told.commits(0, "t"), committed("t"))
    assert judge(seen(told, 7, False).quiet().history()).verdict is PASSES
