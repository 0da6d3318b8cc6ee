"""The kinds of mistakes that a rule of the consumer protocol may have, and what it comes to with each.

They are those of the classic protocol. Here a rule changes a group by records alone, so what it leaves out is
a record, or a field of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from rota.doubt.mistakes import Mistake
from rota.kernel import FrozenMap, replace
from rota.kernel.structs import Frozen
from rota.linearise.answers import AnyAnswer
from rota.spec.consumer.context import Asked
from rota.spec.consumer.group import ConsumerGroup, Current, Metadata
from rota.spec.consumer.handlers import CONSUMER_RULES
from rota.spec.consumer.messages import (
    UNCHANGED,
    Call,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    ErrorReply,
)
from rota.spec.consumer.records import Written
from rota.spec.consumer.step import Step
from rota.spec.consumer.vocabulary import ErrorCode, RecordKind

READ = ("metadata_hash", "computed", "targets", "current", "owners")
"""Fields of a group that a rule may not look at; who is in it is what the request is about."""

Wrong = tuple[Mistake, str, Any]
"""A mistake, the part that it is about, and what a rule comes to with it."""


def first_of(steps: tuple[Step, ...]) -> Step:
    return steps[0]


def base_of(inputs: tuple[Any, ...]) -> Step:
    """What was there before a rule was applied, as a step that does nothing."""
    return inputs[0] if isinstance(inputs[0], Step) else Step(inputs[0])


def misread(inputs: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Each way in which a rule may read its inputs otherwise: a field of a request or of the group not at
    all, a word the other way round.
    """
    for place, one in enumerate(inputs):
        for part, other in _other_readings(one):
            yield part, (*inputs[:place], other, *inputs[place + 1 :])


