"""The core's wishes carried out on an event loop whose time the test tells."""

import pytest

from harness.lines import Lines
from rota.coordinator import (
    Arm,
    Cancel,
    CoordinatorConfig,
    Effects,
    GroupCoordinator,
    HeartbeatReply,
    TimerId,
)
from rota.server.groups import ANSWERED_AT_ONCE, GroupService
from rota.server.timers import AGAIN_MS, LoopTimers

JOIN = {
    "group_id": "g",
    "session_timeout_ms": 6_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"", "_tags": {1: b"unknown"}}],
}


class Handle:
    def __init__(self, due, call):
        self.due, self.call, self.cancelled = due, call, False

    def cancel(self):
        self.cancelled = True


class Loop:
    """What the service uses of an event loop, in virtual seconds."""

    def __init__(self):
        self.now, self.soon, self.timers = 0.0, [], []

    def call_soon(self, call, *arguments):
        self.soon.append(lambda: call(*arguments))

    def time(self):
        return self.now

    def call_at(self, when, call, *arguments):
        self.timers.append(Handle(when, lambda: call(*arguments)))
        return self.timers[-1]

    def turn(self):
        """One turn: what was to come soon."""
        calls, self.soon = self.soon, []
        for call in calls:
            call()

    def advance(self, seconds):
        self.turn()
        until = self.now + seconds
        while due := min(
            (each for each in self.armed() if each.due <= until), key=lambda each: each.due, default=None
        ):
            self.timers.remove(due)
            self.now = max(self.now, due.due)
            due.call()
            self.turn()
        self.now = until

    def armed(self):
        return [each for each in self.timers if not each.cancelled]


class Context:
    version, client_id, client_host = 0, "c", "/127.0.0.1"

    def __init__(self):
        self.replies = []

    def reply(self, body):
        self.replies.append(body)


class World:
    def __init__(self):
        self.loop = Loop()
        self.service = GroupService(CoordinatorConfig(group_initial_rebalance_delay_ms=0), self.loop)

    def ask(self, name, **body):
        context = Context()
        self.service.handlers[name](body, context)
        return context.replies

    def member(self):
        """The id of the one member of a generation whose assignment is still missing."""
        replies = self.ask("JoinGroup", **JOIN)
        self.loop.advance(0)
        (answer,) = replies
        assert (answer["error_code"], answer["generation_id"]) == (0, 1)
        return answer["member_id"]

    def heartbeat(self, member_id):
        (answer,) = self.ask("Heartbeat", group_id="g", generation_id=1, member_id=member_id)
        return answer["error_code"]


@pytest.fixture
def world():
    return World()


def test_a_timer_armed_again_has_one_deadline(world):
    member_id = world.member()
    world.ask("SyncGroup", group_id="g", generation_id=1, member_id=member_id, assignments=[])
    for _ in range(3):
        world.loop.advance(4)
        assert world.heartbeat(member_id) == 0
    world.loop.advance(5.9)
    assert list(world.service.core.groups["g"].members) == [member_id]
    world.loop.advance(0.2)
    assert world.heartbeat(member_id) == 25


def test_a_cancelled_timer_does_not_fire(world):
    member_id = world.member()
    replies = world.ask("LeaveGroup", group_id="g", member_id=member_id)
    assert replies == []  # it empties the group, which the log has to know first
    world.loop.turn()
    assert [each["error_code"] for each in replies] == [0]
    world.loop.advance(500)
    assert len(world.loop.armed()) == 1  # the next cleaning
    world.service.resign()
    assert world.loop.armed() == []


def test_what_is_of_no_use_is_removed_every_ten_minutes(world):
    part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
    for name in ("g", "h"):
        world.ask(
            "OffsetCommit",
            group_id=name,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[{"name": "t", "partitions": [part]}],
        )
    world.loop.turn()
    world.ask("OffsetDelete", group_id="g", topics=[{"name": "t", "partitions": [{"partition_index": 0}]}])
    world.loop.advance(599)
    assert set(world.service.core.groups) == {"g", "h"}
    world.loop.advance(1)
    assert set(world.service.core.groups) == {"h"}
    world.ask("OffsetDelete", group_id="h", topics=[{"name": "t", "partitions": [{"partition_index": 0}]}])
    world.loop.advance(600)
    assert set(world.service.core.groups) == set()


def test_the_log_answers_in_the_next_turn(world):
    member_id = world.member()
    sent = [{"member_id": member_id, "assignment": b"all"}]
    replies = world.ask("SyncGroup", group_id="g", generation_id=1, member_id=member_id, assignments=sent)
    assert replies == []
    world.loop.turn()
    assert [each["assignment"] for each in replies] == [b"all"]


