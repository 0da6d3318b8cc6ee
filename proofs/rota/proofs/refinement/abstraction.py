"""A group of the spec as a state of the core: the abstraction function, over a finite universe.

Left out is what no formula speaks of: addresses, timeouts, timers, protocol types, metadata, the order of
lists. Generations are numbered about the group's own: earlier, now, the next, later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rota.proofs.core.logic import SWITCHES, Everything, Finite, Kind, Phase, Point, Sort
from rota.proofs.core.signature import SIGNATURE, State
from rota.spec import Group, GroupRecord, GroupState, Profile, RecordKind

AbstractState = Mapping[str, Any]
"""A value for each name of the signature: relations and functions as frozen sets of rows, a function's with
its value last."""

EARLIER, NOW, NEXT, LATER = range(4)

COMPARED = tuple(name for name, part in SIGNATURE.items() if part.role != "control")
"""What an abstract state says between two steps: all but the control part."""

PHASES = {
    GroupState.EMPTY: Phase.EMPTY,
    GroupState.PREPARING_REBALANCE: Phase.PREPARING,
    GroupState.COMPLETING_REBALANCE: Phase.COMPLETING,
    GroupState.STABLE: Phase.STABLE,
}

KINDS = {RecordKind.ASSIGNMENT: Kind.ASSIGNMENT, RecordKind.REPLACEMENT: Kind.REPLACEMENT}
"""Records of other kinds are not abstracted: their answers change no group that goes on living."""


@dataclass(frozen=True)
class Written:
    """A record in flight, by its content. A replacement's lines give nothing, since no formula reads them."""

    kind: Kind
    written_in: int
    covers: frozenset[str]
    gives: frozenset[tuple[str, bytes]] = frozenset()
    newcomer: str = ""
    former: str = ""
    led_then: str = ""
    skips: bool = False
    former_supports: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cast:
    """What there is: member ids with the instance that each was made for, and the rest by sort."""

    members: frozenset[tuple[str, str | None]]
    instances: frozenset[str | None]
    protocols: frozenset[str | None]
    assignments: frozenset[bytes]
    records: frozenset[Written]

    def with_records(self, records: Iterable[Written]) -> Cast:
        """With further records."""
        return replace(self, records=self.records.union(records))


def relative(generation: int, now: int) -> int:
    """A generation's number about the group's own."""
    return min(max(generation - now + NOW, EARLIER), LATER)


def written(record: GroupRecord, now: int) -> Written:
    """A record's content. Errors: KeyError for a kind that is not abstracted."""
    kind, change = KINDS[record.kind], record.replacement
    covers = frozenset(line.member_id for line in record.members)
    when = relative(record.generation_id, now)
    if change is None:
        return Written(kind, when, covers, frozenset(record.assignments.items()))
    return Written(
        kind,
        when,
        covers,
        newcomer=change.member_id,
        former=change.former_id,
        led_then=change.leader or "",
        skips=change.skips_assignment,
        former_supports=frozenset(protocol.name for protocol in change.protocols),
    )


def abstract_state(group: Group | None, now: int, appended: Iterable[Written] = ()) -> dict[str, Any]:
    """The group as it is, without a past. now: its generation at first; appended: what is in flight."""
    group = group or Group()
    members = group.members
    generation = relative(group.generation_id, now)
    shown = dict(_NOTHING)
    shown |= {
        "phase": PHASES[group.state],
        "generation": generation,
        "protocol": group.protocol_name,
        "leader": group.leader or "",
        "initial": group.initial_join is not None,
        "member": rows(members),
        "pending": rows(group.pending),
        "owes": rows(group.pending_sync),
        "joining": rows(i for i, m in members.items() if m.awaiting_join is not None),
        "syncing": rows(i for i, m in members.items() if m.awaiting_sync is not None),
        "is_new": rows(i for i, m in members.items() if m.is_new),
        "supports": frozenset((i, name) for i, m in members.items() for name in m.names),
        "assigned": frozenset((i, m.assignment) for i, m in members.items()),
        "held": rows(m.group_instance_id for m in members.values() if m.group_instance_id is not None),
        "appended": rows(appended),
    }
    return shown


