"""Audits of the offsets topic: what records of a group may say, alone and one after the other."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rota.history import Event, Kind
from rota.validate.account import Account, Violation

TOPIC = "offsets"
MOST_GROUPS = 1_000_000

COMMITS = "committed offsets: their records name nobody who committed them"
OTHERS = "records of other protocols, and unknown ones"

_GROWS = "generation.grows-by-completed-joins"
_FIXED = "join.membership-fixed-in-a-generation"

Found = tuple[str, str]
"""A rule, and what is wrong."""


@dataclass(frozen=True)
class _Stored:
    """The last record of a group. members: what each is known by, its instance id if it has one."""

    generation: int
    members: frozenset[str]
    origin: str


class Topic:
    """Takes records in the order of their partition."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._stored: OrderedDict[str, _Stored] = OrderedDict()

    def take(self, event: Event) -> None:
        """The next record."""
        if event.group:
            self._account.of(event.group)
        if event.kind is Kind.GROUP_STORED:
            self._group(event)
        elif event.kind is Kind.GROUP_REMOVED:
            self._stored.pop(event.group, None)
            self._account.judge(event.group, 1)
        elif event.kind in (Kind.OFFSET_STORED, Kind.OFFSET_REMOVED):
            self._account.leave(COMMITS, TOPIC, 1, event.group)
        elif event.kind is Kind.UNREAD:
            self._stored.pop(event.group, None)
            self._account.quarantine(event.group)
        else:
            self._account.leave(OTHERS, TOPIC, 1, event.group)

    def _group(self, event: Event) -> None:
        generation = event.generation or 0
        before = self._stored.pop(event.group, None)
        self._stored[event.group] = _Stored(generation, frozenset(_names(event.data)), event.origin)
        if len(self._stored) > MOST_GROUPS:
            self._stored.popitem(last=False)
        self._account.judge(event.group, 1)
        lines: tuple[str, ...] = (event.origin,)
        found = [*_alone(event)]
        if before is not None and (later := _after(before, self._stored[event.group])):
            found.append(later)
            lines = (before.origin, event.origin)
        for rule, why in found[:1]:
            self._account.violate(Violation(event.group, rule, why, event.origin, lines, TOPIC, at=event.at))


def _names(data: Mapping[str, Any]) -> Iterator[str]:
    for one in data.get("members", ()):
        yield one.get("instance") or one.get("member", "")


def _alone(event: Event) -> Iterator[Found]:
    """What a record says against itself."""
    ids = [one.get("member", "") for one in event.data.get("members", ())]
    instances = Counter(one["instance"] for one in event.data.get("members", ()) if one.get("instance"))
    twice = [name for name, number in (instances + Counter(ids)).items() if number > 1]
    if twice:
        yield "static.one-member-per-instance", f"{twice[0]} is stored twice in generation {event.generation}"
    if not ids and (event.member or event.data.get("protocol")):
        yield "shape.fields-match-state", "a group without members is stored with a leader or a protocol"
    elif ids and event.member and event.member not in ids:
        yield (
            "join.leader-is-a-member",
            f"{event.member} leads generation {event.generation} and is no member",
        )
    elif ids and not (event.member and event.data.get("protocol")):
        yield "shape.fields-match-state", "a group with members is stored without a leader or a protocol"


def _after(before: _Stored, now: _Stored) -> Found | None:
    """What a record says against the one before it."""
    if now.generation < before.generation:
        return _GROWS, f"generation {now.generation} is stored after generation {before.generation}"
    if now.generation == before.generation and now.members != before.members:
        return _FIXED, f"generation {now.generation} is stored again with other members"
    return None
