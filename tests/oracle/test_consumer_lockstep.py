"""The coordinator core's consumer protocol against its spec: arbitrary requests, topics, timers, logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from oracle import consumer_pin as pin
from oracle.consumer_courses import COURSES
from rota.coordinator import GroupCoordinator
from rota.kernel import FrozenMap
from rota.mutants.core import CoreBug, consumer_bugs, planted
from rota.oracle.bug_table import AMONG, ITSELF, TRIED
from rota.oracle.consumer_hunt import OUT_OF_REACH, hunted, minimised, played, replay, walked
from rota.oracle.consumer_inputs import (
    Beat,
    Commit,
    Due,
    Failed,
    Input,
    Leave,
    Moved,
    Read,
    Settings,
    Stored,
    TopicIs,
    Waited,
)
from rota.oracle.consumer_lockstep import ConsumerLockstep
from rota.oracle.consumer_spec import allowed
from rota.oracle.consumer_translate import TwoHashesError, Words
from rota.oracle.report import Divergence
from rota.oracle.walk import Walk
from rota.spec.consumer import heartbeat
from rota.spec.consumer.assignors import ASSIGNORS, complete
from rota.spec.consumer.context import Asked
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.handlers import CONSUMER_RULES
from rota.spec.consumer.reconcile import TABLE, steps
from rota.spec.consumer.state import Member, Partition, Question

JOIN = Beat("m1", "zero", 0, ("t",), "nothing", 5_000)
LONGEST = 14
"""Steps of a dialogue that a person follows without paper."""

ELSEWHERE = {
    "tie-to-range": "the description of the group tells its assignor",
    "leaves-at-zero": "the answer comes with what the log stores",
    "answers-overtake": "that an answer waits is missed where it is made",
    "one-stored-all-stored": "that an answer waits is missed where it is made",
    "commit-unwritten": "any commit shows it, also another rule's",
    "others-stay": "it turns round which topics are subscribed to",
}
"""Bugs whose own rule is not in the report, and why."""

LINES: set[str] = set()
"""Lines of the table of reconciliation that the walk has gone through."""


@pytest.fixture(scope="module")
def walk() -> Iterator[Walk]:
    """The machine's examples, played to the coordinator as it is."""
    reconcile = heartbeat.reconcile

    def noted(asked: Question) -> Member:
        LINES.update(one.name for one in steps(asked))
        return reconcile(asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heartbeat, "reconcile", noted)
        yield played(pin.examples())


def test_the_core_does_what_the_spec_allows(walk: Walk, capsys: pytest.CaptureFixture[str]) -> None:
    """Every rule takes part that can, those that only decide too."""
    with capsys.disabled():
        print(
            f" lockstep of the consumer protocol: {walk.inputs:,} steps, {len(walk.rules)} of "
            f"{len(CONSUMER_RULES)} rules, {len(walk.visited)} (rule, state) pairs"
        )
    assert walk.found is None, walk.found
    assert CONSUMER_RULES.keys() - walk.rules == OUT_OF_REACH.keys()


def test_every_pinned_pair_of_rule_and_state_is_reached(walk: Walk) -> None:
    wanted = pin.pinned()
    meant = "if that is meant: python tests/oracle/consumer_pin.py"
    assert walk.visited == wanted, f"{sorted(walk.visited ^ wanted)}; {meant}"


def test_every_line_of_reconciliation_is_gone_through(walk: Walk) -> None:
    """In the walk and the short courses together."""
    assert walk.inputs
    for some in COURSES:
        replay(some)
    assert {one.name for one in TABLE} == LINES


def test_the_machine_itself_finds_nothing_and_is_the_same_every_time() -> None:
    first, again = walked(12, 20), walked(12, 20)
    assert first.found is None, first.found
    assert first.examples == again.examples


@pytest.mark.long
def test_the_machine_makes_the_examples_that_are_kept() -> None:
    assert pin.walk().examples == pin.examples(), "if that is meant: python tests/oracle/consumer_pin.py"


@pytest.mark.long
def test_a_long_walk_finds_nothing() -> None:
    found = walked(4_000, 50).found
    assert found is None, found


# ---- planted bugs


def test_short_courses_find_nothing_either() -> None:
    for one in COURSES:
        assert replay(one)[0] is None


def test_every_rule_has_a_bug_and_every_bug_a_rule() -> None:
    assert {bug.rule for bug in consumer_bugs().values()} == CONSUMER_RULES.keys() - OUT_OF_REACH.keys()


