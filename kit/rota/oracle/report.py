"""What a person reads when a coordinator did what the spec does not allow: `Divergence` and its text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rota.kernel.rules import Rule
from rota.oracle.translate import CANCELLED, Fields, Observation
from rota.spec.messages import Request
from rota.spec.vocabulary import AppendError, ErrorCode

NOTHING = object()
"""Stands for a topic or field that one side does not have."""

WIDTH = 140
"""Characters after which a line of a report goes on in the next."""

SHOWN_LINES = 60
"""Steps of a dialogue that a report shows; the attribute has more."""

ORDER = ("answer", "group", "offsets", "record", "timer")
"""Topics, in the order of a report."""


UNEXPECTED = {"answer": "there is an ", "record": "there is a ", "group": "there is a "}


def _kind(topic: str) -> str:
    """What a topic is about, also where it is there again."""
    return topic.partition(" ")[0].rstrip(",")


@dataclass(frozen=True)
class Difference:
    """One field in which the sides differ; NOTHING where a side lacks it, or the whole topic (field "")."""

    topic: str
    field: str
    spec: Any
    core: Any

    @property
    def sentence(self) -> str:
        """The difference in words, from the coordinator's side."""
        if self.field == "delay_ms":
            return _timer_sentence(self.topic, self.spec, self.core)
        if self.core is NOTHING:
            return f"there is no {self.topic}"
        if self.spec is NOTHING:
            return f"{UNEXPECTED[_kind(self.topic)]}{self.topic}, which the spec does not have"
        name, actual, wanted = self.field, shown(self.core, self.field), shown(self.spec, self.field)
        return f"the {self.topic} has {name} {actual}, not {wanted}"

    def value_of(self, side: Any) -> str:
        """What one side has in this place."""
        if self.field == "delay_ms":
            return _timer_text(side)
        if not self.field:
            return "none" if side is NOTHING else shown(side)
        return f"{self.field} {shown(side, self.field)}"


def _timer_sentence(topic: str, spec: Any, actual: Any) -> str:
    if actual is NOTHING:
        return f"the {topic} is not {_timer_text(spec)}"
    otherwise = ", which the spec does not do" if spec is NOTHING else f", not {_timer_text(spec)}"
    return f"the {topic} is {_timer_text(actual)}{otherwise}"


def _timer_text(value: Any) -> str:
    if value is NOTHING:
        return "left as it is"
    return CANCELLED if value == CANCELLED else f"armed for {shown(value)} ms"


def differences(spec: Observation, actual: Observation) -> tuple[Difference, ...]:
    """All differences of two steps in comparable form, answers first."""
    found = []
    for topic in {**spec, **actual}:
        mine, theirs = spec.get(topic), actual.get(topic)
        if mine is None or theirs is None:
            found.append(_missing(topic, mine, theirs))
        else:
            found += [
                Difference(topic, name, mine.get(name, NOTHING), theirs.get(name, NOTHING))
                for name in {**mine, **theirs}
                if mine.get(name, NOTHING) != theirs.get(name, NOTHING)
            ]
    return tuple(sorted(found, key=lambda one: ORDER.index(_kind(one.topic))))


def _missing(topic: str, spec: Fields | None, actual: Fields | None) -> Difference:
    name = "delay_ms" if topic.startswith("timer") else ""
    both = [NOTHING if side is None else side.get(name, side) for side in (spec, actual)]
    return Difference(topic, name, *both)


class Divergence(AssertionError):
    """The coordinator did what the spec does not allow. The message is the whole report.

    Attributes: headline, what is wrong in one line; rule, the slug of the spec's rule for the step, "" where
    none was applied; rules, the slugs of all rules of the step, in the order in which the spec was done with
    them, those that only decide among them; passed, slugs that the spec tried before, which did not apply;
    differences, from the nearest outcome that the spec allows; dialogue, one line per step of the group;
    group_id.
    """

    def __init__(
        self,
        headline: str,
        group_id: str,
        dialogue: Sequence[str],
        differing: Sequence[Difference] = (),
        rules: Sequence[Rule] = (),
        passed: Sequence[str] = (),
        outcomes: int = 1,
    ) -> None:
        self.headline = headline
        self.group_id = group_id
        self.dialogue = tuple(dialogue)
        self.differences = tuple(differing)
        self.rules = tuple(rule.slug for rule in rules)
        self.rule = self.rules[-1] if rules else ""
        self.passed = tuple(passed)
        text = [headline, *_dialogue(group_id, self.dialogue)]
        text += ["", *_differing(self.differences, outcomes)] if differing else []
        text += ["", *_rules(rules, self.passed)] if rules else []
        super().__init__("\n".join(line for long in text for line in _wrapped(long)))


def _wrapped(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False) or [""]


def _dialogue(group_id: str, dialogue: Sequence[str]) -> Iterator[str]:
    yield ""
    earlier = len(dialogue) - SHOWN_LINES
    yield f"group {group_id!r}" + (f", after {earlier:,} earlier steps:" if earlier > 0 else ":")
    yield from (f"  {line}" for line in dialogue[-SHOWN_LINES:])


