"""Many-sorted first-order formulas, read in two ways: as Z3 terms, or as truth values in a finite universe.

The rules and the invariant are written once, with the words of this module. In a `Symbolic` universe they
make Z3 terms about any number of members; in a `Finite` one they make True or False of a state of the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import Any

import z3

Term = Any
"""A Z3 term, or in a finite universe a plain value."""


class Sort(Enum):
    """A sort: an uninterpreted one, of any number of elements."""

    MEMBER = "Member"
    """Member ids."""
    INSTANCE = "Instance"
    """Group instance ids of static members."""
    GENERATION = "Generation"
    """Numbers of generations: only their order counts."""
    PROTOCOL = "Protocol"
    ASSIGNMENT = "Assignment"
    """What a member is to do, bytes that nobody here reads."""
    RECORD = "Record"
    """Group records on their way to the log."""


class Phase(Enum):
    """The group's state."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class Point(Enum):
    """Where within one step of the coordinator: which rule continues it. Nothing else runs in between."""

    RESTING = "at rest"
    BATCH = "within a LeaveGroup, before the next identity"
    REMOVING = "before leave.remove-member"
    SWEEPING = "within timers.sync-timeout, before the next who has not synced"
    CHANGED = "before join.rebalance-or-complete"
    CHECKING = "before join.complete-if-all-joined"
    BEGINNING = "before join.prepare-rebalance"
    ENDING = "before join.complete-phase"
    EMPTYING = "before join.empty"
    ABSENT = "before static.nobody-joined"
    ELECTING = "before join.leader"
    VOTING = "before join.protocol"
    COUNTING = "before join.next-generation"
    REPLACED = "within static.replaced, before what the group's state asks for"


class Kind(Enum):
    """The records whose answers change a group."""

    ASSIGNMENT = "assignment"
    REPLACEMENT = "replacement"


SWITCHES = (
    "new_member_timer",
    "sync_timer",
    "pending_leave_rebalances",
    "refusal_completes_phase",
    "expiry_ends_initial_delay",
    "replaced_member_stays_new",
    "failed_replacement_keeps_protocols",
    "replaced_owes_sync",
    "late_failure_undoes",
    "heartbeats_while_completing",
)
"""The switches of `rota.spec.Profile` that the rules read. Proved is what holds however they stand."""

RIGID: Mapping[str, tuple[tuple[Sort, ...], Sort | type[Kind] | None]] = {
    "instance": ((Sort.MEMBER,), Sort.INSTANCE),
    "before": ((Sort.GENERATION, Sort.GENERATION), None),
    "kind": ((Sort.RECORD,), Kind),
    "written_in": ((Sort.RECORD,), Sort.GENERATION),
    "covers": ((Sort.RECORD, Sort.MEMBER), None),
    "gives": ((Sort.RECORD, Sort.MEMBER), Sort.ASSIGNMENT),
    "newcomer": ((Sort.RECORD,), Sort.MEMBER),
    "former": ((Sort.RECORD,), Sort.MEMBER),
    "led_then": ((Sort.RECORD,), Sort.MEMBER),
    "skips": ((Sort.RECORD,), None),
    "former_supports": ((Sort.RECORD, Sort.PROTOCOL), None),
}
"""What never changes, by name: (argument sorts, value sort; None: a truth value).

- instance: the group instance id that a member id was made for, `dynamic` where it was made for none
- before: the order of generations, strict
- kind, written_in, covers, gives: a record's kind, generation, members and their assignments
- newcomer, former, led_then, skips, former_supports: the new and the former id of a replacement, who led
  before it, whether its JoinGroup has SkipAssignment, and the former self's protocols

A record's content never changes, so writing one is: choosing a record with this content.
"""

CONSTANTS: Mapping[str, Sort] = {
    "nobody": Sort.MEMBER,
    "dynamic": Sort.INSTANCE,
    "no_protocol": Sort.PROTOCOL,
    "nothing": Sort.ASSIGNMENT,
    "first": Sort.GENERATION,
}
"""No member; no instance id; no protocol; empty bytes; the generation 0 of a group that was just made."""


