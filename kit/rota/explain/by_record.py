"""What the records of the offsets topic tell: who is in which generation, with which timeouts.

Beside another source that is all that is taken of them. Where nothing else tells of a group, two generations
that follow each other are a rebalance of which the beginning is not visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rota.explain.by_client import End, changed
from rota.explain.group_state import Group, moment
from rota.explain.rebalance import Ending
from rota.history import Event, Kind, Source


class ByRecord:
    """Handlers of records. end: is called where a rebalance has ended."""

    def __init__(self, end: End) -> None:
        self._end = end
        self.handlers: Mapping[Kind, Callable[[Group, Event], None]] = {
            Kind.GROUP_STORED: self._stored,
            Kind.DESCRIBED: self._stored,
            Kind.GROUP_REMOVED: self._removed,
        }

    def _stored(self, group: Group, event: Event) -> None:
        members = list(_members(event))
        sessions = {one["member"]: one.get("session_ms") for one in members}
        group.sessions |= {member: ms for member, ms in sessions.items() if isinstance(ms, int)}
        there = sessions.keys() | (group.roster or {}).keys()  # who is gone may be told of only now
        group.sessions = {member: ms for member, ms in group.sessions.items() if member in there}
        lasting = [one["rebalance_ms"] for one in members if isinstance(one.get("rebalance_ms"), int)]
        group.longest_ms = max(lasting, default=group.longest_ms)
        group.protocol = str(event.data.get("protocol") or group.protocol)
        roster = {one["member"]: str(one.get("instance") or "") for one in members}
        if group.told_by <= {Source.OFFSETS, Source.DESCRIBED} and event.kind is Kind.GROUP_STORED:
            self._alone(group, event, roster)
        group.roster = roster

    def _alone(self, group: Group, event: Event, roster: dict[str, str]) -> None:
        """Nothing else tells of the group."""
        before = group.roster
        if group.generation is not None and event.generation == group.generation:
            came, gone = changed(before, roster)
            instances = {before[one] for one in gone} & {roster[one] for one in came} if before else set()
            if instances - {""}:
                group.remember(_replaced(event, came, gone, instances, before or {}, roster))
            return
        if event.generation == 0 and not roster:
            group.generation = 0  # it was formed: its first members are joining
            return
        one = group.begin(event, by_broker=False)
        one.began = None
        one.from_generation = group.generation
        one.members_before = None if before is None else len(before)
        one.to_generation, one.members_after = event.generation, len(roster)
        one.from_empty = before is not None and not before
        one.came, one.gone = changed(before, roster)
        self._end(group, Ending.ASSIGNED if roster else Ending.EMPTY, moment(event, group.seen))

    def _removed(self, group: Group, event: Event) -> None:
        group.roster, group.members = {}, 0


def _members(event: Event) -> Iterator[dict[str, Any]]:
    members = event.data.get("members")
    for one in members if isinstance(members, list) else ():
        if isinstance(one, dict) and isinstance(one.get("member"), str):
            yield one


def _replaced(
    event: Event,
    came: tuple[str, ...],
    gone: tuple[str, ...],
    instances: set[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
) -> Event:
    """A static member has come back, as a record shows it."""
    instance = min(instances - {""})
    new = next(one for one in came if after[one] == instance)
    old = next(one for one in gone if before[one] == instance)
    return Event(
        event.at, event.source, event.origin, Kind.REPLACED, event.group, new, instance,
        generation=event.generation, data={"old_member": old},
    )  # fmt: skip
