"""What comes behind a first deviation is seen by walks without what was answered wrongly."""

from __future__ import annotations

from contextlib import ExitStack

from rota.generate.avoiding import without_fault
from rota.generate.plan import Ask, Plan, Silence, read_plan
from rota.generate.run import Tally
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks
from rota.mutants.core import core_bugs, planted
from rota.spec import HeartbeatRequest, SyncGroupRequest

BUGS = ("empty-group-id-unknown-in-heartbeat", "empty-group-id-unknown-in-sync")

HEARTBEAT, SYNC = HeartbeatRequest("", 1, "x"), SyncGroupRequest("", 1, "x", (), "consumer", "range")


def plan(*requests):
    asks = [Ask(n, "a", 0, 4, request) for n, request in enumerate(requests)]
    return Plan(1, 1, (*asks, Silence(0.2)))


def walked(found, *names):
    """The tally of walks on a server with these bugs where one plan is there to be walked on."""
    tally, left = Tally(), [found]

    async def following():
        return left.pop() if left else Plan(1, 99, (Silence(0.1),))

    async def walk(coordinator):
        walks = Walks(coordinator, "walk")
        await walks.many(following, 60.0, tally.add, at_once=1, stopped=lambda: tally.plans > 8)
        return walks

    with ExitStack() as bugs:
        for name in names:
            bugs.enter_context(planted(core_bugs()[name]))
        walks = in_virtual_time(SETTINGS, walk)
    return tally, walks


def test_the_second_of_two_deviations_in_one_plan_is_found():
    """The walk ends at the first; without that request the second one is the first."""
    tally, walks = walked(plan(HEARTBEAT, SYNC, HEARTBEAT), *BUGS)
    found = {cause[0]: [one.id for one in failed] for cause, failed in tally.failed.items()}
    assert found == {"heartbeat.invalid-group-id": ["1-1", "1-1-2"], "sync.invalid-group-id": ["1-1-1"]}
    assert walks.avoiding.walked == 3


def test_what_fails_alike_again_is_left_out_with_all_of_its_kind():
    """Else a plan that asks the same often would never come to an end of it."""
    tally, _ = walked(plan(HEARTBEAT, HEARTBEAT, HEARTBEAT, SYNC), *BUGS)
    found = {cause[0]: [one.id for one in failed] for cause, failed in tally.failed.items()}
    assert found == {"heartbeat.invalid-group-id": ["1-1", "1-1-1"], "sync.invalid-group-id": ["1-1-2"]}


def test_nothing_is_walked_again_where_nothing_fails():
    """A target without deviations gets the plans of the seed and no others."""
    tally, walks = walked(plan(HEARTBEAT, SYNC))
    assert not tally.failed
    assert walks.avoiding.walked == 0


def test_a_plan_that_leaves_something_out_says_so():
    """Its name is its own, and it is read back as it was."""
    tally, _ = walked(plan(HEARTBEAT, SYNC), *BUGS)
    first, second = (failed[0] for failed in tally.failed.values())
    assert (first.fault, second.fault) == (0, 1)
    assert [one.number for one in second.played.plan.steps if isinstance(one, Ask)] == [1]
    assert read_plan(second.played.plan.as_json()) == second.played.plan
    assert without_fault(first).id == "1-1-1"
    assert all(one.verdict is Verdict.FAIL for one in (first, second))