def seen(bug: CoreBug) -> Divergence:
    """How the kept example of a bug ends; without the bug it ends well."""
    inputs = pin.shortest()[bug.name]
    assert replay(inputs)[0] is None
    with planted(bug):
        found, done, _ = replay(inputs)
    assert found is not None, f"{bug.meaning} is not noticed any more: python tests/oracle/consumer_pin.py"
    assert 1 <= len(done) <= LONGEST, str(found)
    return found


@pytest.mark.parametrize("name", consumer_bugs())
def test_a_planted_bug_is_found_and_its_dialogue_short(name: str) -> None:
    found = seen(consumer_bugs()[name])
    assert str(found).startswith(found.headline[:100])
    assert all(len(line) <= 140 for line in str(found).splitlines()), str(found)
    named = pin.where_named(consumer_bugs()[name], found)
    assert (named in (ITSELF, AMONG, TRIED)) != (name in ELSEWHERE), str(found)


def test_the_page_tells_of_these_bugs() -> None:
    bugs = consumer_bugs().values()
    told = pin.page((bug, len(pin.shortest()[bug.name]), seen(bug)) for bug in bugs)
    assert pin.PAGE.read_text(encoding="utf-8") == told, "python tests/oracle/consumer_pin.py"


@pytest.mark.long
@pytest.mark.parametrize("name", consumer_bugs())
def test_a_planted_bug_is_hunted_anew(name: str) -> None:
    found = hunted(consumer_bugs()[name], COURSES)
    assert found is not None, f"{consumer_bugs()[name].meaning} is not noticed"
    assert len(found[0]) <= LONGEST, str(found[1])


# ---- the lockstep itself


def joined(*members: str, settings: Settings | None = None) -> ConsumerLockstep:
    """A group of these members, of whom the log has all."""
    lockstep = ConsumerLockstep()
    assert lockstep.do(settings or Settings())
    assert lockstep.do(TopicIs())
    for each in members:
        assert lockstep.do(replace(JOIN, member_id=each))
        assert lockstep.do(Stored())
    return lockstep


def group_of(lockstep: ConsumerLockstep) -> ConsumerGroup:
    assert isinstance(lockstep.group, ConsumerGroup)
    return lockstep.group


def test_inputs_that_are_not_possible_are_left_out() -> None:
    lockstep = joined("m1")
    before = list(lockstep.inputs)
    for one in (Stored(), Failed(), Due("rebalance", "m1"), Settings(), Commit(topic="u")):
        assert not lockstep.do(one)
    assert lockstep.inputs == before


def test_epochs_and_what_is_owned_mean_the_same_after_other_inputs() -> None:
    lockstep = joined("m1", "m2")
    assert lockstep.do(Beat("m1"))
    assert lockstep.do(Beat("m1", owned="assigned"))
    assert group_of(lockstep).current["m1"].epoch == 3
    again = [one for one in lockstep.inputs if one != replace(JOIN, member_id="m2")]
    found, _, shorter = replay(again)
    assert found is None
    assert group_of(shorter).current["m1"].epoch == 2


def test_a_timer_moves_the_clock_and_time_that_goes_by_does_not_fire_it() -> None:
    lockstep = joined("m1")
    begun = lockstep.now
    assert lockstep.do(Waited(100_000))
    assert set(lockstep.armed) == {("session", "m1")}
    assert lockstep.do(Due("session", "m1"))
    assert lockstep.now == begun + 100_000
    assert not group_of(lockstep).members


def test_the_clock_says_whether_the_interval_is_over() -> None:
    lockstep = joined("m1", settings=Settings(interval_ms=1_000))
    assert lockstep.do(replace(JOIN, member_id="m2"))
    assert group_of(lockstep).target_epoch == 2
    assert lockstep.do(Waited(1_000))
    assert lockstep.do(Beat("m2"))
    assert group_of(lockstep).target_epoch == 3


def test_another_coordinator_has_what_the_log_has() -> None:
    lockstep = joined("m1")
    assert lockstep.do(replace(JOIN, member_id="m2"))
    assert lockstep.do(Leave(("m1",)))
    assert lockstep.appends == 2
    assert lockstep.do(Moved(1))
    assert set(group_of(lockstep).members) == {"m1", "m2"}
    assert lockstep.do(Read(1))
    assert set(group_of(lockstep).members) == {"m1", "m2"}
    assert {name for name, _ in lockstep.armed} == {"session"}


