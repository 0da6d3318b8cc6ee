"""When a coordinator that looks for what has expired from time to time would find something.

The time between two looks is known. Where nobody knows when the coordinator was started, what could go by a
look may be gone from then on, and must be gone when that time has passed. Else looks come in equal distances
from its start on, but for how late each may be and all behind it: what comes and goes between two stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from rota.kernel import frozen, replace
from rota.linearise.times import FOREVER, Span
from rota.spec import Group, Profile, Spec
from rota.spec.offset_state import (
    Expire,
    GroupForgotten,
    OffsetBatch,
    Offsets,
    OffsetTombstone,
    RetentionCheck,
    TransactionEnd,
)

AT_ONCE = -1
"""The millisecond of what waits for no offset's expiry: an Empty group without any goes at the next look."""


@frozen
class Looks:
    """When a coordinator looks. every: seconds between two; started: it was, None where nobody knows; first:
    how many such times later it looks first.
    """

    every: float
    started: Span | None = None
    first: int = 1

    def earliest(self, at: float, late: float) -> float:
        """When the first look comes at the earliest that comes no sooner than this.

        late: seconds by which each may be late, and all that follow with it.
        """
        if self.started is None:
            return at
        number = max(self.first, ceil((at - self.started.latest) / (self.every + late)))
        return max(at, self.started.earliest + number * self.every)

    def latest(self, at: float, late: float) -> float:
        """When it comes at the latest, beside what that one may be late itself."""
        if self.started is None:
            return at + self.every
        number = max(self.first, ceil((at - self.started.earliest) / self.every))
        last = self.started.latest + number * self.every + max(0, number - 1) * late
        return min(last, at + self.every)


def looks_of(profile: Profile, every: float | None, started: Span | None) -> Looks | None:
    """Those of a coordinator of this line; None where nobody knows how often it looks. The Scala coordinator,
    which records no creations, looks also as soon as it is started.
    """
    return None if every is None else Looks(every, started, first=1 if profile.creation_recorded else 0)


@frozen
class Look:
    """The next look that finds something. since: from which millisecond on there is something to be found;
    due: when it comes; passes: where it leaves that as it is, the rule that says so.
    """

    since: int
    due: Span
    passes: str = ""


def finds_from(spec: Spec, group: Group | None, offsets: Offsets) -> int | None:
    """From which millisecond on a look changes something, as things are; None where it never does.

    Offsets count that have an expiry of their own; the retention of a broker is longer than any walk.
    """
    if group is None:
        return None
    words = (word for step in spec.retention(group, RetentionCheck(AT_ONCE)) for word in step.offsets)
    for word in words:
        assert isinstance(word, Expire)
        for now_ms in (AT_ONCE, *expiries(offsets)):
            found = spec.offsets_expire(offsets, replace(word, now_ms=now_ms))
            if any(step.offsets != offsets or step.line or step.removes_group for step in found):
                return now_ms
    return None


def passes_from(spec: Spec, group: Group | None, offsets: Offsets) -> tuple[int, str] | None:
    """From which millisecond on a look leaves something that has expired as it is, and by which rule.

    For a group in which `finds_from` has nothing. None too where no rule says so: the one that should may be
    in doubt.
    """
    if group is None or not (known := expiries(offsets)):
        return None
    rules = [slug for step in spec.retention(group, RetentionCheck(AT_ONCE)) for slug in step.rules]
    return (known[0], rules[-1]) if rules else None


def expiries(offsets: Offsets) -> Sequence[int]:
    """The milliseconds at which offsets expire by themselves."""
    known = {value.expire_timestamp_ms for value in offsets.committed.values()}
    return sorted(each for each in known if each is not None)


def moments(offsets: Offsets, span: Span, unsure: float) -> Iterator[int]:
    """The milliseconds at which a look of this span may come, as far as it finds something else at each.

    unsure: seconds by which what has expired may have done so later than is known.
    """
    first, last = int((span.earliest - unsure) * 1000), int(span.latest * 1000)
    yield first
    yield from (each for each in expiries(offsets) if first < each <= last)


def next_look(
    before: Look | None,
    since: int,
    passes: str,
    span: Span,
    looks: Looks,
    late: float,
    line: Sequence[object],
) -> Look | None:
    """The next look after a step. span: of the step; late: as of `Looks`; line: what waits for the log.

    While offsets of the group wait for the log a coordinator may pass it over until the look after that. What
    the last look found waits for the log far shorter than until the next one.
    """
    if any(map(_has_expired, line)):
        return None
    passed_over = any(isinstance(one, OffsetBatch | TransactionEnd | GroupForgotten) for one in line)
    same = before is not None and (before.since, before.passes) == (since, passes)
    if same and before is not None and passed_over == (before.due.latest == FOREVER):
        return before
    earliest = looks.earliest(max(span.earliest, since / 1000), late)
    latest = FOREVER if passed_over else looks.latest(max(span.latest, since / 1000), late)
    return Look(since, Span(earliest, latest), passes)


def _has_expired(one: object) -> bool:
    """Whether it is what a look found."""
    return isinstance(one, OffsetBatch) and any(
        isinstance(record, OffsetTombstone) and record.expired for record in one.records
    )