def test_a_coordinator_that_resigns_answers_what_is_parked_and_then_does_nothing(world):
    member_id = world.member()
    replies = world.ask("SyncGroup", group_id="g", generation_id=1, member_id=member_id, assignments=[])
    world.service.resign()
    assert [each["error_code"] for each in replies] == [16]
    assert dict(world.service.core.groups) == {}
    world.loop.turn()
    world.loop.advance(3_600)
    assert len(replies) == 1
    assert world.loop.armed() == []


def test_a_coordinator_that_fails_to_resign_is_stopped_all_the_same(world):
    class Stuck(GroupCoordinator):
        def unload(self):
            raise RuntimeError("stuck")

    world.service = GroupService(CoordinatorConfig(), world.loop, coordinator=Stuck)
    world.ask("JoinGroup", **JOIN)
    with pytest.raises(RuntimeError, match="stuck"):
        world.service.resign()
    world.loop.timers = world.loop.timers[1:]  # of the service before
    assert world.loop.armed() == []


def test_the_coordinator_may_be_another(world):
    """As for a planted bug: the factory gets the settings and the choices."""

    class Deaf(GroupCoordinator):
        def fire(self, timer_id):
            return super().fire(TimerId(timer_id.kind, "another"))

    config = CoordinatorConfig(group_initial_rebalance_delay_ms=0)
    world.service = GroupService(config, world.loop, coordinator=Deaf)
    replies = world.ask("JoinGroup", **JOIN)
    world.loop.advance(3_600)
    assert replies == []


# -- timers ----------------------------------------------------------------------------------------


class Timers:
    """Timers that write down when they fire, and then do what `then` says of them."""

    def __init__(self):
        self.loop, self.fired, self.then = Loop(), [], {}
        self.loop.now = 12.3456
        self.began = self.loop.now
        self.timers = LoopTimers(self.loop, self.fire)

    def fire(self, timer_id):
        self.fired.append((timer_id, round((self.loop.now - self.began) * 1000, 3)))
        self.then.get(timer_id, lambda: None)()

    def names(self):
        return [timer_id for timer_id, _ in self.fired]


@pytest.fixture
def timers():
    return Timers()


def test_timers_fire_in_order_of_deadline_on_one_handle(timers):
    for timer_id, delay_ms in {"c": 300, "a": 5, "b": 70, "d": 100_000}.items():
        timers.timers.arm(timer_id, delay_ms)
    assert len(timers.loop.armed()) == 1
    timers.loop.advance(1)
    assert timers.fired == [("a", 5), ("b", 70), ("c", 300)]
    assert len(timers.loop.armed()) == 1


def test_a_timer_cancelled_or_moved_by_one_that_is_due_with_it_does_not_fire(timers):
    for timer_id in ("a", "cancelled", "moved", "z"):
        timers.timers.arm(timer_id, 10)

    def then():
        timers.timers.cancel("cancelled")
        timers.timers.arm("moved", 50)

    timers.then["a"] = then
    timers.loop.advance(0.030)
    assert timers.names() == ["a", "z"]
    timers.loop.advance(1)
    assert timers.fired[2:] == [("moved", 60)]


class AllAtOnce(LoopTimers):
    """Takes out all that is due before the first of it fires."""

    def _due(self):
        for timer_id in self._wheel.advance(int(self._wakes_ms)):
            self._fire(timer_id)
        self._wake(self._wheel.next_due_ms())


def test_timers_that_are_taken_out_all_at_once_are_found(timers):
    timers.timers = AllAtOnce(timers.loop, timers.fire)
    with pytest.raises(AssertionError):
        test_a_timer_cancelled_or_moved_by_one_that_is_due_with_it_does_not_fire(timers)


MANY = 1_000
"""Members of a group whose sessions begin anew at once."""


def test_many_that_are_armed_together_fire_as_if_each_were_armed(timers):
    for timer_id in range(0, MANY, 2):
        timers.timers.arm(timer_id, 10)
    timers.timers.arm_all(range(MANY), 30, timers.timers.now())
    assert len(timers.loop.armed()) == 1
    timers.loop.advance(1)
    assert timers.fired == [(timer_id, 30) for timer_id in range(MANY)]


def test_many_without_delay_are_armed_one_by_one(timers):
    """So one that fires and is among them is not due again at once."""
    timers.then[1] = lambda: len(timers.fired) < 100 and timers.timers.arm_all([0, 1], 0, timers.timers.now())
    timers.timers.arm(1, 0)
    timers.loop.advance(0.1)
    assert timers.names().count(1) == pytest.approx(100 / AGAIN_MS, abs=1)


def beginning(sessions):
    """Effects that begin the sessions of so many members anew, of half of them with another timeout."""
    delays = (6_000, 9_000)
    arms = [Arm(TimerId("session", "g", f"m{number}"), delays[number % 2]) for number in range(sessions)]
    return Effects(timers=(Cancel(TimerId("join", "g")), *arms, Arm(TimerId("sync", "g"), 60_000)))


