"""Walks in virtual time that would never be over end by themselves, undecided, and say why."""

from __future__ import annotations

import asyncio

import pytest

from harness.walk_hunt import grounds
from rota.generate.hunt import trial
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict
from rota.generate.virtual import LONGEST, NotEnded, in_virtual_time
from rota.server.timers import LoopTimers
from rota.virtual import TimeStandsStill, VirtualLoop
from rota.virtual.loop import AT_ONE_MOMENT

SEED, PROFILE = 1, "kafka-4.x"


def at_once(timers):
    """Looks again in the loop's next iteration."""
    timers._loop.call_soon(at_once, timers)


def without_delay(timers):
    """Looks again after no time."""
    timers._loop.call_later(0, without_delay, timers)


@pytest.fixture(params=[at_once, without_delay])
def restless(request, monkeypatch):
    """A server that looks for timers all the time once one is armed, and lets no time pass; how it looks."""
    arm = LoopTimers.arm

    def armed(timers, *what):
        arm(timers, *what)
        request.param(timers)

    ground = grounds(SEED, PROFILE)
    assert not trial(ground.plan(0), SETTINGS, PROFILE).endless
    assert ground.sound(0)  # before anything is planted
    monkeypatch.setattr(LoopTimers, "arm", armed)
    return request.param.__name__


def test_a_walk_in_which_time_stands_still_is_undecided(restless):
    """It is told with what was called last, and keeps what was seen until then."""
    found = trial(grounds(SEED, PROFILE).plan(0), SETTINGS, PROFILE)
    walked = found.judged()
    assert walked.verdict is Verdict.UNDECIDED
    assert walked.why.startswith("it did not end: virtual time stands still")
    assert restless in walked.why
    assert walked.played.requests > 0
    assert found.print != grounds(SEED, PROFILE).sound(0).print


def test_it_counts_for_as_long_as_it_was_planned(restless):
    """A run of walks that take no time at all would have no end."""
    plan = grounds(SEED, PROFILE).plan(0)
    assert trial(plan, SETTINGS, PROFILE).seconds >= plan.seconds > 1


def test_a_walk_that_is_never_over():
    """Time passes, and nothing comes of it."""

    async def walk(_):
        while True:
            await asyncio.sleep(10)

    with pytest.raises(NotEnded, match=f"not over after {LONGEST:g} s") as raised:
        in_virtual_time(SETTINGS, walk)
    assert raised.value.at >= LONGEST


def test_what_takes_time_may_go_on():
    """As many callbacks as one likes may run as long as the clock moves."""
    loop, left = VirtualLoop(), [AT_ONE_MOMENT + 10]

    def again():
        left[0] -= 1
        if left[0]:
            loop.call_later(0.001, again)

    loop.call_soon(again)
    loop.settle()
    loop.advance(200)
    assert left == [0]


def test_a_task_is_told_by_its_coroutine():
    loop = VirtualLoop()

    async def yields():
        while True:
            await asyncio.sleep(0)

    with pytest.raises(TimeStandsStill, match=r"yields$"):
        loop.run(lambda: loop.create_task(yields()))