def _differing(differing: Sequence[Difference], outcomes: int) -> Iterator[str]:
    nearest = "" if outcomes == 1 else f" (the nearest of {outcomes} outcomes that the spec allows)"
    yield f"where the last step differs{nearest}:"
    topic = ""
    for one in differing:
        if one.topic != topic:
            topic = one.topic
            yield f"  {topic}"
        yield f"    - spec  {one.value_of(one.spec)}"
        yield f"    + core  {one.value_of(one.core)}"


def _rules(rules: Sequence[Rule], passed: Sequence[str]) -> Iterator[str]:
    yield "the spec's rule:"
    yield f"  {rules[-1].slug}: {rules[-1].title}"
    yield f"  source: {rules[-1].source}"
    if len(rules) > 1:
        yield "which used:"
    for rule in rules[-2::-1]:
        yield f"  {rule.slug}: {rule.title}"
    if passed:
        yield f"tried before it, but not applicable: {', '.join(passed)}"


def headline(differing: Sequence[Difference], rule: str) -> str:
    """The first difference in words, how many more there are, and the rule that says otherwise."""
    more = len(differing) - 1
    also = "" if not more else f" (and {more} more difference{'s' if more > 1 else ''})"
    return f"{differing[0].sentence}{also} [{rule}]"


def shown(value: Any, field: str = "") -> str:
    """A value as a person reads it: error codes by name, numbers with separators, members in brackets."""
    if value is NOTHING:
        return "(nothing)"
    if field == "error_code":
        return f"{_error_name(value)} ({value})"
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(item, name)}" for name, item in value.items() if _is_set(item))
    if isinstance(value, tuple):
        return f"[{' '.join(map(_item, value))}]"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return repr(value) if isinstance(value, bytes) or value == "" else str(value)


def _is_set(value: Any) -> bool:
    return value not in (None, "", (), b"", -1, False)


def _item(value: Any) -> str:
    if isinstance(value, tuple):
        pairs = value if value and isinstance(value[0], tuple) else (("", value[0]), ("", value[1]))
        return "(" + " ".join(shown(item, name) for name, item in pairs if item is not None) + ")"
    return shown(value)


def _error_name(code: int) -> str:
    return next((error.name for error in (*ErrorCode, *AppendError) if error.value == code), "error")


SHORT = {
    "session_timeout_ms": "session",
    "rebalance_timeout_ms": "rebalance",
    "generation_id": "generation",
    "group_instance_id": "instance",
    "protocol_type": "type",
    "protocol_name": "protocol",
}
"""Field names that are shortened in a dialogue."""


def brief_request(request: Request, version: int) -> str:
    """A request in one line: kind, version, and the fields that are set; but not the type "consumer"."""
    parts = [f"{type(request).__name__.removesuffix('Request')} v{version}"]
    for name, value in _named(request):
        if name == "member_id":
            parts.append(value or "(no member id)")
        elif name == "assignments" and not value:
            continue
        elif isinstance(value, tuple):
            parts.append("[" + " ".join(map(_brief_entry, value)) + "]")
        elif name != "group_id" and value is not None and (name, value) != ("protocol_type", "consumer"):
            parts.append(f"{SHORT[name]}={value!r}" if value == "" else f"{SHORT[name]}={value}")
    return " ".join(parts)


def _named(message: Any) -> list[tuple[str, Any]]:
    """What a request or a part of one says, field by field."""
    return [(one.name, getattr(message, one.name)) for one in fields(message)]


def _brief_entry(entry: Any) -> str:
    """A protocol, a share of an assignment, or somebody who leaves."""
    name, *rest = (value for _, value in _named(entry) if value not in (None, b""))
    return ":".join((name or "''", *(repr(value) if isinstance(value, bytes) else value for value in rest)))


def brief_answers(actual: Observation, address: str) -> str:
    """All answers of a step in one line; the request's own without its address."""
    answers = {
        topic.removeprefix("answer to "): " ".join(_brief_reply(what))
        for topic, what in actual.items()
        if topic.startswith("answer to ")
    }
    own = [answers.pop(address)] if address in answers else []
    return "; ".join((*own, *(f"{to}: {reply}" for to, reply in answers.items())))


def _brief_reply(reply: Fields) -> Iterable[str]:
    code = reply["error_code"]
    yield "ok" if code == 0 else _error_name(code)
    if reply["kind"] == "LeaveGroup" and reply["members"]:
        yield "[" + " ".join(_error_name(dict(m)["error_code"]) for m in reply["members"]) + "]"
    if reply.get("generation_id", -1) >= 0:
        yield f"generation {reply['generation_id']}"
    if code in (0, ErrorCode.MEMBER_ID_REQUIRED.value) and reply.get("member_id"):
        yield reply["member_id"]
    if reply.get("leader"):
        yield f"leader {reply['leader']}"
    if reply["kind"] == "SyncGroup" and code == 0:
        yield repr(reply["assignment"])
