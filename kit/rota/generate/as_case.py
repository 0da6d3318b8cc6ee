"""A failure of a walk written as a case, for people to review: what was asked, and what the spec answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.rules import BY_NAME
from rota.conformance.steps.consumer_case import TOPICS as TOPICS_NEEDED
from rota.generate.case_words import NotACase, expression, keywords
from rota.generate.cast import TOPICS
from rota.generate.consumer.as_case import consumer_lines, topics_of
from rota.generate.plan import CONSUMER, GROUP, Ask, Break, Plan, Restart, Silence, filled
from rota.generate.planner import TAKES_MS
from rota.generate.requests import body_of
from rota.generate.saved import Saved
from rota.generate.settings import broker_config, looks_every_ms
from rota.generate.simulated import Simulated
from rota.spec import PROFILES, Call, Node
from rota.spec.messages import ReplyMessage

_NOT_A_NAME = re.compile(r"\W+")


def case_text(saved: Saved, profile: str) -> str:
    """A module that registers the case. Errors: NotACase."""
    plan, rule = saved.plan, saved.rule if saved.rule in BY_NAME else "wire"
    if any(isinstance(step, Restart) for step in plan.steps):
        raise NotACase("it restarts the target; write one by hand with `rota.conformance.steps.restarts`")
    if plan.transactional:
        raise NotACase("it has transactions; write one by hand with `rota.conformance.steps.transactions`")
    name = f"walk_{_NOT_A_NAME.sub('_', plan.id)}"
    delay = saved.settings.get(INITIAL_DELAY, 3000)
    settings = {key: value for key, value in saved.settings.items() if key != INITIAL_DELAY}
    sentence = f"{BY_NAME[rule].title}" if rule in BY_NAME else saved.rule
    words = _consumers(saved, profile) if plan.protocol == CONSUMER else _classic(saved, profile)
    lines = "\n".join(f"    {line}" for line in words.lines)
    return f'''"""Written from walk {plan.id}, for review: say what it shows, drop the rest."""

from __future__ import annotations

{words.imports}

@case(
    {f"{rule}.{name.replace('_', '-')}"!r},
    {sentence!r},
    {f"found by rota conform --generate: {saved.why}"!r},
    needs={words.needs!r},
    initial_delay_ms={delay},
    settings={settings!r},
    seconds={round(plan.seconds + 2, 1)},
)
def {name}(d: Dialogue) -> None:
    walk = {words.walk}(d)
{lines}
'''


@dataclass(frozen=True)
class _Words:
    """What differs with the protocol. imports, as a block; needs, of `case`; walk, a class; lines, steps."""

    imports: str
    needs: Mapping[str, tuple[int, int]]
    walk: str
    lines: Sequence[str]


def _imports(*more: str) -> str:
    usual = (
        "from rota.conformance.dialogues.dialogue import Dialogue",
        "from rota.conformance.dialogues.registry import case",
    )
    return "\n".join((*usual, *more, ""))


def _classic(saved: Saved, profile: str) -> _Words:
    plan = saved.plan
    offsets = any(isinstance(step, Ask) and step.api.startswith("Offset") for step in plan.steps)
    made = [f"topic(d, {', '.join(map(repr, TOPICS))})"] if offsets else []
    imports = _imports(
        *(["from rota.conformance.steps.offsets import topic"] if offsets else []),
        "from rota.conformance.steps.walked import Walk",
    )
    return _Words(imports, _needs(plan), "Walk", [*made, *_lines(plan, saved.settings, profile)])


def _consumers(saved: Saved, profile: str) -> _Words:
    plan = saved.plan
    lines = [*consumer_lines(plan, saved.settings, profile)]
    uuid = ["from uuid import UUID", ""] if any("UUID(" in line for line in lines) else []
    topics = topics_of(plan)
    imports = _imports(
        *(["from rota.conformance.steps.consumer_topics import named_topic"] if topics else []),
        "from rota.conformance.steps.walked_consumers import ConsumerWalk",
    )
    needs = {**(TOPICS_NEEDED if topics else {}), **_needs(plan)}
    return _Words("\n".join((*uuid, imports)), needs, "ConsumerWalk", lines)


def _needs(plan: Plan) -> dict[str, tuple[int, int]]:
    """The newest version that is spoken of each API."""
    newest: dict[str, int] = {}
    for step in plan.steps:
        if isinstance(step, Ask):
            newest[step.api] = max(step.version, newest.get(step.api, 0))
    return {api: (version, version) for api, version in newest.items()}


def _lines(plan: Plan, settings: Mapping[str, int], profile: str) -> Iterator[str]:
    """The steps, and behind each what the spec answers, if all goes in the order of the plan."""
    simulated = Simulated(broker_config(settings), PROFILES[profile], looks_every_ms(settings))
    answers: dict[int, ReplyMessage] = {}
    apis: dict[int, str] = {}
    lines: dict[int, int] = {}
    for step in plan.steps:
        if isinstance(step, Ask):
            apis[step.number], lines[step.number] = step.api, step.line
            yield _asked(step, answers)
            simulated.wait(TAKES_MS)
            request = filled(step, answers, GROUP)
            fresh, node = f"<{step.number}>", Node(0, "", 0)
            simulated.handle(
                Call(request, str(step.number), step.version, fresh, leader=node, now_ms=simulated.now)
            )
        elif isinstance(step, Break):
            yield f"walk.breaks({step.line})"
            for number in [number for number, line in lines.items() if line == step.line]:
                lines.pop(number)
        elif isinstance(step, Silence):
            yield f"d.wait({step.seconds!r})"
            simulated.wait(round(step.seconds * 1000))
        for reply in simulated.taken():
            number = int(reply.to)
            if lines.pop(number, None) is not None:
                answers[number] = reply.message
                wanted = keywords(_wanted(apis[number], reply.message))
                yield f"walk.expect({number}, {wanted})"
    for number in lines:
        yield f"walk.waits({number})"


def _asked(step: Ask, answers: Mapping[int, ReplyMessage]) -> str:
    body = {name: value for name, value in body_of(step.request, step.version).items() if name != "about"}
    told = step.told_by if step.told_by in answers else None
    fields = {name: expression(value) for name, value in body.items()}
    if told is not None:
        for name in ("generation_id", "generation_id_or_member_epoch"):
            if name in body and abs(ahead := body[name] - step.generation) < 2**16:
                fields[name] = f"walk.generation_of({told}{f', {ahead}' if ahead else ''})"
        if step.shares:
            fields["assignments"] = f"walk.shares_of({told})"
    given = ", ".join(f"{name!r}: {value}" for name, value in fields.items())
    who = f"{step.number}, {step.client!r}, {step.line}"
    return f"walk.ask({who}, {step.api!r}, {step.version}, {{{given}}})"


def _wanted(api: str, message: Any) -> dict[str, Any]:
    """What the spec answers, in the words of `rota.conformance.steps.walked`."""
    error = getattr(message, "error_code", None)
    said: dict[str, Any] = {"error": "NONE" if error is None else error.name}
    if api == "DescribeGroups":
        said |= {"state": message.group_state}
    elif api == "ListGroups":
        said |= {"listed": bool(message.groups)}
    elif api == "FindCoordinator":
        said = {}
    elif api == "JoinGroup":
        said |= {"generation_id": message.generation_id, "members": len(message.members)}
    elif api == "SyncGroup":
        said |= {"assignment": message.assignment}
    elif api == "LeaveGroup":
        said |= {"members": [one.error_code.name for one in message.members]}
    elif api.startswith("Offset"):
        said |= {"partitions": _partitions(message)}
    return said


def _partitions(message: Any) -> dict[str, int | str]:
    return {
        f"{topic.name}-{each.partition_index}": getattr(each, "committed_offset", 0)
        if each.error_code.name == "NONE"
        else each.error_code.name
        for topic in message.topics
        for each in topic.partitions
    }
