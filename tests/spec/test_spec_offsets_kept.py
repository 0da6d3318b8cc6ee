"""The machine that keeps the offsets: lines, fail-overs, and the two promises that properties ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.keeper_bench import BOTH, JAVA, RETENTION, SCALA, KeeperBench, group, topics
from rota.environment.broker.observers import released, watched
from rota.environment.broker.offsets import OffsetsKept
from rota.environment.clients.assignment import Metadata
from rota.environment.messages import (
    NOBODY,
    Charge,
    Moved,
    Owed,
    Released,
    Reverted,
    Trespass,
    Unreachable,
)
from rota.environment.world import world
from rota.explore.reference import explore
from rota.invariants.offsets import CAN_COMMIT, OFFSETS
from rota.kernel import FrozenMap, Kind, Outcome, Property, Send, View
from rota.spec import RULES, Call, ErrorCode, Group, GroupState
from rota.spec.offset_messages import (
    CommitRequest,
    OffsetCommitRequest,
    OffsetFetchReply,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from rota.spec.offset_state import Expire, OffsetBatch, Offsets, OffsetStep

E = ErrorCode
STABLE, EMPTY = GroupState.STABLE, GroupState.EMPTY
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE


def _anything(value: object) -> bool:
    return True


END = Property("end", Kind.TERMINAL, "Any state may be last.", (View("offsets", _anything),), _anything)
ONE = {"protocols": (("range",),), "offsets": True}


@pytest.mark.parametrize(
    "budget",
    [
        {"commit": 2, "append": 1},
        {"commit": 1, "failover": 1},
        {"commit": 2, "leave": 1, "retention": 1},
    ],
)
@pytest.mark.parametrize("profile", BOTH)
def test_the_promises_hold_for_a_polite_client(profile: str, budget: dict[str, int]) -> None:
    system = world((*OFFSETS, CAN_COMMIT, END), profile=profile, budget=tuple(budget.items()), **ONE)
    result = explore(system)
    assert result.violation is None
    assert result.verdict.name == "HOLDS"
    assert {"offsets.commit", "offsets.stored", "offsets.fetch"} <= result.rules_fired


def forgetful(spec: Any, offsets: Offsets, batch: OffsetBatch, error: Any) -> Any:
    """Answers and stores nothing."""
    return (OffsetStep(offsets.answered(batch)).answer(batch.answer),)


def lax(spec: Any, group: Group | None, call: Call) -> Any:
    """Lets everybody commit."""
    return ()


MUTANTS = [
    ("offsets.stored", forgetful, {"commit": 1, "leave": 1}, "offsets.acknowledged-is-told"),
    (
        "offsets.illegal-generation",
        lax,
        {"commit": 1, "break": 1, "odd": 1},
        "offsets.commit-by-current-member",
    ),
]


@pytest.mark.parametrize(("slug", "function", "budget", "broken"), MUTANTS)
def test_the_properties_bite(slug: str, function: Any, budget: dict[str, int], broken: str) -> None:
    settings: dict[str, Any] = {"budget": tuple(budget.items()), **ONE}
    if "odd" in budget:
        settings |= {"clients": ("eager", "raw"), "protocols": (("range",), ("range",))}
    else:
        settings |= {"protocols": (("range",), ("range",))}
    result = explore(world((*OFFSETS, END), rules=RULES.replaced(slug, function), **settings))
    assert result.violation is not None
    assert result.violation.name == broken


def commit(generation: int, member_id: str) -> OffsetCommitRequest:
    return OffsetCommitRequest("g", topics(t=5), generation, member_id)


def transacted(generation: int, member_id: str, instance: str | None = None) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest("g", 1, topics(t=5), generation, member_id, instance)


@pytest.mark.parametrize(
    ("there", "request_", "trespass"),
    [
        (None, commit(-1, ""), False),
        (group(EMPTY), commit(-1, "x"), False),
        (group(EMPTY), commit(2, "m1"), True),
        (group(STABLE), commit(2, "m1"), False),
        (group(STABLE), commit(1, "m1"), True),
        (group(STABLE), commit(2, "x"), True),
        (group(STABLE), commit(-1, ""), True),
        (group(STABLE, instance="i"), replace(commit(2, "m1"), group_instance_id="j"), True),
        (group(COMPLETING), commit(2, "m1"), True),
        (None, transacted(-1, ""), False),
        (None, transacted(2, "m1"), True),
        (group(EMPTY), transacted(-1, "x"), False),
        (group(EMPTY), transacted(2, "m1"), True),
        (group(STABLE), transacted(-1, ""), False),
        (group(STABLE), transacted(-1, "m1"), True),
        (group(STABLE), transacted(2, "m1"), False),
        (group(COMPLETING), transacted(2, "m1"), False),
        (group(STABLE), transacted(1, "m1"), True),
        (group(STABLE), transacted(2, "x"), True),
        (group(STABLE, instance="i"), transacted(2, "m1", "i"), False),
        (group(STABLE, instance="i"), transacted(2, "m2", "i"), True),
        (group(STABLE, instance="i"), transacted(-1, "", "i"), True),
    ],
)
def test_who_trespasses(there: Group | None, request_: CommitRequest, trespass: bool) -> None:
    accepted = Outcome(0, (Send("offsets", OffsetBatch(())),))
    refused = Outcome(0)
    assert watched(refused, there, request_) == refused
    assert (watched(accepted, there, request_) != accepted) is trespass
    if trespass:
        assert watched(accepted, there, request_).sends[-1] == Send("offsets", Trespass())


READ, UNREAD = (Metadata("c1", readable=readable).encode() for readable in (True, False))


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        (group(EMPTY), frozenset()),
        (Group(), frozenset()),
        (replace(group(STABLE), subscriptions=(READ, READ)), frozenset({"t"})),
        (replace(group(STABLE), subscriptions=(READ, UNREAD)), None),
        (replace(group(STABLE), subscriptions=None), None),
        (group(STABLE, kind="connect"), None),
        (replace(group(COMPLETING), subscriptions=(READ, READ)), None),
        (replace(group(PREPARING), subscriptions=(READ, READ)), None),
    ],
)
def test_what_may_expire_is_seen_by_itself(there: Group, kept: frozenset[str] | None) -> None:
    """Whatever the rules say; brokers that keep what is read look at no subscriptions."""
    said = Outcome(0, (Send("offsets", Expire(RETENTION, None)),))
    for by_subscription in (True, False):
        seen = None if kept and not by_subscription else kept
        told = () if seen is None else (Send("offsets", Released(seen)),)
        assert released(said, there, by_subscription).sends == (*told, *said.sends)


def test_an_offset_that_expires_too_early_breaks_its_promise() -> None:
    """In Stable nothing may go of what is read; the keeper is told to all the same."""
    bench = KeeperBench(JAVA, group(STABLE, "t"))
    bench.commit(generation=2, member_id="m1")
    bench.store()
    (told,) = bench.keeper.receive(bench.kept, "coordinator", Expire(RETENTION, None))
    bench.kept = told.value
    bench.store()
    assert bench.committed == {}
    assert bench.fetch() == -1
    assert bench.kept.broken


def test_an_offset_that_is_released_may_go() -> None:
    bench = KeeperBench(JAVA, Group())
    bench.commit()
    bench.store()
    (told,) = bench.keeper.receive(bench.kept, "coordinator", Released(frozenset({"u"})))
    bench.kept = told.value
    bench.check()
    bench.store()
    assert bench.fetch() == -1
    assert not bench.kept.broken


def test_a_failed_commit_is_a_fault() -> None:
    bench = KeeperBench()
    bench.commit()
    stored, failed, _ = bench.keeper.actions(bench.kept)
    assert Send("budget", Charge("append")) not in stored.sends
    assert failed.sends[0] == Send("budget", Charge("append"))
    assert [send.to for send in stored.sends] == ["client/a", "coordinator"]


@pytest.mark.parametrize("survive", [0, 1, 2])
def test_a_fail_over_keeps_a_prefix_and_tells_everybody(survive: int) -> None:
    bench = KeeperBench(JAVA, Group()).stored(t=3)
    bench.commit(topics=topics(t=4))
    bench.commit(topics=topics(t=5, u=6))
    bench.fetch(stable=True)
    bench.fail_over(survive)
    told = [reply.error_code for reply in bench.told]
    assert told == [E.NOT_COORDINATOR] * 3
    assert bench.committed == [{"t": 3}, {"t": 4}, {"t": 5, "u": 6}][survive]
    assert bench.kept.line == ()
    assert not bench.kept.offsets.appended
    assert bench.group == Group(), "offsets have a group"


def test_what_was_acknowledged_survives_and_what_was_pending_too() -> None:
    bench = KeeperBench(JAVA, Group())
    bench.commit()
    bench.txn(topics=topics(u=7))
    bench.store()
    assert bench.kept.promised == FrozenMap({("t", 0): 5})
    bench.fail_over()
    assert bench.kept.promised == FrozenMap({("t", 0): 5})
    assert bench.fetch() == 5
    assert not bench.kept.broken
    bench.end()
    bench.fail_over()
    bench.store()
    assert bench.fetch("u") == 7, "the marker is written until it is there"


def test_a_group_without_offsets_is_gone_after_a_fail_over() -> None:
    bench = KeeperBench(SCALA, Group(pending=frozenset({"m1"})))
    bench.fail_over()
    assert bench.group is None


def test_a_broken_promise_is_noticed() -> None:
    bench = KeeperBench(JAVA, Group())
    bench.commit()
    bench.store()
    bench.kept = replace(bench.kept, offsets=Offsets())
    bench.fetch("u")
    assert not bench.kept.broken
    bench.fetch(None)
    assert bench.kept.broken


def test_what_is_not_stable_yet_breaks_no_promise() -> None:
    bench = KeeperBench(JAVA, Group())
    bench.commit()
    bench.txn()
    bench.store()
    assert bench.fetch(stable=True) is E.UNSTABLE_OFFSET_COMMIT
    assert not bench.kept.broken


def test_connections() -> None:
    bench = KeeperBench(JAVA, Group())
    bench.commit()
    bench.fetch(stable=True)
    keeper, kept = bench.keeper, bench.kept
    assert keeper.receive(kept, "coordinator", Owed("a")) == ()
    assert len(keeper.receive(kept, "coordinator", Owed("b"))) == 1
    (outcome,) = keeper.receive(kept, "coordinator", Unreachable("a"))
    after = outcome.value
    assert isinstance(after, OffsetsKept)
    (batch,) = after.line
    assert isinstance(batch, OffsetBatch)
    assert batch.answer is None
    assert len(keeper.receive(after, "coordinator", Owed("a"))) == 1


def test_a_request_of_a_broken_connection_waits_for_nothing() -> None:
    bench = KeeperBench(JAVA, Group())
    for request in (commit(-1, ""), OffsetFetchRequest("g", None, require_stable=True)):
        (step,) = bench.spec.handle(bench.group, Call(request, NOBODY, 8))
        bench._take(step)
    assert [item.answer for item in bench.kept.line] == [None]  # type: ignore[union-attr]


def test_what_was_written_after_a_creation_that_failed_fails_with_it() -> None:
    bench = KeeperBench(JAVA, Group())
    bench.commit()
    bench.fetch(stable=True)
    (outcome,) = bench.keeper.receive(bench.kept, "coordinator", Reverted())
    first, second = (send.message for send in outcome.sends)
    assert first.error_code is E.COORDINATOR_NOT_AVAILABLE  # type: ignore[attr-defined]
    assert second == OffsetFetchReply(E.NOT_COORDINATOR)
    assert outcome.value == OffsetsKept()
    bench.store()
    assert bench.keeper.receive(bench.kept, "coordinator", Reverted()) == (), "the log has an order"


def test_a_fail_over_may_come_at_any_time() -> None:
    bench = KeeperBench()
    assert bench.keeper.receive(bench.kept, "coordinator", Moved(())) == [Outcome(OffsetsKept())]
    with pytest.raises(TypeError, match="the offsets do not take 7"):
        bench.keeper.receive(bench.kept, "coordinator", 7)
