"""Walks with transactions: sound servers pass them, they come to every rule, and find what is planted."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from itertools import islice

import pytest

from harness.thinned import some
from rota.generate.as_case import case_text
from rota.generate.case_words import NotACase
from rota.generate.hunt import Grounds, hunt, trial
from rota.generate.plan import GROUP, Ask, Begin, End, Restart, filled, read_plan
from rota.generate.planners import EVERY, plans_of
from rota.generate.player import Coordinator
from rota.generate.producers import Producer
from rota.generate.saved import Saved
from rota.generate.settings import SETTINGS
from rota.generate.transactions import TransactionPlanner
from rota.generate.verdicts import Verdict
from rota.generate.virtual import in_virtual_time
from rota.linearise.history import EndTransaction, Sent
from rota.mutants.core import core_bugs
from rota.report.walks import TRANSACTIONS
from rota.spec import ErrorCode, JoinGroupReply
from rota.spec.offset_messages import TxnOffsetCommitRequest
from rota.spec.profiles import KAFKA_3, KAFKA_4

PROFILES = ("rota", "kafka-4.x")
WALKS = 20


@cache
def grounds(profile):
    return Grounds(1, profile, transactional=True)


@cache
def walked(profile):
    ground = grounds(profile)
    return [trial(ground.plan(number), SETTINGS, profile).judged() for number in range(WALKS)]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_sound_server_passes(profile):
    verdicts = [one.verdict for one in walked(profile)]
    assert Verdict.FAIL not in verdicts
    assert verdicts.count(Verdict.UNDECIDED) <= 1


def test_they_come_to_every_rule_and_are_restarted_in_between():
    found = walked("rota")
    assert {slug for one in found for slug, _ in one.reached} >= TRANSACTIONS
    steps = [step for one in found for step in one.played.plan.steps]
    assert sum(isinstance(step, Restart) for step in steps) >= 3
    assert {step.committed for step in steps if isinstance(step, End)} == {True, False}


FOUND = (
    "all-there-are-are-stable",
    "aborted-offsets-count",
    "later-end-wins",
    "open-transactions-loaded-as-committed",
    "strangers-commit-in-transactions",
)


@pytest.mark.parametrize("name", some(FOUND, 2))
def test_a_planted_bug_is_found(name):
    found = hunt(core_bugs()[name], grounds("kafka-4.x"), explains=False, most=WALKS)
    assert found.failed is not None


def test_a_run_has_some_walks_with_transactions_and_the_others_are_the_same():
    async def drawn(coordinator: Coordinator):
        terms, profile = coordinator.terms, coordinator.profile
        with_some = plans_of(1, terms, profile, ("classic",))
        without = plans_of(1, terms, profile, ("classic",), transactional=False)
        return [next(with_some) for _ in range(2 * EVERY + 2)], [next(without) for _ in range(2 * EVERY)]

    with_some, without = in_virtual_time(SETTINGS, drawn)
    assert [one for one in with_some if not one.transactional] == without
    assert [one.id for one in with_some if one.transactional] == ["1-t0", "1-t1"]


@pytest.mark.parametrize(("profile", "deletes"), [(KAFKA_3, False), (KAFKA_4, True)])
def test_brokers_before_kafka_4_are_not_asked_to_delete_offsets(profile, deletes):
    async def drawn(coordinator: Coordinator):
        plans = TransactionPlanner(1, coordinator.terms, profile).plans()
        return [step.api for plan in islice(plans, WALKS) for step in plan.steps if isinstance(step, Ask)]

    assert ("OffsetDelete" in in_virtual_time(SETTINGS, drawn)) is deletes


def test_a_plan_is_read_as_it_was_saved():
    plan = grounds("rota").plan(0)
    assert any(isinstance(step, Begin) for step in plan.steps)
    assert read_plan(json.loads(json.dumps(plan.as_json()))) == plan


@pytest.mark.parametrize(("version", "generation"), [(0, -1), (2, -1), (3, 5)])
def test_a_version_without_generations_says_none_whatever_was_told(version, generation):
    """A member was told generation 5 where the plan has thought of 3."""
    ask = Ask(7, "a", 0, version, TxnOffsetCommitRequest(GROUP, 0, (), 3 if version > 2 else -1), 1, 3)
    told = {1: JoinGroupReply(ErrorCode.NONE, 5, "consumer", "range", "m", False, "m")}
    assert filled(ask, told, "g").generation_id == generation


def test_it_is_not_written_as_a_case():
    plans = map(grounds("rota").plan, range(WALKS))
    plan = next(one for one in plans if not any(isinstance(step, Restart) for step in one.steps))
    saved = Saved(plan, SETTINGS, "wire.answers", ())
    with pytest.raises(NotACase, match="transactions"):
        case_text(saved, "rota")


def test_a_transaction_that_is_refused_is_none():
    """Nobody commits in it, and its end is nothing that the group hears of."""
    plan = grounds("rota").plan(0)
    begun = [step for step in plan.steps if isinstance(step, Begin)]
    without = plan.of(tuple(step for step in plan.steps if step not in begun))
    found = trial(without, SETTINGS, "rota")
    assert found.judged().verdict is Verdict.PASS
    asked = [one.call.request for one in found.played.history.events if isinstance(one, Sent)]
    assert not any(isinstance(one, EndTransaction) or "Txn" in type(one).__name__ for one in asked)
    assert any(isinstance(step, Ask) and step.api == "TxnOffsetCommit" for step in without.steps)


@pytest.mark.parametrize(
    ("answers", "over"),
    [((48,), False), ((None, 48), None), ((15, 0, 0), True), ((0, 51, 0), True), ((None, 0, 0), True)],
)
def test_whether_an_end_has_come_is_known_or_not(answers, over):
    """What was not answered may have been done, though it is refused when it is asked again."""
    left = iter(answers)

    async def asked(api, body):
        code = 0 if api == "FindCoordinator" else next(left)
        return None if code is None else {"error_code": code}

    class There:
        async def up(self):
            pass

    producer = Producer("p", "g", lambda listening: None, None, There(), {"transactional_id": "p"})
    producer._asked = asked
    producer._look_for_a_coordinator = lambda: asyncio.sleep(0)
    assert asyncio.run(producer.end(True)) is over