def _other_readings(one: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(one, Call):
        yield from ((part, replace(one, request=other)) for part, other in _unsaid(one.request))
    elif isinstance(one, ConsumerGroupHeartbeatRequest):
        yield from _unsaid(one)
    elif isinstance(one, bool):
        yield "whether something has changed", not one
    elif isinstance(one, Step) and isinstance(one.group, ConsumerGroup):
        yield from ((part, replace(one, group=other)) for part, other in _unseen(one.group))
    elif isinstance(one, ConsumerGroup):
        yield from _unseen(one)


def _unsaid(request: Any) -> Iterator[tuple[str, Any]]:
    for one in fields(request):
        value = getattr(request, one.name)
        empty = UNCHANGED if one.name == "rebalance_timeout_ms" else one.default
        empty = empty if empty is None or empty == UNCHANGED else type(value)()
        if one.name != "group_id" and value not in (None, empty):
            yield one.name, replace(request, **{one.name: empty})


def _unseen(group: ConsumerGroup) -> Iterator[tuple[str, ConsumerGroup]]:
    empty = ConsumerGroup()
    for name in READ:
        if getattr(group, name) != getattr(empty, name):
            yield f"the group's {name}", replace(group, **{name: getattr(empty, name)})


def restored(inputs: tuple[Any, ...], wrong: Any) -> Any:
    """Steps with what the group had that was not read, unless they have changed it."""
    if isinstance(wrong, tuple) and not isinstance(wrong, Frozen):
        return tuple(restored(inputs, one) for one in wrong)
    if not isinstance(wrong, Step) or not isinstance(wrong.group, ConsumerGroup):
        return wrong
    before = base_of(inputs).group
    if not isinstance(before, ConsumerGroup):
        return wrong
    after, empty = wrong.group, ConsumerGroup()
    kept: dict[str, Any] = {}
    for name in READ:
        was, now = getattr(before, name), getattr(after, name)
        if isinstance(was, FrozenMap):
            there = {key: value for key, value in was.items() if name == "owners" or key in after.members}
            kept[name] = FrozenMap({**there, **now})
        elif now == getattr(empty, name):
            kept[name] = was
    return replace(wrong, group=replace(after, **kept))


def errors_of(slug: str) -> list[ErrorCode]:
    """The errors that a rule names."""
    names = CONSUMER_RULES[slug].function.__code__.co_names
    found = (ErrorCode[name] for name in names if name in ErrorCode.__members__)
    return [one for one in found if one is not ErrorCode.NONE]


def refusals(slug: str, base: Step, call: Call) -> tuple[Step, ...]:
    """The rule's own errors, told to a request that is none of its."""
    beats = isinstance(call.request, ConsumerGroupHeartbeatRequest)
    kind: Any = ConsumerGroupHeartbeatReply if beats else ErrorReply
    return tuple(base.answer(call.to, kind(one)) for one in errors_of(slug))


def decided_otherwise(inputs: tuple[Any, ...], found: Any, assignors: tuple[str, ...]) -> Iterator[Wrong]:
    """What a rule may say instead that decides."""
    if isinstance(found, bool):
        yield Mistake.DECIDED, "", not found
    elif isinstance(found, str):
        yield from ((Mistake.DECIDED, f"as {one}", one) for one in assignors if one != found)
    elif isinstance(found, Metadata | Asked):
        yield from _fields_otherwise(inputs[0], found)
    elif isinstance(found, tuple) and all(isinstance(one, bool) for one in found):
        yield from ((Mistake.DECIDED, f"as {one}", one) for one in ((True,), (False,)) if one != found)
    elif isinstance(found, tuple) and all(isinstance(one, Step) for one in found):
        yield from of_steps(base_of(inputs), found, tuple)
    elif isinstance(found, tuple | frozenset) and found:
        yield Mistake.DECIDED, "as if there were none", type(found)()
        yield from _columns_otherwise(found)


def _fields_otherwise(before: Any, found: Any) -> Iterator[Wrong]:
    """Each field stays as it was, or is empty, or the other way round."""
    for one in fields(found):
        now = getattr(found, one.name)
        if isinstance(before, type(found)) and (was := getattr(before, one.name)) != now:
            yield Mistake.KEPT, one.name, replace(found, **{one.name: was})
        if isinstance(before, type(found)) and now is not None and now != one.default:
            yield Mistake.FLIPPED, one.name, replace(found, **{one.name: one.default})
        if isinstance(now, bool):
            yield Mistake.FLIPPED, one.name, replace(found, **{one.name: not now})
        elif isinstance(found, Asked) and isinstance(now, FrozenMap):
            for what, other in _entries_otherwise(now):
                yield Mistake.FLIPPED, f"{one.name}, {what}", replace(found, **{one.name: other})


def _entries_otherwise(found: FrozenMap[str, Any]) -> Iterator[tuple[str, Any]]:
    sets = [value for value in found.values() if isinstance(value, frozenset)]
    if sets:
        yield "none", FrozenMap(dict.fromkeys(found, frozenset()))
        yield "all of each", FrozenMap(dict.fromkeys(found, frozenset[Any]().union(*sets)))


def _columns_otherwise(found: Any) -> Iterator[Wrong]:
    """Of a list of entries one field of each is not there."""
    entries = [one for one in found if isinstance(one, tuple)]
    for place in range(min(map(len, entries), default=0)):
        less = ((*one[:place], type(one[place])(), *one[place + 1 :]) for one in entries)
        yield Mistake.PART, f"each entry, but for number {place + 1}", tuple(less)


def of_steps(base: Step, steps: tuple[Step, ...], kind: Any, wild: bool = True) -> Iterator[Wrong]:
    """All mistakes in what steps do that change them. kind: makes of wrong steps what the rule comes to;
    wild: whether they may answer anything.
    """
    if steps != (base,):
        yield Mistake.IDLE, "", kind((base,))
    found: dict[tuple[Mistake, str], list[Step]] = {}
    for step in steps:
        for mistake, part, wrong in _of_step(base, step, wild):
            found.setdefault((mistake, part), []).append(wrong)
    for (mistake, part), wrongs in found.items():
        if tuple(wrongs) != steps:
            yield mistake, part, kind(tuple(dict.fromkeys(wrongs)))


def _of_step(base: Step, step: Step, wild: bool) -> Iterator[tuple[Mistake, str, Step]]:
    yield from _answers(base, step, wild)
    timers = step.timers[len(base.timers) :]
    for name in dict.fromkeys(_name(one) for one in timers):
        others = tuple(one for one in timers if _name(one) != name)
        yield Mistake.UNTIMED, name, replace(step, timers=(*base.timers, *others))
    if step.stores or step.forgets is not None:
        yield Mistake.KEPT, "the offsets", replace(step, stores=(), forgets=None)
    yield from _records(base, step)


def _name(effect: Any) -> str:
    """The name of the timer that an effect is about."""
    return str(effect.timer.name if hasattr(effect, "timer") else effect.name)


def _answers(base: Step, step: Step, wild: bool) -> Iterator[tuple[Mistake, str, Step]]:
    new = step.replies[len(base.replies) :]
    if not new:
        return
    yield Mistake.UNANSWERED, "", replace(step, replies=base.replies)
    told: list[Any] = [one.message for one in new]
    if any(isinstance(one, ConsumerGroupHeartbeatReply) and one.assignment is not None for one in told):
        untold = zip(new, told, strict=True)
        less = tuple(replace(one, message=replace(each, assignment=None)) for one, each in untold)
        yield Mistake.PART, "the answer, assignment left out", replace(step, replies=(*base.replies, *less))
    if wild:
        any_answer: Any = AnyAnswer()
        anything = tuple(replace(one, message=any_answer) for one in new)
        yield Mistake.ANSWERED, "", replace(step, replies=(*base.replies, *anything))


def _records(base: Step, step: Step) -> Iterator[tuple[Mistake, str, Step]]:
    """Records of each kind are left out; a field of each stays as it was."""
    new = step.records[len(base.records) :]
    for kind in dict.fromkeys(one.kind for one in new):
        word = kind.name.lower().replace("_", " ")
        yield from _written(base, step, Mistake.KEPT, word, [one for one in new if one.kind is not kind])
        for name, changed in _stale(base.group, kind, new):
            yield from _written(base, step, Mistake.KEPT, f"{word}, {name}", changed)


def _written(
    base: Step, step: Step, mistake: Mistake, part: str, records: list[Written]
) -> Iterator[tuple[Mistake, str, Step]]:
    with suppress(Exception):  # what cannot follow one another is no mistake that a coordinator lives with
        again = Step(base.group, records=base.records).write(*records)
        if again.records != step.records:
            yield mistake, part, replace(step, group=again.group, records=again.records)


def _stale(group: Any, kind: RecordKind, new: tuple[Written, ...]) -> Iterator[tuple[str, list[Written]]]:
    """Records of a kind of which a field is as it was before, field by field."""
    names: dict[str, None] = {}
    for one in new:
        if one.kind is kind and is_dataclass(one.value):
            names |= dict.fromkeys(each.name for each in fields(one.value))
    for name in names:
        yield name, [_with_old(group, one, name) if one.kind is kind else one for one in new]


def _with_old(group: Any, record: Written, name: str) -> Written:
    known: Mapping[str, Any] = {}
    if isinstance(group, ConsumerGroup):
        known = group.current if record.kind is RecordKind.CURRENT else group.members
    first = Current() if record.kind is RecordKind.CURRENT else Metadata()
    before = known.get(record.member_id, first)
    if record.value is None:
        return record
    return replace(record, value=replace(record.value, **{name: getattr(before, name)}))
