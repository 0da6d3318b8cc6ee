"""The timing wheel against a sorted list: near and far deadlines, arming again, cancels, jumps."""

import random

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from rota.coordinator import TimingWheel, wheel

IDS = st.integers(0, 9)
NEAR = st.integers(0, 70)
AROUND_A_LEVEL = st.builds(
    lambda bits, offset: max(0, (1 << bits) + offset),
    st.sampled_from([6, 12, 18, 24, 36, 60]),
    st.integers(-2, 2),
)
SPANS = NEAR | AROUND_A_LEVEL | st.integers(0, 300_000)


class WheelIsASortedList(RuleBasedStateMachine):
    """The model: deadlines in order of arming; sorting is stable, so ties keep that order."""

    make = TimingWheel

    def __init__(self):
        super().__init__()
        self.now = 0
        self.wheel = self.make()
        self.armed = {}

    @rule(timer=IDS, span=SPANS)
    def arm(self, timer, span):
        self.armed.pop(timer, None)
        self.armed[timer] = self.now + span
        self.wheel.arm(timer, self.now + span)

    @rule(timer=IDS, other=IDS)
    def arm_beside_another(self, timer, other):
        """The same deadline as another's, whatever time has passed since that was armed."""
        deadline = self.armed.get(other, self.now)
        self.armed.pop(timer, None)
        self.armed[timer] = deadline
        self.wheel.arm(timer, deadline)

    @rule(first=IDS, others=st.lists(IDS, unique=True), span=SPANS)
    def arm_together(self, first, others, span):
        """As if each were armed so, with one that was armed just now or before."""
        if first not in self.armed:
            self.armed[first] = self.now + span
            self.wheel.arm(first, self.now + span)
        others = [each for each in others if each != first]
        for timer in others:
            self.armed.pop(timer, None)
            self.armed[timer] = self.armed[first]
        self.wheel.arm_with(first, others)

    @rule(timer=IDS, span=NEAR)
    def arm_too_late(self, timer, span):
        self.armed.pop(timer, None)
        self.armed[timer] = self.now
        self.wheel.arm(timer, max(0, self.now - span))

    @rule(timer=IDS)
    def cancel(self, timer):
        self.armed.pop(timer, None)
        self.wheel.cancel(timer)

    @rule(span=SPANS)
    def advance(self, span):
        self.now += span
        assert self.wheel.advance(self.now) == self.due()

    @rule(beyond=st.sampled_from([-1, 0, 1]))
    def advance_to_the_next(self, beyond):
        if self.armed:
            self.now = max(self.now, min(self.armed.values()) + beyond)
            assert self.wheel.advance(self.now) == self.due()

    @rule(span=SPANS, times=st.integers(1, 4))
    def pop_some(self, span, times):
        self.now += span
        for _ in range(times):
            timer = self.wheel.pop(self.now)
            first = min(
                (timer for timer in self.armed if self.armed[timer] <= self.now),
                key=self.armed.get,
                default=None,
            )
            assert timer == first
            self.armed.pop(timer, None)
        # What is left over is due before anything that is armed from now on, and comes first.
        assert self.wheel.advance(self.now) == self.due()

    def due(self):
        due = sorted((timer for timer in self.armed if self.armed[timer] <= self.now), key=self.armed.get)
        for timer in due:
            del self.armed[timer]
        return due

    @invariant()
    def same_timers(self):
        assert len(self.wheel) == len(self.armed)
        assert [timer in self.wheel for timer in range(10)] == [timer in self.armed for timer in range(10)]
        assert self.wheel.next_due_ms() == min(self.armed.values(), default=None)


def run(make):
    run_state_machine_as_test(
        type("Machine", (WheelIsASortedList,), {"make": make}),
        settings=settings(
            max_examples=300,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate],
        ),
    )


def test_the_wheel_is_a_sorted_list():
    run(TimingWheel)


class ForgetsToMoveDown(TimingWheel):
    def _put(self, timer_id, deadline_ms):
        super()._put(timer_id, deadline_ms if timer_id not in self._slots else self._now)


class KeepsItsPlaceWhenArmedAgain(TimingWheel):
    def arm(self, timer_id, deadline_ms):
        slot = self._slots.get(timer_id)
        if slot is None or slot[timer_id] != deadline_ms:
            super().arm(timer_id, deadline_ms)


class KeepsTheOldDeadline(TimingWheel):
    def arm(self, timer_id, deadline_ms):
        if timer_id not in self:
            super().arm(timer_id, deadline_ms)


class LeavesOthersWhereTheyWere(TimingWheel):
    def arm_with(self, armed, others):
        super().arm_with(armed, [timer for timer in others if timer not in self])


class IsDueWithOthersNow(TimingWheel):
    def arm_with(self, armed, others):
        for timer in others:
            self.arm(timer, self._now)


class LastFirst(TimingWheel):
    def advance(self, now_ms):
        return super().advance(now_ms)[::-1]


class OneTooEarly(TimingWheel):
    def pop(self, now_ms):
        return super().pop(now_ms + 1)


class OneTooLate(TimingWheel):
    def pop(self, now_ms):
        return super().pop(now_ms - 1)


class OneLevelLessThanNeeded(TimingWheel):
    def _put(self, timer_id, deadline_ms):
        super()._put(timer_id, min(deadline_ms, self._now + (1 << 18)))


WRONG = [
    ForgetsToMoveDown,
    KeepsItsPlaceWhenArmedAgain,
    KeepsTheOldDeadline,
    LeavesOthersWhereTheyWere,
    IsDueWithOthersNow,
    LastFirst,
    OneTooEarly,
    OneTooLate,
    OneLevelLessThanNeeded,
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_wheel_is_found(wrong):
    with pytest.raises((AssertionError, KeyError)):
        run(wrong)


def test_what_is_carried_out_may_cancel_and_move_what_is_due_with_it():
    wheel = TimingWheel()
    for timer in ("first", "cancelled", "moved", "last"):
        wheel.arm(timer, 5)
    assert wheel.pop(10) == "first"
    wheel.cancel("cancelled")
    wheel.arm("moved", 11)
    assert [wheel.pop(10), wheel.pop(10)] == ["last", None]
    assert wheel.advance(11) == ["moved"]


def test_a_wheel_may_begin_at_any_time():
    wheel = TimingWheel(1_000_000)
    wheel.arm("a", 1_000_100)
    wheel.arm("past", 5)
    assert wheel.next_due_ms() == 1_000_000
    assert wheel.advance(1_000_000) == ["past"]
    assert wheel.advance(1_000_100) == ["a"]


class Counted(TimingWheel):
    """Counts how often a timer is put into a slot."""

    moves = 0

    def _put(self, timer_id, deadline_ms):
        self.moves += 1
        super()._put(timer_id, deadline_ms)


def test_a_timer_moves_at_most_once_a_level():
    dice, counted = random.Random(1), Counted()
    for timer in range(1_000):
        counted.arm(timer, dice.randrange(1 << 4 * wheel.DIGIT))
    due = [counted.advance(now) for now in range(0, 1 << 4 * wheel.DIGIT, 5_003)]
    assert sum(map(len, due)) > 990
    assert counted.moves <= 4 * 1_000


def test_arming_again_leaves_nothing_behind():
    """Sessions of 10,000 members that heartbeat for a minute: as many entries as members, and none moves."""
    counted = Counted()
    for second in range(0, 60_000, 3_000):
        assert counted.advance(second) == []
        for member in range(10_000):
            counted.arm(member, second + 10_000)
    assert counted.moves == 20 * 10_000
    assert sum(len(slot) for level in counted._levels for slot in level.slots) == len(counted) == 10_000