def with_past(shown: dict[str, Any]) -> dict[str, Any]:
    """With a history: who is in the group was in its generation from the start. Rules read no other."""
    now = shown["generation"]
    if shown["phase"] is not Phase.EMPTY:
        shown["belonged"] = frozenset((now, m) for (m,) in shown["member"])
        shown["seat"] = frozenset((now, i) for (i,) in shown["held"])
        shown["led"] = frozenset({(now, shown["leader"])})
        shown["chosen"] = frozenset({(now, shown["protocol"])})
    if shown["phase"] is Phase.STABLE:
        shown["settled"] = rows([now])
        shown["proposed"] = frozenset((now, *line) for line in shown["assigned"])
        shown["decided"] = shown["proposed"]
    return shown


def rows(elements: Iterable[Any]) -> frozenset[tuple[Any]]:
    """A set as a relation."""
    return frozenset((element,) for element in elements)


def _nothing(name: str) -> Any:
    part = SIGNATURE[name]
    if part.domain:
        return frozenset()
    return {Point: Point.RESTING, Sort.MEMBER: "", Sort.RECORD: None, None: False}.get(part.value)


_NOTHING: AbstractState = {name: _nothing(name) for name in SIGNATURE}


def normal_form(shown: AbstractState) -> tuple[Any, ...]:
    """What abstract states between steps are compared by: what is said of ids, of members only."""
    alive = shown["member"]
    cut = {name: frozenset(r for r in shown[name] if r[:1] in alive) for name in ("supports", "assigned")}
    return tuple(cut.get(name, shown[name]) for name in COMPARED)


@lru_cache(maxsize=100_000)
def universe(cast: Cast, profile: Profile) -> Finite:
    """The finite universe of a cast, with a profile's switches."""
    instances = dict(cast.members)
    of: dict[Sort, Sequence[Any]] = {
        Sort.MEMBER: sorted(instances),
        Sort.INSTANCE: sorted(cast.instances, key=str),
        Sort.GENERATION: [EARLIER, NOW, NEXT, LATER],
        Sort.PROTOCOL: sorted(cast.protocols, key=str),
        Sort.ASSIGNMENT: sorted(cast.assignments),
        Sort.RECORD: sorted(cast.records, key=repr),
    }
    meanings = {
        "instance": instances.__getitem__,
        "before": lambda one, other: one < other,
        "kind": lambda r: r.kind,
        "written_in": lambda r: r.written_in,
        "covers": lambda r, m: m in r.covers,
        "gives": lambda r, m: dict(r.gives).get(m, b""),
        "newcomer": lambda r: r.newcomer,
        "former": lambda r: r.former,
        "led_then": lambda r: r.led_then,
        "skips": lambda r: r.skips,
        "former_supports": lambda r, p: p in r.former_supports,
        "nobody": "",
        "dynamic": None,
        "no_protocol": None,
        "nothing": b"",
        "first": EARLIER,
        **{name: getattr(profile, name) for name in SWITCHES},
    }
    return Finite(Everything(of), meanings)


def state_of(u: Finite, shown: AbstractState) -> State:
    """An abstract state as a state of the core."""
    return State(u, {name: _reading(name, value) for name, value in shown.items()})


def _reading(name: str, value: Any) -> Any:
    part = SIGNATURE[name]
    if not part.domain:
        return value
    if part.value is None:
        return lambda *at: at in value
    known = {row[:-1]: row[-1] for row in value}
    return lambda *at: known.get(at, b"")


def abstract_successor(u: Finite, reached: State, was: State, shown: AbstractState) -> dict[str, Any]:
    """The abstract state of a successor that a formula makes."""
    new = dict(shown)
    for name, part in SIGNATURE.items():
        value = reached.parts[name]
        if value is was.parts[name]:
            continue
        if not part.domain:
            new[name] = value
            continue
        places = u.everything.tuples(part.domain)
        holds = part.value is None
        new[name] = frozenset(at if holds else (*at, value(*at)) for at in places if not holds or value(*at))
    return new
