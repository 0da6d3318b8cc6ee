"""The kinds of mistakes that a rule may have, whatever rule it is, and what it does then.

None is about any rule in particular: a guard is not looked at, an effect is left out, a field stays as it
was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from rota.kernel import FrozenMap, replace
from rota.kernel.structs import Frozen
from rota.linearise.answers import AnyAnswer
from rota.linearise.states import ANY_DELAY
from rota.spec import (
    RULES,
    Arm,
    Call,
    ErrorCode,
    Group,
    GroupRecord,
    LeavingMember,
    Member,
    Reply,
    Step,
    TimerKind,
)
from rota.spec.classic.leave import OUTCOMES
from rota.spec.handlers import HANDLERS
from rota.spec.offset_state import OffsetBatch, Offsets, OffsetStep

AnyStep = Any
"""A `Step`, or an `OffsetStep`."""

Outcomes = tuple[AnyStep, ...]


class Mistake(Enum):
    """What is wrong with a rule, in words that go on after its name. Likelier ones come first."""

    PASSED = "does not apply where it should"
    REFUSED = "refuses what it should let pass"
    DECIDED = "decides otherwise"
    MISREAD = "reads otherwise"
    DONE_ANYWAY = "refuses what is done all the same"
    IDLE = "does nothing"
    HALTED = "does not go on to"
    KEPT = "leaves as it was"
    UNTIMED = "does not touch the timer"
    UNANSWERED = "does not answer"
    UNLOGGED = "does not write to the log"
    TOO_SOON = "answers before the log has stored it"
    UNPROMISED = "does not answer when the log has stored it"
    REVIVED = "takes the request for a sign of life"
    WENT_ON = "goes on, though not due, to"
    FLIPPED = "changes, though it should not,"
    PART = "does a part only of"
    UNTIMELY = "sets another time for the timer"
    ANSWERED = "answers something else"


ALTERNATIVES = (*HANDLERS.values(), tuple(OUTCOMES))
"""Rules of which the first that applies is taken."""

SPARING = frozenset((Mistake.REVIVED, Mistake.WENT_ON, Mistake.FLIPPED, Mistake.PART))
"""Mistakes that add to what a rule does, of which there are many; the others leave something out."""

LIBERAL = frozenset((Mistake.UNTIMELY, Mistake.ANSWERED))
"""Mistakes after which anything may come: they explain much, and so say little."""

_ORDER = {mistake: place for place, mistake in enumerate(Mistake)}


@dataclass(frozen=True)
class Doubt:
    """A mistake that a rule may have. part: of what it does, where the mistake is about a part."""

    rule: str
    mistake: Mistake
    part: str = ""

    def __str__(self) -> str:
        return f"{self.rule} {self.mistake.value} {self.part}".rstrip()


def likelihood(doubt: Doubt, always: bool) -> tuple[int, int]:
    """Sorts mistakes, likelier ones first: one that says more, and one that is made whenever it can be."""
    tier = 2 if doubt.mistake in LIBERAL else 1 if doubt.mistake in SPARING else 0
    return 2 * tier + (not always), _ORDER[doubt.mistake]


Wrong = tuple[Mistake, str, Outcomes]
"""A mistake, the part that it is about, and what comes of it."""


def base_of(inputs: Sequence[Any]) -> AnyStep:
    """What was there before a rule was applied, as a step that does nothing."""
    first = inputs[0] if inputs else None
    if isinstance(first, Step):
        return first
    return OffsetStep(first) if isinstance(first, Offsets) else Step(first)


def mistaken(slug: str, base: AnyStep, steps: Outcomes, call: Call | None) -> Iterator[Wrong]:
    """All mistakes in what a rule does that change it. base: what there was before; steps: what it does."""
    found: dict[tuple[Mistake, str], list[AnyStep]] = {}
    for step in steps:
        for mistake, part, wrong in _of_step(slug, base, step, call):
            found.setdefault((mistake, part), []).append(wrong)
    for (mistake, part), wrongs in found.items():
        if set(wrongs) != set(steps):
            yield mistake, part, tuple(dict.fromkeys(wrongs))


def refused(slug: str, base: AnyStep, call: Call | None) -> Outcomes:
    """The rule's own error, told to a request that is none of its; nothing where it has none."""
    errors = frozenset(errors_of(slug)) - {ErrorCode.NONE}
    return (base.answer(call.to, AnyAnswer(errors)),) if call is not None and errors else ()


def call_in(inputs: Sequence[Any]) -> Call | None:
    """The request that a rule is about, if it is about one."""
    return next((one for one in inputs if isinstance(one, Call)), None)


