"""The steps of a walk of the consumer protocol as a case has them.

What the spec answers may depend on what an assignor names: then each answer that is possible in the order of
the plan is expected, one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.generate.case_words import NotACase, expression, keywords
from rota.generate.consumer.cast import SHARED
from rota.generate.consumer.planned import GROUP, Answers, Beat
from rota.generate.consumer.planner import planned_for
from rota.generate.consumer.simulated import ConsumerSimulated
from rota.generate.plan import Ask, Break, Plan, Silence, filled
from rota.generate.planner import TAKES_MS
from rota.generate.settings import consumer_terms
from rota.kernel import FrozenMap
from rota.linearise.answers import AnyAnswer
from rota.linearise.consumer.requests import Changed, Committed, Fetched, Offset
from rota.spec import PROFILES, Call
from rota.spec.consumer import messages as spec
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import ErrorCode

MOST = 200
"""Ways that a walk may go, at most."""

FEW = 6
"""Answers of which one is expected, at most; where there are more, only what they have in common is."""

STATES_SINCE, TYPES_SINCE, SEVERAL_LEAVE = 4, 5, 3
"""First versions: of ListGroups that tells states, and types, and of LeaveGroup that tells of each member."""

Names = Mapping[str, str]
"""Id of a topic → its name."""


class _References(dict[int, Any]):
    """Answers in whose place the references to them stand."""

    def get(self, number: int, default: Any = None) -> Any:
        return spec.ConsumerGroupHeartbeatReply(ErrorCode.NONE, f"<{number}>")


def topics_of(plan: Plan) -> dict[str, int]:
    """The topics that have to be there before, and how many partitions they have."""
    text = repr(plan.steps)
    return {name: size for name, size in SHARED.items() if repr(name) in text}


def consumer_lines(plan: Plan, settings: Mapping[str, int], profile: str) -> Iterator[str]:
    """The steps, and behind each what the spec answers. Errors: NotACase."""
    ways = _Ways(settings, profile)
    for name, size in topics_of(plan).items():
        yield f"named_topic(d, {name!r}, {size})"
    for step in plan.steps:
        if isinstance(step, Ask):
            yield _asked(step, ways)
            wanted = ways.asked(step)
            yield (
                f"walk.expect({step.number}, {keywords(wanted[0])})"
                if len(wanted) == 1
                else (f"walk.expect_one_of({step.number}, {', '.join(map(expression, wanted))})")
            )
        elif isinstance(step, Break):
            yield f"walk.breaks({step.line})"
        elif isinstance(step, Silence):
            yield f"d.wait({step.seconds!r})"
            ways.wait(round(step.seconds * 1000))


def _asked(step: Ask, ways: _Ways) -> str:
    request: Any = step.request
    fields: dict[str, str] = {}
    if getattr(request, "since", "") == "told" and ways.telling_epochs(request.by):
        said = (
            *map(str, ways.telling_epochs(request.by)),
            *((f"ahead={request.ahead}",) if request.ahead else ()),
        )
        epochs = ("member_epoch", "generation_id_or_member_epoch")
        fields |= dict.fromkeys(epochs, f"walk.epoch_of({', '.join(said)})")
    if isinstance(request, Beat) and request.owns is not None:
        fields["topic_partitions"] = (
            f"walk.owned({', '.join(map(repr, (request.owns, *ways.telling_partitions(request.by))))})"
        )
    body = request.body(step.version, _References())
    if isinstance(request, Beat):
        body = {name: value for name, value in body.items() if value is not None or name in fields}
    who = f"{step.number}, {step.client!r}, {step.line}"
    return f"walk.ask({who}, {step.api!r}, {step.version}, {expression(body, fields)})"


class _Ways:
    """All ways that a group may go by the same requests, each with what was answered on it."""

    def __init__(self, settings: Mapping[str, int], profile: str) -> None:
        terms = planned_for(consumer_terms(settings, FrozenMap(), PROFILES[profile]))
        self._each: list[tuple[ConsumerSimulated, Answers]] = [(ConsumerSimulated(terms), {})]
        self._names: dict[str, str] = {}

    def telling_epochs(self, by: Sequence[int]) -> Sequence[int]:
        """Those of these requests, in their order, that may have told the last epoch."""
        granted = [[_granted(answers.get(number)) for _, answers in self._each] for number in by]
        last = max((place for place, found in enumerate(granted) if all(found)), default=0)
        return [number for number, found in zip(by[last:], granted[last:], strict=True) if any(found)]

    def telling_partitions(self, by: Sequence[int]) -> Sequence[int]:
        """Those of these requests that may have told an assignment."""
        found = (number for number in by for _, answers in self._each if _assigned(answers.get(number)))
        return [*dict.fromkeys(found)]

    def wait(self, milliseconds: int) -> None:
        """Time passes."""
        for simulated, _ in self._each:
            simulated.wait(milliseconds)

    def asked(self, step: Ask) -> list[dict[str, Any]]:
        """A request arrives. What may be answered. Errors: NotACase."""
        self.wait(TAKES_MS)
        found: dict[Any, tuple[ConsumerSimulated, Answers]] = {}
        wanted: list[dict[str, Any]] = []
        for simulated, answers in self._each:
            request = filled(step, answers, GROUP)
            call = Call(request, str(step.number), step.version, f"<{step.number}>", now_ms=simulated.now)
            for other in simulated.outcomes(call):
                (reply,) = other.taken()
                after = {**answers, step.number: reply.message}
                found.setdefault((other.state, tuple(after.items())), (other, after))
                self._names |= {topic.topic_id: name for name, topic in other.state.topics.items()}
                said = _wanted(step, reply.message, self._names)
                if said not in wanted:
                    wanted.append(said)
        if len(found) > MOST:
            raise NotACase(f"an assignor may lead it on more than {MOST} ways; make it shorter")
        self._each = [*found.values()]
        return wanted if len(wanted) <= FEW else [_common(wanted)]


def _granted(message: Any) -> bool:
    return isinstance(message, spec.ConsumerGroupHeartbeatReply) and message.error_code is ErrorCode.NONE


def _assigned(message: Any) -> bool:
    return _granted(message) and message.assignment is not None


def _common(some: list[dict[str, Any]]) -> dict[str, Any]:
    """What all of them say."""
    first, *rest = some
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in rest)}


def _wanted(step: Ask, message: Any, names: Names) -> dict[str, Any]:
    """What the spec answers, in the words of `rota.conformance.steps.walked_consumers`."""
    match message:
        case AnyAnswer():
            return {}
        case Changed():
            return {"error": error_name(message.error_code)}
        case spec.Listed():
            return _listed(message, step.version)
        case spec.LeaveGroupReply():
            told = [one.name for one in message.members]
            return {"members": told} if step.version >= SEVERAL_LEAVE else {"error": told[0]}
        case spec.ConsumerGroupDescribeReply():
            return {"error": "NONE", **_described(message, names)}
    said: dict[str, Any] = {"error": message.error_code.name}
    if message.error_code is not ErrorCode.NONE:
        return said
    match message:
        case spec.ConsumerGroupHeartbeatReply():
            given = message.assignment
            said |= {"member_epoch": message.member_epoch}
            said |= {"assignment": None if given is None else _places(given, names)}
        case Committed():
            said |= {
                "partitions": {
                    f"{name}-{n}": error_name(code) if code else 0 for name, n, code in message.partitions
                }
            }
        case Fetched() if all(isinstance(one, Offset) for one in message.offsets):
            said |= {"partitions": {f"{one.topic}-{one.index}": one.offset for one in message.offsets}}
    return said


def _places(some: Collection[Partition], names: Names) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in sorted(some):
        found.setdefault(names.get(one.topic, one.topic), []).append(one.index)
    return {name: sorted(found[name]) for name in sorted(found)}


def _described(message: spec.ConsumerGroupDescribeReply, names: Names) -> dict[str, Any]:
    members = {
        str(one.member_id): {
            "epoch": one.member_epoch,
            "assignment": _places(one.assignment, names),
            "target": _places(one.target_assignment, names),
        }
        for one in message.members
    }
    epochs = {"group_epoch": message.group_epoch, "assignment_epoch": message.assignment_epoch}
    return {
        "state": message.group_state.value,
        **epochs,
        "assignor": message.assignor_name,
        "members": members,
    }


def _listed(message: spec.Listed, version: int) -> dict[str, Any]:
    said: dict[str, Any] = {"listed": message.group_state is not None}
    if message.group_state is not None:
        said |= {"state": message.group_state.value} if version >= STATES_SINCE else {}
        said |= {"type": message.group_type} if version >= TYPES_SINCE else {}
    return said