def test_what_the_log_refuses_takes_all_behind_it_along() -> None:
    lockstep = joined("m1")
    before = lockstep.group
    for one in (replace(JOIN, member_id="m2"), Leave(("m2",)), Beat("m1"), Commit(since="current")):
        assert lockstep.do(one)
    assert lockstep.appends == 4
    assert lockstep.do(Failed(4))
    assert lockstep.group == before


def test_offsets_are_followed_to_the_log_and_out_of_it() -> None:
    lockstep = joined("m1")
    inputs: list[Input] = [
        Commit(),
        Stored(),
        Moved(),
        Leave(("m1",)),
        Stored(),
        Commit(since="none", index=1),
        Moved(),
    ]
    for one in inputs:
        assert lockstep.do(one)


class Silent(GroupCoordinator):
    """Never answers a LeaveGroup."""

    def leave_group(self, request, version, token):  # type: ignore[no-untyped-def]
        return type(super().leave_group(request, version, token))()


def test_another_core_can_be_judged_and_what_it_does_is_shortened() -> None:
    inputs = [TopicIs(), replace(JOIN, assignor="range"), Stored(), Beat(), Leave(("m1", "m2")), Stored()]
    found, done, _ = replay(inputs, Silent)
    assert found is not None
    assert found.rule == "leave.batch"
    short, end = minimised(done, found, Silent)
    assert short == [replace(JOIN, since="current"), Leave()]
    assert end.rule == found.rule


def test_what_the_core_raises_is_a_divergence() -> None:
    class Broken(GroupCoordinator):
        def fire(self, timer_id):  # type: ignore[no-untyped-def]
            raise KeyError("a key")

    found, _, _ = replay([JOIN, Stored(), Due()], Broken)
    assert found is not None
    assert found.headline == "KeyError: 'a key'"


def test_two_hashes_for_the_same_topics_and_one_for_two_are_told() -> None:
    words = Words()
    words.meet(5, (("t", "1", 2),))
    words.meet(5, (("t", "1", 2),))
    with pytest.raises(TwoHashesError):
        words.meet(5, (("t", "1", 3),))
    with pytest.raises(TwoHashesError):
        words.meet(6, (("t", "1", 2),))


UNEQUAL = Asked(
    FrozenMap({"m1": frozenset("t"), "m2": frozenset("tu")}),
    FrozenMap({"t": 2, "u": 1}),
    FrozenMap({"m1": frozenset[Partition](), "m2": frozenset[Partition]()}),
    False,
)


MANY = Asked(
    FrozenMap({**UNEQUAL.topics, **dict.fromkeys(("m3", "m4", "m5", "m6"), frozenset[str]())}),
    UNEQUAL.partitions,
    FrozenMap(dict.fromkeys((f"m{n}" for n in range(1, 7)), frozenset[Partition]())),
    False,
)
"""The same with members that subscribe to nothing."""


def test_of_unequal_subscriptions_the_outcomes_of_all_orders_are_allowed_and_no_other() -> None:
    some = {one for one in complete(UNEQUAL) if allowed(ASSIGNORS["uniform"], UNEQUAL, one)}
    assert some == set(ASSIGNORS["uniform"](UNEQUAL))
    assert some < set(complete(UNEQUAL))


def test_every_complete_target_is_allowed_for_many_unequal_members_and_no_other() -> None:
    outcomes = list(complete(MANY))
    assert len(outcomes) == 4
    assert all(allowed(ASSIGNORS["uniform"], MANY, one) for one in outcomes)
    one, u, t = dict(outcomes[0]), Partition("u", 0), Partition("t", 0)
    for wrong in (
        {"m1": one["m1"], "m2": frozenset[Partition]()},
        {"m1": one["m1"] | {u}, "m2": one["m2"] - {u}},
        {"m1": one["m1"] | {t}, "m2": one["m2"] | {t}},
    ):
        assert not allowed(ASSIGNORS["uniform"], MANY, FrozenMap({**one, **wrong}))


def test_an_outcome_of_any_order_is_allowed_for_equal_ones() -> None:
    asked = replace_names(UNEQUAL)
    given = list(islice(ASSIGNORS["uniform"](asked), 100))
    assert all(allowed(ASSIGNORS["uniform"], asked, one) for one in given)
    everything = frozenset({Partition("t", 0), Partition("t", 1)})
    assert not allowed(
        ASSIGNORS["uniform"], asked, FrozenMap({"m1": everything, "m2": frozenset[Partition]()})
    )


def replace_names(asked: Asked) -> Asked:
    """The same members, who all subscribe to t."""
    topics = FrozenMap({name: frozenset("t") for name in asked.topics})
    return Asked(topics, FrozenMap({"t": 2}), asked.target, True)