class Universe:
    """What there is. Attributes: `RIGID`, `CONSTANTS`, `SWITCHES`, and the names of Phase, Point and Kind."""

    def __init__(self, meanings: Mapping[str, Any]) -> None:
        self._meanings = dict(meanings)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._meanings[name]
        except KeyError:
            raise AttributeError(f"the universe has no {name}") from None

    def every(self, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        """For all."""
        raise NotImplementedError

    def some(self, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        """For at least one."""
        raise NotImplementedError


def both(*parts: Term) -> Term:
    """All of them hold; true where there are none."""
    if any(part is False for part in parts):
        return False
    open_parts = [part for part in parts if part is not True]
    return z3.And(open_parts) if open_parts else True


def either(*parts: Term) -> Term:
    """At least one holds."""
    if any(part is True for part in parts):
        return True
    open_parts = [part for part in parts if part is not False]
    return z3.Or(open_parts) if open_parts else False


def no(part: Term) -> Term:
    """It does not hold."""
    return (not part) if isinstance(part, bool) else z3.Not(part)


def implies(given: Term, then: Term) -> Term:
    """The second holds if the first does."""
    return either(no(given), then)


def ite(condition: Term, then: Term, otherwise: Term) -> Term:
    """The one value or the other; values of the same kind."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    return z3.If(condition, then, otherwise)


def _enumeration(name: str, members: type[Enum]) -> tuple[Any, dict[str, Any]]:
    sort, values = z3.EnumSort(name, [member.name.lower() for member in members])
    return sort, {member.name: value for member, value in zip(members, values, strict=True)}


Z3_SORTS: dict[Any, Any] = {sort: z3.DeclareSort(sort.value) for sort in Sort}
_VALUES: dict[str, Any] = {}
for _name, _members in (("GroupPhase", Phase), ("Point", Point), ("RecordKind", Kind)):
    Z3_SORTS[_members], _named = _enumeration(_name, _members)
    _VALUES |= _named
Z3_SORTS[None] = z3.BoolSort()


def symbol(name: str, domain: Sequence[Sort], value: Any) -> Any:
    """A Z3 constant or function. value: a sort, an enumeration, or None for truth values."""
    if not domain:
        return z3.Const(name, Z3_SORTS[value])
    return z3.Function(name, *(Z3_SORTS[sort] for sort in domain), Z3_SORTS[value])


class Symbolic(Universe):
    """Any number of everything: formulas are Z3 terms."""

    def __init__(self) -> None:
        rigid = {name: symbol(name, *signature) for name, signature in RIGID.items()}
        constants = {name: symbol(name, (), sort) for name, sort in CONSTANTS.items()}
        switches = {name: symbol(name, (), None) for name in SWITCHES}
        super().__init__(_VALUES | rigid | constants | switches)
        self._depth = 0

    def every(self, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        """For all."""
        return self._bind(z3.ForAll, sorts, body)

    def some(self, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        """For at least one."""
        return self._bind(z3.Exists, sorts, body)

    def _bind(self, quantifier: Any, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        # Names differ by depth, so that nothing is captured, and depend on nothing else, so that equal
        # formulas are the same term.
        bound = (sorts,) if isinstance(sorts, Sort) else tuple(sorts)
        names = [f"{sort.value.lower()}{self._depth}{index}" for index, sort in enumerate(bound)]
        variables = [symbol(name, (), sort) for name, sort in zip(names, bound, strict=True)]
        self._depth += 1
        try:
            inner = body(*variables)
        finally:
            self._depth -= 1
        return inner if isinstance(inner, bool) else quantifier(variables, inner)


@dataclass(frozen=True)
class Everything:
    """The elements of a finite universe by sort."""

    of: Mapping[Sort, Sequence[Any]] = field(default_factory=dict)

    def tuples(self, sorts: Sequence[Sort]) -> list[tuple[Any, ...]]:
        """All combinations."""
        return list(product(*(self.of.get(sort, ()) for sort in sorts)))


class Finite(Universe):
    """The elements that are listed: formulas are True or False.

    Parameters: everything, elements by sort; meanings, of all names in `RIGID` (functions), `CONSTANTS`
    (elements) and `SWITCHES` (bools). Phases, points and kinds are the members of their enumerations.
    """

    def __init__(self, everything: Everything, meanings: Mapping[str, Any]) -> None:
        missing = {*RIGID, *CONSTANTS, *SWITCHES} - set(meanings)
        if missing:
            raise ValueError(f"the universe must say what {', '.join(sorted(missing))} mean")
        values = {member.name: member for enum in (Phase, Point, Kind) for member in enum}
        super().__init__(values | dict(meanings))
        self.everything = everything

    def every(self, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        """For all that are listed."""
        bound = (sorts,) if isinstance(sorts, Sort) else tuple(sorts)
        return all(body(*values) for values in self.everything.tuples(bound))

    def some(self, sorts: Sort | Sequence[Sort], body: Callable[..., Term]) -> Term:
        """For at least one that is listed."""
        bound = (sorts,) if isinstance(sorts, Sort) else tuple(sorts)
        return any(body(*values) for values in self.everything.tuples(bound))
