"""A hierarchical timing wheel: many timers, most of which are armed again before they are due.

Level 0 has one slot for each of the next milliseconds, a slot of level n as many milliseconds as all of level
n - 1. A timer lies in the level of the highest digit (base 64) in which its deadline differs from the
wheel's time, in the slot of its own digit there. So the first slot in use of the lowest level in use has the
timers that are due first, and those of level 0 share one deadline. When the wheel's time enters a slot of a
higher level, the timers there move down; nothing moves before.

Source: Varghese and Lauck, "Hashed and hierarchical timing wheels" (1987); Kafka's broker keeps its delayed
operations in one.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

DIGIT = 6
"""Bits of a digit: 64 slots a level, so six levels reach two years ahead."""

LOW = (1 << DIGIT) - 1

T = TypeVar("T", bound=Hashable)
Slot = dict[T, int]


class _Level(Generic[T]):
    """Slots with their timers and deadlines; `used` has a bit for each slot that may have timers."""

    __slots__ = ("slots", "used")

    def __init__(self) -> None:
        self.used = 0
        self.slots: tuple[Slot[T], ...] = tuple({} for _ in range(1 << DIGIT))


class TimingWheel(Generic[T]):
    """Armed timers by id, each with one deadline. It has no clock: its time is that of the last `advance`.

    Times are whole milliseconds from an origin of the caller's choice, not negative. `arm` and `cancel` take
    constant time; a timer moves at most once for each level before it is due.
    """

    __slots__ = ("_levels", "_now", "_slots")

    def __init__(self, now_ms: int = 0) -> None:
        self._now = now_ms
        self._levels: list[_Level[T]] = [_Level()]
        self._slots: dict[T, Slot[T]] = {}

    def arm(self, timer_id: T, deadline_ms: int) -> None:
        """Make a timer due at a deadline; armed already, it has the new deadline only.

        A deadline that the wheel's time has passed counts as the wheel's time.
        """
        slot = self._slots.get(timer_id)
        if slot is not None:
            del slot[timer_id]
        self._put(timer_id, deadline_ms if deadline_ms > self._now else self._now)

    def arm_with(self, armed: T, others: Iterable[T]) -> None:
        """Make other timers due with one that is armed: as `arm` for each, in less than half of the time."""
        slots = self._slots
        its = slots[armed]
        deadline_ms = its[armed]
        for timer_id in others:
            slot = slots.get(timer_id)
            if slot is not None:
                del slot[timer_id]
            its[timer_id] = deadline_ms
            slots[timer_id] = its

    def cancel(self, timer_id: T) -> None:
        """Forget a timer; nothing happens if it is not armed."""
        slot = self._slots.pop(timer_id, None)
        if slot is not None:
            del slot[timer_id]

    def deadline_of(self, timer_id: T) -> int | None:
        """When an armed timer is due, in milliseconds; None if it is not armed."""
        slot = self._slots.get(timer_id)
        return None if slot is None else slot[timer_id]

    def pop(self, now_ms: int) -> T | None:
        """Take out the first timer that is due at `now_ms`, in the order of `advance`; None if there is none.

        Timers that are carried out one by one this way can cancel or move each other: what is due is decided
        anew each time.
        """
        while (first := self._first()) is not None:
            level, start, slot = first
            if start > now_ms:
                break
            self._now = max(self._now, start)
            if level == 0:
                timer_id = next(iter(slot))
                self.cancel(timer_id)
                return timer_id
            moving = list(slot.items())
            slot.clear()
            for timer_id, deadline_ms in moving:
                self._put(timer_id, deadline_ms)
        self._now = max(self._now, now_ms)
        return None

    def advance(self, now_ms: int) -> list[T]:
        """Take out all timers that are due at `now_ms`: in order of deadline, ties in order of arming."""
        due = []
        while (timer_id := self.pop(now_ms)) is not None:
            due.append(timer_id)
        return due

    def next_due_ms(self) -> int | None:
        """The first deadline, None if no timer is armed. Looks at the timers of one slot."""
        first = self._first()
        return None if first is None else min(first[2].values())

    def __contains__(self, timer_id: object) -> bool:
        return timer_id in self._slots

    def __len__(self) -> int:
        return len(self._slots)

    def _put(self, timer_id: T, deadline_ms: int) -> None:
        # To the end of its slot, so that equal deadlines stay in order of arming: timers that come down from
        # a higher level do so before anything can be armed in the range that they come down to.
        level = ((deadline_ms ^ self._now | 1).bit_length() - 1) // DIGIT
        while level >= len(self._levels):
            self._levels.append(_Level())
        digit = deadline_ms >> DIGIT * level & LOW
        self._levels[level].used |= 1 << digit
        slot = self._levels[level].slots[digit]
        slot[timer_id] = deadline_ms
        self._slots[timer_id] = slot

    def _first(self) -> tuple[int, int, Slot[T]] | None:
        """The slot of the timers that are due first: its level, the time at which it begins, the timers."""
        for number, level in enumerate(self._levels):
            while level.used:
                lowest = level.used & -level.used
                digit = lowest.bit_length() - 1
                if slot := level.slots[digit]:
                    above = self._now >> DIGIT * (number + 1) << DIGIT
                    return number, (above | digit) << DIGIT * number, slot
                level.used ^= lowest  # emptied by cancelling since
        return None
