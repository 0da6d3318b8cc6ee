"""A step of the spec as an abstract outcome: the abstract state after it, with its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rota.proofs.core.coverage import COVERED
from rota.proofs.core.logic import Phase
from rota.proofs.core.steps import PAST
from rota.proofs.refinement.abstraction import (
    KINDS,
    AbstractState,
    abstract_state,
    normal_form,
    relative,
    written,
)
from rota.proofs.refinement.forward import AbstractOutcome
from rota.proofs.refinement.inputs import Answer, Input
from rota.spec import (
    Call,
    ErrorCode,
    Group,
    HeartbeatReply,
    HeartbeatRequest,
    JoinGroupReply,
    Reply,
    Spec,
    Step,
    SyncGroupReply,
    SyncGroupRequest,
    Timer,
)

CALLER = "call"
"""The address of the request at hand. Parked ones have the member's and their kind."""

JOIN, SYNC = "join/", "sync/"


def addressed(group: Group | None) -> Group | None:
    """The group with an address of its own for each parked request, so that an answer names its request."""
    if group is None:
        return None
    each = (
        (
            i,
            replace(
                m,
                awaiting_join=None if m.awaiting_join is None else JOIN + i,
                awaiting_sync=None if m.awaiting_sync is None else SYNC + i,
            ),
        )
        for i, m in group.members.items()
    )
    return group.with_each(each)


def steps(spec: Spec, group: Group | None, given: Input) -> tuple[Step, ...]:
    """What the spec does with the input. Errors: those of the spec for what it cannot take."""
    if isinstance(given, Call):
        return spec.handle(group, replace(given, to=CALLER))
    if isinstance(given, Timer):
        return spec.fire(group or Group(), given)
    return spec.appended(group, given.record, given.error)


def covered(step: Step) -> list[str]:
    """The rules that took part and have formulas."""
    return [slug for slug in step.rules if slug in COVERED]


def abstract_outcome(shown: AbstractState, group: Group | None, given: Input, step: Step) -> AbstractOutcome:
    """The abstract outcome of a step. shown: the abstract state before it."""
    now = 0 if group is None else group.generation_id
    records = {row[0] for row in shown["appended"]}
    if isinstance(given, Answer):
        records -= {written(given.record, now)} if given.record.kind in KINDS else set()
    records |= {written(record, now) for record in step.records if record.kind in KINDS}
    after = abstract_state(step.group, now, records)
    past = {name: set(shown[name]) for name in PAST}
    for name, row in (*_happened(shown, after, given, step), *_answers(given, step, now)):
        past[name].add(row)
    whole = {**after, **{name: frozenset(rows) for name, rows in past.items()}}
    return AbstractOutcome(normal_form(whole), frozenset(Counter(covered(step)).items()))


def _happened(
    shown: AbstractState, after: AbstractState, given: Input, step: Step
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What is to be remembered of the step, by relation."""
    now, new = shown["generation"], after["generation"]
    yield from _renamed(shown, after, given, step)
    if new != now:
        yield "chosen", (new, after["protocol"])
        if after["phase"] is Phase.COMPLETING:
            yield "led", (new, after["leader"])
            yield from (("belonged", (new, m)) for (m,) in after["member"])
            yield from (("seat", (new, i)) for (i,) in after["held"])
    if shown["phase"] is Phase.COMPLETING and after["phase"] is Phase.STABLE:
        yield "settled", (now,)
        yield from (("decided", (now, *line)) for line in after["assigned"])
    if isinstance(given, Call) and isinstance(given.request, SyncGroupRequest) and step.records:
        lines = {line.member_id: line.assignment for line in given.request.assignments}
        yield from (("proposed", (now, m, lines.get(m, b""))) for (m,) in after["member"])


def _renamed(
    shown: AbstractState, after: AbstractState, given: Input, step: Step
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """A replacement that holds, or is undone: the one id was in its generation what the other is."""
    gone, came = shown["member"] - after["member"], after["member"] - shown["member"]
    failed = "static.replacement-failed" in step.rules
    if not came or not (failed or "static.replaced-in-stable" in step.rules):
        return
    now, [(old,)], [(new,)] = shown["generation"], gone, came
    for name in ("belonged", "led", "proposed", "decided"):
        yield from ((name, (now, new, *row[2:])) for row in shown[name] if row[:2] == (now, old))
    if failed and after["phase"] is Phase.COMPLETING:
        yield "undone", (now,)


def _answers(given: Input, step: Step, now: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What answers without an error say, by relation."""
    restart = "static.replacement-stored" in step.rules
    for reply in step.replies:
        message = reply.message
        if isinstance(message, JoinGroupReply) and message.error_code is ErrorCode.NONE:
            yield from _joined(reply, message, relative(message.generation_id, now), restart)
        group = step.group or Group()
        generation = relative(group.generation_id, now)
        if isinstance(message, SyncGroupReply) and message.error_code is ErrorCode.NONE:
            yield "answered_sync", (_asked(given, reply), generation, message.assignment)
        if isinstance(message, HeartbeatReply) and message.error_code is ErrorCode.NONE:
            yield "answered_alive", (_asked(given, reply), generation)


def _joined(
    reply: Reply, message: JoinGroupReply, g: int, restart: bool
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    who = message.member_id
    if reply.to not in (CALLER, JOIN + who):
        who = f"{who} by mistake for {reply.to}"
    yield "answered_generation", (who, g)
    yield "answered_protocol", (who, g, message.protocol_name)
    yield "answered_restart" if restart else "answered_leader", (who, g, message.leader)
    if message.members:
        yield "answered_list", (who, g)
        for line in message.members:
            yield "listed", (who, g, line.member_id)
            if line.group_instance_id is not None:
                yield "listed_seat", (who, g, line.group_instance_id)


def _asked(given: Input, reply: Reply) -> str:
    """Whose request an answer is to."""
    if reply.to == CALLER and isinstance(given, Call):
        request = given.request
        return request.member_id if isinstance(request, SyncGroupRequest | HeartbeatRequest) else reply.to
    return reply.to.removeprefix(SYNC)