@pytest.mark.parametrize("sessions", [1, MANY])
def test_the_timers_of_a_step_are_armed_and_cancelled(sessions):
    world = World()
    fired = []
    world.service._timers._fire = fired.append
    world.service._do(Effects(timers=(Arm(TimerId("join", "g"), 1_000),)))
    world.service._do(beginning(sessions))
    world.loop.advance(61)
    even, odd = ([("session", f"m{number}") for number in range(half, sessions, 2)] for half in (0, 1))
    assert [(each.kind, each.member_id) for each in fired] == [*even, *odd, ("sync", "")]


def test_the_timers_of_a_large_group_cost_a_few_lines_each():
    world = World()
    first, again = beginning(MANY), beginning(MANY)
    world.service._do(first)
    with Lines() as lines:
        world.service._do(again)
    assert lines.count < 12 * MANY


@pytest.mark.parametrize(("answers", "told"), [(ANSWERED_AT_ONCE, ANSWERED_AT_ONCE), (MANY, 0)])
def test_what_answers_many_has_no_part_in_the_turn_of_the_loop_in_which_it_is_made(world, answers, told):
    contexts = [Context() for _ in range(answers)]
    world.service._do(Effects(replies=tuple((each, HeartbeatReply()) for each in contexts)))
    assert sum(len(each.replies) for each in contexts) == told
    world.loop.turn()
    assert [len(each.replies) for each in contexts] == [1] * answers


def test_what_a_timer_arms_without_delay_fires_too(timers):
    timers.timers.arm("a", 10)
    timers.then["a"] = lambda: timers.timers.arm("b", 0)
    timers.loop.advance(0.010)
    assert timers.names() == ["a", "b"]


def test_a_timer_that_arms_itself_without_delay_leaves_the_loop_alone(timers):
    """As that of a join phase that nobody can lead, where a client wants a rebalance timeout of nothing."""
    timers.then["a"] = lambda: len(timers.fired) < 10_000 and timers.timers.arm("a", 0)
    timers.timers.arm("a", 0)
    timers.loop.advance(1)
    assert len(timers.fired) == pytest.approx(1000 / AGAIN_MS, abs=1)


def test_a_timer_without_delay_waits_for_the_next_turn(timers):
    timers.timers.arm("a", 0)
    assert timers.names() == []
    timers.loop.advance(0)
    assert timers.fired == [("a", 0)]


@pytest.mark.parametrize("began", [0, 0.0001, 0.4999, 0.5, 0.9999])
def test_a_timer_is_never_early_and_a_millisecond_late_at_most(timers, began):
    """Armed within a millisecond."""
    timers.loop.now += began / 1000
    timers.timers.arm("a", 7)
    timers.loop.advance(1)
    ((_, at),) = timers.fired
    assert 7 <= round(at - began, 3) <= 8


def test_an_earlier_timer_takes_over_the_handle(timers):
    timers.timers.arm("late", 100)
    timers.timers.arm("early", 10)
    assert len(timers.loop.armed()) == 1
    timers.loop.advance(0.050)
    assert timers.names() == ["early"]


def test_heartbeats_leave_the_handle_alone(timers):
    """A session that is armed again and again: the loop wakes for the first deadline, then for the last."""
    timers.timers.arm("session", 10_000)
    for _ in range(5):
        timers.loop.advance(1)
        timers.timers.arm("session", 10_000)
    assert len(timers.loop.timers) == 1
    timers.loop.advance(20)
    assert timers.fired == [("session", 15_000)]


def test_one_that_fails_does_not_stop_the_others(timers):
    timers.timers.arm("a", 10)
    timers.timers.arm("b", 10)
    timers.then["a"] = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        timers.loop.advance(1)
    timers.loop.advance(1)
    assert timers.names() == ["a", "b"]


def test_nothing_is_left_after_a_clear(timers):
    timers.timers.arm("a", 10)
    timers.timers.arm("b", 10)
    timers.then["a"] = timers.timers.clear
    timers.loop.advance(1)
    assert timers.names() == ["a"]
    timers.timers.arm("c", 10)
    timers.timers.clear()
    assert timers.loop.armed() == []


def test_a_timer_of_the_core_that_another_cancels_in_the_same_moment_does_not_fire(world):
    """In version 0 session and sync phase are equally long: the last session's end stops the phase."""
    member_id = world.member()
    fired, original = [], world.service.core.fire
    world.service.core.fire = lambda timer_id: fired.append(timer_id) or original(timer_id)
    world.loop.advance(3_600)
    assert fired == [TimerId("session", "g", member_id)]
