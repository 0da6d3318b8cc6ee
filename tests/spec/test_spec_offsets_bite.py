"""Every rule and every switch of offsets, administration and expiry can be noticed.

A few stories are told under the rules; without a rule, or with a switch the other way, some story ends
differently. That the rule does the right thing is in the tables beside this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.keeper_bench import BOTH, JAVA, OLD, RETENTION, SCALA, KeeperBench, group, topics
from rota.kernel import RuleTable
from rota.spec import PROFILES, RULES, Group, GroupState, Profile
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.context import NoRuleError
from rota.spec.offset_messages import OffsetCommitPartition, OffsetDeleteRequest
from rota.spec.vocabulary import AppendError

PARTS = ("offsets", "transactions", "admin", "expiry")
SLUGS = [slug for slug, rule in RULES.items() if rule.part in PARTS]
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
LONG = OffsetCommitPartition(0, 7, committed_metadata="x" * 4_097)

Make = Callable[[Group | None], KeeperBench]


def commits(make: Make) -> list[KeeperBench]:
    benches = [make(None), make(group(STABLE, "t", instance="i")), make(group(COMPLETING)), make(Group())]
    for bench in benches:
        for generation in (-1, 1, 2):
            for member_id in ("", "m1", "m2", "x"):
                for instance in (None, "i"):
                    bench.commit(
                        generation=generation,
                        member_id=member_id,
                        group_instance_id=instance,
                        topics=topics(t=LONG, u=generation),
                    )
        bench.fetch("u", stable=True)
        bench.fetch(None)
        bench.store()
    nowhere = make(None)
    nowhere.commit(generation=2, member_id="m1")
    return [*benches, nowhere]


def transactions(make: Make) -> list[KeeperBench]:
    benches = [make(None), make(group(STABLE, "t", instance="i")), make(group(COMPLETING)), make(Group())]
    for bench in benches:
        bench.stored(t=1)
        bench.txn(group_id="")
        for producer, (generation, member_id) in enumerate(((2, "m1"), (1, "m2"), (-1, ""), (2, "x"))):
            bench.txn(producer, generation_id=generation, member_id=member_id)
            bench.txn(producer, generation_id=generation, member_id=member_id, group_instance_id="i")
        bench.store()
        bench.fetch(stable=True)
        bench.commit()
        bench.txn(8)
        bench.store()
        bench.txn(8)
        bench.store(AppendError.NOT_ENOUGH_REPLICAS)
        bench.txn(9, topics=topics(t=99))
        for producer in range(10):
            bench.end(producer, committed=producer != 9)
        bench.store()
        bench.fetch()
    return benches


def failures(make: Make) -> list[KeeperBench]:
    benches = []
    for error in AppendError:
        bench = make(group(EMPTY))
        benches.append(bench)
        bench.commit(topics=topics(t=LONG, u=5))
        bench.store(error, pick=-1)
        bench.fetch("u")
        bench.stored(v=1)
        bench.delete("v")
        bench.store(error)
        bench.call(DeleteGroupsRequest("g"), 2)
        bench.fetch("v")
        bench.store(error)
    return benches


def deletions(make: Make) -> list[KeeperBench]:
    benches = [
        make(there)
        for there in (
            None,
            group(EMPTY),
            group(STABLE, kind="any"),
            group(STABLE, "t"),
            replace(group(STABLE, "t"), subscriptions=(b"?",)),
        )
    ]
    for bench in benches:
        bench.stored(t=1, u=2)
        bench.call(OffsetDeleteRequest("", ()), 0)
        bench.commit(topics=topics(u=3))
        bench.delete("t", "u")
        bench.fetch("u")
        bench.delete("none")
        bench.store()
        bench.fetch("u")
    nowhere, nothing = make(None), make(group(EMPTY))
    nowhere.delete("t")
    nothing.delete("t")
    return [*benches, nowhere, nothing]


def administration(make: Make) -> list[KeeperBench]:
    benches = [make(None), make(group(EMPTY)), make(group(PREPARING)), make(group(STABLE, "t"))]
    for bench in benches:
        bench.stored(t=1)
        bench.call(DescribeGroupsRequest("g"), 5)
        bench.call(ListGroupsRequest("g", (" Stable ",)), 5)
        bench.call(DeleteGroupsRequest("g"), 2)
        bench.kept.line and bench.fetch()
        bench.store()
        bench.call(DescribeGroupsRequest("g"), 6)
        bench.commit()
        bench.store()
        bench.fetch()
    return benches


def expiry(make: Make) -> list[KeeperBench]:
    benches = [make(g) for g in (Group(), group(EMPTY), group(PREPARING), group(STABLE, "t"))]
    for bench in benches:
        bench.stored(t=1, u=1, v=1)
        bench.txn(topics=topics(v=2), generation_id=-1)
        bench.store()
        bench.check(RETENTION - 1, since=0)
        bench.check(RETENTION, since=1)
        bench.store()
        bench.check(2 * RETENTION, since=0)
        bench.fetch("u")
        bench.store()
    open_only = make(None)
    open_only.txn()
    open_only.store()
    open_only.check(0)
    open_only.store()
    open_only.end()
    open_only.store()
    return [*benches, open_only]


def fail_overs(make: Make) -> list[KeeperBench]:
    benches = [make(Group()), make(Group()).stored(t=1)]
    for bench in benches:
        bench.fail_over()
        bench.fetch()
        bench.call(DescribeGroupsRequest("g"), 5)
    return benches


STORIES = (commits, transactions, failures, deletions, administration, expiry, fail_overs)


def ends(profile: Profile | str, rules: RuleTable = RULES) -> list[Any]:
    """How each story ends: what was told, what is stored, and the group."""
    found: list[Any] = []
    for story in STORIES:
        try:
            benches = story(lambda there: KeeperBench(profile, there, rules))
        except (NoRuleError, ValueError, IndexError, KeyError, AssertionError) as error:
            found.append((story.__name__, type(error).__name__))
            continue
        found.append([(s.told, s.kept, s.group, s.timers, s.log) for s in benches])
    return found


USUAL = {name: ends(name) for name in (JAVA, SCALA, OLD)}


def test_the_stories_can_be_told_and_every_rule_takes_part() -> None:
    fired = set()
    for name in USUAL:
        for story in STORIES:
            for bench in story(lambda there, name=name: KeeperBench(name, there)):
                fired.update(bench.rules)
    acting = {slug for slug in SLUGS if not RULES[slug].decides}
    assert acting - fired == set()


def without(slug: str) -> RuleTable:
    """The table without a rule: it never applies, or decides the other way."""
    if not RULES[slug].decides:
        return RULES.replaced(slug, lambda *inputs: ())
    usual = RULES[slug].function
    others = {"offsets.topics-of": lambda metadata: frozenset()}
    return RULES.replaced(slug, others.get(slug, lambda *inputs: not usual(*inputs)))


@pytest.mark.parametrize("slug", SLUGS)
def test_without_a_rule_some_story_ends_differently(slug: str) -> None:
    assert any(ends(name, without(slug)) != USUAL[name] for name in USUAL)


SWITCHES = (
    ("completing_told_before_membership", True),
    ("unsubscribed_expire", False),
    ("absent_group_commit_error", PROFILES[SCALA].absent_group_commit_error),
    ("absent_group_transaction_creates", True),
    ("offset_append_timeout_error", PROFILES[SCALA].offset_append_timeout_error),
    ("offset_append_too_large_error", PROFILES[SCALA].offset_append_too_large_error),
    ("failed_commit_forgotten", True),
    ("failed_commit_keeps_too_large", True),
    ("unstable_while_appending", True),
    ("describe_forgets_assignments", True),
    ("deletion_waits_for_record", False),
    ("deletion_ends_unused", True),
    ("state_filter_trimmed", False),
    ("open_transaction_keeps_offset", False),
)
"""The switches of offsets and administration, and what they are not in the Java coordinator."""


@pytest.mark.parametrize(("switch", "other"), SWITCHES)
def test_a_switch_the_other_way_ends_some_story_differently(switch: str, other: Any) -> None:
    java = PROFILES[JAVA]
    assert getattr(java, switch) != other
    assert ends(replace(java, **{switch: other})) != USUAL[JAVA]


@pytest.mark.parametrize(("switch", "other"), SWITCHES)
def test_some_profile_has_it_the_other_way(switch: str, other: Any) -> None:
    assert other in [getattr(PROFILES[name], switch) for name in (*BOTH[1:], OLD)]
