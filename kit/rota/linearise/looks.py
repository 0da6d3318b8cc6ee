"""When a coordinator that looks for what has expired from time to time would find something.

Of the looks only the time between two is known, not when the first one was. So what could go by a look may be
gone from then on, and must be gone when the time between two looks has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.kernel import frozen, replace
from rota.linearise.times import FOREVER, Span
from rota.spec import Group, Spec
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
class Look:
    """The next look that changes something. since: from which millisecond on there is something to be found;
    due: when it comes.
    """

    since: int
    due: Span


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
            if any(step.line or step.removes_group for step in found):
                return now_ms
    return None


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
    before: Look | None, since: int | None, span: Span, every: float, line: Sequence[object]
) -> Look | None:
    """The next look after a step. span: of the step; line: what waits for the log.

    While offsets of the group wait for the log a coordinator may pass it over until the look after that. What
    the last look found waits for the log far shorter than until the next one.
    """
    if since is None or any(map(_has_expired, line)):
        return None
    passed_over = any(isinstance(one, OffsetBatch | TransactionEnd | GroupForgotten) for one in line)
    if before is not None and before.since == since and passed_over == (before.due.latest == FOREVER):
        return before
    earliest = max(span.earliest, since / 1000)
    latest = FOREVER if passed_over else max(span.latest, since / 1000) + every
    return Look(since, Span(earliest, latest))


def _has_expired(one: object) -> bool:
    """Whether it is what a look found."""
    return isinstance(one, OffsetBatch) and any(
        isinstance(record, OffsetTombstone) and record.expired for record in one.records
    )
