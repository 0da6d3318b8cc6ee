"""A process that was stopped for longer than a session expires nobody who had written in time.

The bytes lie in the sockets when it goes on, and all timers are due.
"""

import signal
import subprocess
import sys
import time

import pytest

from rota.server import timers
from server.test_group_service import Timers

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
}


@pytest.fixture
def served():
    """A server in a process of its own, and its address."""
    options = [each for pair in SETTINGS.items() for each in ("--set", "{}={}".format(*pair))]
    process = subprocess.Popen(
        (sys.executable, "-m", "rota", "serve", *options), stdout=subprocess.PIPE, text=True
    )
    yield process, process.stdout.readline().split()[-1]
    process.kill()
    process.communicate()


def heartbeats_after_a_pause(process, address, member):
    """The errors of two heartbeats of each member, of which the first was sent during the pause."""
    members = [member(address) for _ in range(20)]
    for number, each in enumerate(members):
        each.request = each.request | {"group_id": f"g{number}", "session_timeout_ms": 1_000}
        each.join(version=3)
        place = each.place(group_id=f"g{number}")
        assert each.call("SyncGroup", 3, **place, assignments=[])["error_code"] == 0
    process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(0.3)
        for number, each in enumerate(members):
            each.send("Heartbeat", 4, **each.place(group_id=f"g{number}"))
        time.sleep(1.5)
    finally:
        process.send_signal(signal.SIGCONT)
    first = {each.receive()["error_code"] for each in members}
    again = [
        each.call("Heartbeat", 4, **each.place(group_id=f"g{number}")) for number, each in enumerate(members)
    ]
    return first | {each["error_code"] for each in again}


def test_who_has_written_before_the_end_of_a_pause_stays(served, member):
    assert heartbeats_after_a_pause(*served, member) == {0}


def test_who_has_not_written_is_expired_all_the_same(served, member):
    process, address = served
    late = member(address)
    late.request = late.request | {"session_timeout_ms": 1_000}
    late.join(version=3)
    assert late.call("SyncGroup", 3, **late.place(), assignments=[])["error_code"] == 0
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    time.sleep(1.0)
    assert late.heartbeat() == 25


@pytest.fixture
def due():
    """Timers of which three are due when the loop goes on after a second of pause."""
    world = Timers()
    for name in "abc":
        world.timers.arm(name, 10)
    world.loop.now += 1
    return world


def test_a_pause_is_followed_by_a_time_of_grace_that_ends(due):
    due.loop.advance(timers.GRACE_MS / 1000 - 0.01)
    assert due.fired == []
    due.timers.cancel("a")
    due.timers.arm("b", 5_000)
    due.loop.advance(0.02)
    assert due.names() == ["c"]
    due.loop.advance(6)
    assert due.names() == ["c", "b"]


def test_two_pauses_are_two(due):
    due.loop.advance(0.05)
    due.loop.now += 1
    due.loop.advance(timers.GRACE_MS / 1000 - 0.01)
    assert due.fired == []
    due.loop.advance(0.02)
    assert due.names() == ["a", "b", "c"]


def test_many_timers_of_one_instant_fire_in_turns_with_others():
    """No pause is seen in what takes long by itself."""
    world = Timers()

    def slow():
        world.loop.now += 0.002

    for number in range(1_000):
        world.timers.arm(number, 10)
        world.then[number] = slow
    handles = []
    call_at = world.loop.call_at
    world.loop.call_at = lambda *arguments: handles.append(arguments) or call_at(*arguments)
    world.loop.advance(3)
    assert world.names() == list(range(1_000))
    assert len(handles) >= 300
    assert world.fired[-1][1] < 2_100