def misread(inputs: Sequence[Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Each way in which what somebody asks for may be read otherwise: a field not at all, a list in part."""
    for place, one in enumerate(inputs):
        if not isinstance(one, Call | LeavingMember):
            continue
        asked: Any = one.request if isinstance(one, Call) else one
        for name, other in _other_fields(asked):
            wrong = replace(asked, **{name.partition(",")[0]: other})
            read = replace(one, request=wrong) if isinstance(one, Call) else wrong
            yield name, (*inputs[:place], read, *inputs[place + 1 :])


def _other_fields(asked: Any) -> Iterator[tuple[str, Any]]:
    for one in fields(asked):
        value = getattr(asked, one.name)
        if isinstance(value, Frozen):
            continue
        if isinstance(value, tuple):
            if len(value) > 1:
                yield f"{one.name}, in reverse", value[::-1]
                yield f"{one.name}, but for the first", value[1:]
                yield f"{one.name}, but for the last", value[:-1]
            for name in dict.fromkeys(inner for each in value for inner, _ in _inner(each)):
                parts = (replace(each, **{name: dict(_inner(each))[name]}) for each in value)
                yield f"{one.name}, {name} of each", tuple(parts)
        elif value and one.name != "group_id":
            yield one.name, None if value is True or one.name.endswith("instance_id") else type(value)()


def _inner(value: Any) -> Iterator[tuple[str, Any]]:
    """Lists in what a list has, each turned around."""
    names = [one.name for one in fields(value)] if is_dataclass(value) else []
    for name in names:
        inner = getattr(value, name)
        if isinstance(inner, tuple) and not isinstance(inner, Frozen) and len(inner) > 1:
            yield name, inner[::-1]


def errors_of(slug: str) -> Iterator[ErrorCode]:
    """The errors that a rule names."""
    names = RULES[slug].function.__code__.co_names
    return (ErrorCode[name] for name in names if name in ErrorCode.__members__)


def remakes_members(slug: str) -> bool:
    """Whether a rule makes the map of members anew, and so may leave somebody out."""
    return not {"with_each", "without"}.isdisjoint(RULES[slug].function.__code__.co_names)


def rules_named_by(slug: str) -> tuple[str, ...]:
    """The rules to which one may go on."""
    found = RULES[slug].function.__code__.co_consts
    return tuple(one for one in found if isinstance(one, str) and one in RULES and not RULES[one].decides)


_Changed = Iterator[tuple[Mistake, str, AnyStep]]


def _of_step(slug: str, base: AnyStep, step: AnyStep, call: Call | None) -> _Changed:
    """Each mistake in what a step does."""
    yield from _answers(base, step)
    if isinstance(step, Step):
        yield from _timers(base, step, call)
        yield from _log(base, step)
        yield from _group(slug, base, step)
    else:
        if step.line:
            yield Mistake.UNLOGGED, "", replace(step, line=())
        for line in _batches(step.line):
            yield line[0], line[1], replace(step, line=line[2])
        yield from _fields("offsets", base, step)


def _new(base: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a step has more than there was before."""
    return after[len(base) :]


def _answers(base: AnyStep, step: AnyStep) -> _Changed:
    new = _new(base.replies, step.replies)
    if new:
        yield Mistake.UNANSWERED, "", replace(step, replies=base.replies)
        wild = tuple(replace(one, message=AnyAnswer()) for one in new)
        yield Mistake.ANSWERED, "", replace(step, replies=(*base.replies, *wild))


def _timers(base: Step, step: Step, call: Call | None) -> _Changed:
    new = _new(base.timers, step.timers)
    for name in dict.fromkeys(one.timer.name for one in new):
        others = tuple(one for one in new if one.timer.name != name)
        yield Mistake.UNTIMED, name, replace(step, timers=(*base.timers, *others))
        if any(isinstance(one, Arm) for one in new if one.timer.name == name):
            free = (
                Arm(one.timer, ANY_DELAY) if isinstance(one, Arm) and one.timer.name == name else one
                for one in new
            )
            yield Mistake.UNTIMELY, name, replace(step, timers=(*base.timers, *free))
    sender = getattr(call.request, "member_id", "") if call is not None else ""
    if step.group is not None and sender in step.group.members:
        member = step.group.members[sender]
        kind = TimerKind.NEW_MEMBER if member.is_new else TimerKind.SESSION
        yield Mistake.REVIVED, "", step.arm(kind, member.session_timeout_ms, sender)


def _log(base: Step, step: Step) -> _Changed:
    new = _new(base.records, step.records)
    if new:
        yield Mistake.UNLOGGED, "", replace(step, records=base.records)
        for name in ("assignment", "subscription", "group_instance_id", "session_timeout_ms"):
            less = tuple(_record_without(record, name) for record in new)
            yield Mistake.PART, f"the record, {name} left out", replace(step, records=(*base.records, *less))
    promised = [record for record in new if record.answer is not None]
    if promised:
        silent = (*base.records, *(record.without_answer() for record in new))
        yield Mistake.UNPROMISED, "", replace(step, records=silent)
        told = tuple(record.answer for record in promised)
        yield Mistake.TOO_SOON, "", replace(step, records=silent, replies=(*step.replies, *told))
        yield Mistake.TOO_SOON, "and then again", replace(step, replies=(*step.replies, *told))
    words = _new(base.offsets, step.offsets)
    if words:
        yield Mistake.UNLOGGED, "", replace(step, offsets=base.offsets)
    for mistake, part, changed in _batches(words):
        yield mistake, part, replace(step, offsets=(*base.offsets, *changed))
    told_at_once = tuple(
        word.answer for word in words if isinstance(word, OffsetBatch) and word.answer is not None
    )
    if told_at_once:
        yield Mistake.TOO_SOON, "and then again", replace(step, replies=(*step.replies, *told_at_once))


def _record_without(record: GroupRecord, name: str) -> GroupRecord:
    empty: dict[str, Any] = {name: 0 if name.endswith("_ms") else None if name.endswith("_id") else b""}
    return replace(record, members=tuple(replace(one, **empty) for one in record.members))


def _batches(words: Iterable[Any]) -> Iterator[tuple[Mistake, str, tuple[Any, ...]]]:
    """Mistakes in batches of offsets."""
    words = tuple(words)
    batches = [word for word in words if isinstance(word, OffsetBatch)]
    if any(batch.answer is not None for batch in batches):
        silent = tuple(replace(one, answer=None) if isinstance(one, OffsetBatch) else one for one in words)
        yield Mistake.UNPROMISED, "", silent
        wild = tuple(
            replace(one, answer=Reply(one.answer.to, AnyAnswer()))
            if isinstance(one, OffsetBatch) and one.answer is not None
            else one
            for one in words
        )
        yield Mistake.ANSWERED, "", wild
    for at in range(max((len(batch.records) for batch in batches), default=0)):
        fewer = tuple(
            replace(one, records=(*one.records[:at], *one.records[at + 1 :]))
            if isinstance(one, OffsetBatch)
            else one
            for one in words
        )
        yield Mistake.PART, "the records", fewer


def _group(slug: str, base: Step, step: Step) -> _Changed:
    """Mistakes in what becomes of the group."""
    if step.group != base.group:
        yield Mistake.KEPT, "the group", replace(step, group=base.group)
    if step.group is None or base.group is None:
        return
    yield from _fields("group", base, step)
    yield from _members(slug, base.group, step)


def _fields(state: str, base: AnyStep, step: AnyStep) -> _Changed:
    """Each field that changes stays as it was; each that does not becomes what it is at first."""
    before, after = getattr(base, state), getattr(step, state)
    if before is None or after is None:
        return
    first = type(after)()
    for one in fields(after):
        was, is_now, empty = (getattr(value, one.name) for value in (before, after, first))
        if was != is_now:
            yield Mistake.KEPT, one.name, replace(step, **{state: replace(after, **{one.name: was})})
            yield from _entries(state, one.name, was, step)
        elif isinstance(is_now, bool):
            flipped = replace(after, **{one.name: not is_now})
            yield Mistake.FLIPPED, one.name, replace(step, **{state: flipped})
        elif is_now != empty and one.name not in ("state", "members", "generation_id"):
            cleared = replace(after, **{one.name: empty})
            yield Mistake.FLIPPED, one.name, replace(step, **{state: cleared})


def _entries(state: str, name: str, was: Any, step: AnyStep) -> _Changed:
    """Of several entries that come or go at once all do but one."""
    after = getattr(step, state)
    is_now = getattr(after, name)
    if not isinstance(is_now, FrozenMap):
        return
    changed = [key for key in {**was, **is_now} if was.get(key) != is_now.get(key)]
    for key in changed if len(changed) > 1 else ():
        entries = is_now.set(key, was[key]) if key in was else is_now.without(key)
        yield Mistake.PART, name, replace(step, **{state: replace(after, **{name: entries})})


def _members(slug: str, before: Group, step: Step) -> _Changed:
    """Each member's field stays as it was or, where it does not change, becomes another; each may be gone."""
    group = step.live
    known = {key: was for key, was in before.members.items() if key in group.members}
    for one in fields(Member):
        was = {key: getattr(member, one.name) for key, member in known.items()}
        is_now = {key: getattr(member, one.name) for key, member in group.members.items()}
        if any(is_now[key] != value for key, value in was.items()):
            yield Mistake.KEPT, f"of members {one.name}", step.to(_with(group, one.name, was))
        elif any(isinstance(value, bool) for value in is_now.values()):
            flipped = {key: not value for key, value in is_now.items()}
            yield Mistake.FLIPPED, f"of members {one.name}", step.to(_with(group, one.name, flipped))
    if remakes_members(slug):
        for key in group.members:
            less = replace(group, members=group.members.without(key), pending_sync=group.pending_sync - {key})
            yield Mistake.FLIPPED, "of the members one, who is removed", step.to(less)


def _with(group: Group, name: str, values: Mapping[str, Any]) -> Group:
    """A group whose members have these values in a field."""
    return group.with_each(
        (key, replace(member, **{name: values[key]}) if key in values else member)
        for key, member in group.members.items()
    )
