"""What was seen of one step on each side of the lockstep of the consumer protocol, and how they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from rota.oracle.consumer_spec import NotingSpec, state_of
from rota.oracle.report import Divergence, differences, headline
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.messages import ReplyMessage
from rota.spec.consumer.records import Written

Fields = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """Answers by address, in order; records; what is armed, with the time that is left; the group.

    stores: the partitions of which offsets are written.
    """

    answers: Mapping[str, ReplyMessage]
    records: tuple[Written, ...]
    timers: Mapping[tuple[str, str], int]
    group: AnyGroup | None
    stores: tuple[tuple[str, int], ...] = ()

    def observed(self) -> dict[str, Fields]:
        """By topics and fields, as a report tells it."""
        found = {f"answer to {to}": said(one) for to, one in self.answers.items()}
        for place, one in enumerate(self.records, 1):
            found[f"record {place}"] = {
                "kind": one.kind.name,
                "member": one.member_id,
                "value": word(one.value),
            }
        for (name, member_id), left in self.timers.items():
            found[f"timer {name} of {member_id}"] = {"delay_ms": left}
        if self.stores:
            found["record of offsets"] = {"of": self.stores}
        found |= _group(self.group)
        found["answer, order"] = {"order": tuple(self.answers)}
        return found


def said(value: Any) -> Fields:
    """The fields of a value, in words."""
    kind = {"kind": type(value).__name__}
    return kind | {one.name: word(getattr(value, one.name)) for one in fields(value)}


def word(value: Any) -> Any:
    """A value as a report has it."""
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return " ".join(str(word(getattr(value, one.name))) for one in fields(value))
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(str(word(one)) for one in value)) + "}"
    if isinstance(value, str | int | None):
        return str(value)
    return "(" + ", ".join(str(word(one)) for one in value) + ")" if isinstance(value, tuple) else str(value)


def _group(group: AnyGroup | None) -> dict[str, Fields]:
    found: dict[str, Fields] = {"group": {"state": state_of(group)}}
    if not isinstance(group, ConsumerGroup):
        return found
    for name in ("epoch", "metadata_hash", "target_epoch", "computed", "owners"):
        found["group"][name] = word(getattr(group, name))
    for member_id in {**group.members, **group.targets, **group.current}:
        found[f"group, member {member_id}"] = {
            "said": word(group.members.get(member_id)),
            "target": word(group.targets.get(member_id)),
            "has": word(group.current.get(member_id)),
        }
    return found


def diverged(
    what: str,
    dialogue: Sequence[str],
    spec: NotingSpec,
    viewed: Sequence[str],
    mine: Seen | None = None,
    theirs: Seen | None = None,
) -> Divergence:
    """The divergence of a step.

    Parameters: what, the headline, if it is not a difference between what was seen; viewed, the rules by
    which the group was looked at, if that differs.
    """
    used = list(dict.fromkeys(viewed or spec.used))
    slugs = [slug for slug in used if not slug.startswith("persistence.")] or used
    rules = [spec.rules[slug] for slug in slugs]
    differing = () if mine is None or theirs is None else differences(mine.observed(), theirs.observed())
    rule = slugs[-1] if slugs else ""
    text = what or (headline(differing, rule) if differing else "the sides differ in what no report tells")
    return Divergence(text, "g", dialogue, differing, rules, _unique(spec.passed))


def _unique(slugs: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(slugs))
