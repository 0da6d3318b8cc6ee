"""The spec's outcomes for a group together with its offsets and what waits for the log, in its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from rota.oracle.offsets_translate import spec_append
from rota.oracle.translate import Fields
from rota.spec import Arm, Cancel, Group, GroupRecord, Reply, Spec, Step
from rota.spec.effects import ForOffsets
from rota.spec.offset_state import (
    Expire,
    GroupForgotten,
    GroupForgottenAnswer,
    InLine,
    OffsetBatch,
    OffsetRead,
    Offsets,
    OffsetStep,
    OffsetTombstone,
    TransactionEnd,
)
from rota.spec.vocabulary import AppendError


@dataclass
class Waiting:
    """What waits for the log. record: of the group, for its tombstone; answered: the log has, with error.

    append_id: the coordinator's number of the append, known when it is answered.
    """

    item: InLine
    record: GroupRecord | None = None
    answered: bool = False
    append_id: int = -1
    error: AppendError | None = None


@dataclass
class Kept:
    """The offsets of a group as the spec has them, and the line for the log, oldest first.

    given_up: what the log has of them while no coordinator has read it, None while one has.
    """

    offsets: Offsets = field(default_factory=Offsets)
    line: list[Waiting] = field(default_factory=list)
    given_up: Offsets | None = None

    def give_up(self) -> None:
        """The coordinator forgets them; of what the log has not answered it knows nothing any more."""
        if self.given_up is None:
            self.given_up = self.offsets
        self.offsets, self.line = Offsets(), []

    def load(self) -> None:
        """The next one reads what the log has: open transactions, too, and what later records have
        overtaken.
        """
        found, self.given_up = self.given_up or Offsets(), None
        self.offsets = Offsets(found.committed, found.pending)


@dataclass(frozen=True)
class Told:
    """One outcome: the group, its offsets, what is new in line, answers, timers, the rules, and all records
    of the group, also those that an item of the line carries.
    """

    group: Group | None
    offsets: Offsets
    queued: tuple[Waiting, ...] = ()
    replies: tuple[Reply, ...] = ()
    timers: tuple[Arm | Cancel, ...] = ()
    rules: tuple[str, ...] = ()
    records: tuple[GroupRecord, ...] = ()

    @property
    def appends(self) -> list[Fields]:
        """What is new for the log."""
        return [spec_append(one.item) for one in self.queued if not isinstance(one.item, OffsetRead)]

    def after(self, step: OffsetStep, record: GroupRecord | None = None) -> Told:
        """With a step of the offsets."""
        return replace(
            self,
            offsets=step.offsets,
            queued=(*self.queued, *(Waiting(item, record) for item in step.line)),
            replies=(*self.replies, *step.replies),
            rules=(*step.rules, *self.rules),
        )

    def grouped(self, step: Step) -> Told:
        """With a step of the group, whose words to the offsets are not in it yet."""
        return replace(
            self,
            group=step.group,
            replies=(*self.replies, *step.replies),
            timers=(*self.timers, *step.timers),
            rules=(*self.rules, *step.rules),
            records=(*self.records, *step.records),
        )


def outcomes(spec: Spec, kept: Kept, before: Group | None, steps: Iterable[Step]) -> tuple[Told, ...]:
    """What comes of steps of the group with all that they say to the offsets."""
    begin = Told(before, kept.offsets)
    return tuple(told for step in steps for told in _grouped(spec, kept, begin, step))


def _grouped(spec: Spec, kept: Kept, told: Told, step: Step) -> Iterator[Told]:
    record = step.records[-1] if step.records else None
    found = [told.grouped(step)]
    for word in step.offsets:
        found = [after for one in found for after in _word(spec, kept, one, word, record)]
    yield from found


def _word(spec: Spec, kept: Kept, told: Told, word: ForOffsets, record: GroupRecord | None) -> Iterator[Told]:
    if isinstance(word, OffsetBatch):
        yield from (told.after(step) for step in spec.offsets_begin(told.offsets, word))
        if kept.line and all(isinstance(one, OffsetTombstone) for one in word.records):
            # A tombstone that nothing needs does no harm; it waits for its turn as the others do.
            yield told.after(OffsetStep(told.offsets, line=(word,)).fired("offsets.nothing-to-delete"))
    elif isinstance(word, OffsetRead):
        if word.waits and kept.line:
            yield told.after(OffsetStep(told.offsets, line=(word,)))
        else:
            yield from (told.after(step) for step in spec.offsets_read(told.offsets, word))
    elif isinstance(word, Expire):
        for step in spec.offsets_expire(told.offsets, word):
            yield from _expired(spec, kept, told.after(step), step.removes_group)
    elif isinstance(word, GroupForgotten):
        yield from (told.after(step, record) for step in spec.offsets_forget(told.offsets, word))
    else:
        raise TypeError(f"a step of the group says {word!r} to its offsets")


def _expired(spec: Spec, kept: Kept, told: Told, removes_group: bool) -> Iterator[Told]:
    if not removes_group:
        yield told
        return
    assert told.group is not None
    if told.offsets.committed:
        # The tombstones of the last offsets are a batch of their own, before the group's.
        gone = OffsetBatch(tuple(OffsetTombstone(*key, expired=True) for key in told.offsets.committed))
        told = told.after(OffsetStep(told.offsets, line=(gone,)))
    for step in spec.unused(told.group):
        yield from _grouped(spec, kept, told, step)


def completed(spec: Spec, kept: Kept, group: Group | None) -> tuple[tuple[Told, int], ...]:
    """What comes of the log's answers so far, in its order; each with how many leave the line."""
    return tuple(_completed(spec, Told(group, kept.offsets), kept.line, 0))


def _completed(spec: Spec, told: Told, line: list[Waiting], done: int) -> Iterator[tuple[Told, int]]:
    first = line[done] if done < len(line) else None
    if first is None or not (first.answered or isinstance(first.item, OffsetRead)):
        yield told, done
        return
    for after in _answered(spec, told, first, line[done + 1 :]):
        yield from _completed(spec, after, line, done + 1)


def _answered(spec: Spec, told: Told, first: Waiting, rest: list[Waiting]) -> Iterator[Told]:
    item, error = first.item, first.error
    if isinstance(item, OffsetRead):
        yield from (told.after(step) for step in spec.offsets_read(told.offsets, item))
    elif isinstance(item, OffsetBatch):
        for step in spec.offsets_appended(told.offsets, item, error):
            yield from _found(spec, told.after(step), rest)
    elif isinstance(item, TransactionEnd):
        if error is not None:
            yield told  # who ended the transaction tries again
        else:
            yield from (told.after(step) for step in spec.transaction_ended(told.offsets, item))
    else:
        yield from _forgotten(spec, told, first, item)


def _found(spec: Spec, told: Told, rest: list[Waiting]) -> Iterator[Told]:
    """Offsets that are there have a group, unless their end is under way."""
    leaving = any(isinstance(one.item, GroupForgotten) for one in rest)
    if leaving or not (told.offsets.committed or told.offsets.pending):
        yield told
    else:
        yield from (told.grouped(step) for step in spec.offsets_found(told.group))


def _forgotten(spec: Spec, told: Told, first: Waiting, item: GroupForgotten) -> Iterator[Told]:
    assert first.record is not None
    for step in spec.appended(told.group, first.record, first.error):
        (word,) = step.offsets
        assert isinstance(word, GroupForgottenAnswer)
        for forgotten in spec.offsets_forgotten(told.offsets, item, word.stored):
            yield told.grouped(step).after(forgotten)
