"""Groups as they change: who belongs and what each lists, before and after a step, as terms and in names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula
from rota.proofs.vote.encoding import MEMBER, PROTOCOL, Rule, belongs, lists, some
from rota.proofs.vote.small_groups import World

CAST = World(("alice", "bob", "carol"), ("range", "roundrobin", "sticky"))
"""Where counterexamples live. Nobody has to belong: the fewest members do."""

ALICE, BOB, CAROL = (CAST.member(name) for name in CAST.members)

_n, _p = z3.Const("n", MEMBER), z3.Const("p", PROTOCOL)


@dataclass(frozen=True)
class VotingGroup:
    """A set of members, and their lists as sets. Parameters: rules for a member, and for member and name."""

    inside: Rule
    listed: Callable[[Formula, Formula], Formula]

    def common(self, protocol: Formula) -> Formula:
        """Every member lists it."""
        return z3.ForAll([_n], z3.Implies(self.inside(_n), self.listed(_n, protocol)))

    def fits(self, names: Rule) -> Formula:
        """The guard: a list has a name that every member lists."""
        return some(lambda p: z3.And(names(p), self.common(p)))

    def with_list(self, member: Formula, names: Rule) -> VotingGroup:
        """The member is in, with this list, whether it was there before or not."""
        return VotingGroup(
            lambda m: z3.Or(m == member, self.inside(m)),
            lambda m, p: z3.If(m == member, names(p), self.listed(m, p)),
        )

    def without(self, member: Formula) -> VotingGroup:
        """The member is gone."""
        return VotingGroup(lambda m: z3.And(m != member, self.inside(m)), self.listed)

    def renamed(self, old: Formula, new: Formula) -> VotingGroup:
        """What one member listed, the other lists in its place."""
        return self.without(old).with_list(new, lambda p: self.listed(old, p))

    def loaded(self, elected: Formula) -> VotingGroup:
        """After a fail-over: of each list the elected protocol is left."""
        return VotingGroup(self.inside, lambda m, p: p == elected)


NOBODY = VotingGroup(lambda m: z3.BoolVal(False), lists)
NOW = VotingGroup(belongs, lists)
"""Any group."""


def has_common(group: VotingGroup) -> Formula:
    """The invariant: some protocol is listed by every member."""
    return some(group.common)


def list_of(member: Formula) -> Rule:
    """The list that the member has, or comes with."""
    return lambda p: lists(member, p)


@dataclass(frozen=True)
class Snapshot:
    """A group in names. Parameters: what happened; list by member; counter by protocol, if any are kept."""

    what: str
    lists: tuple[tuple[str, tuple[str, ...]], ...]
    counters: tuple[tuple[str, int], ...] = ()

    @property
    def common(self) -> tuple[str, ...]:
        """What every member lists, in the order of `CAST`."""
        return tuple(p for p in CAST.protocols if all(p in listed for _, listed in self.lists))

    def as_lines(self) -> Iterator[str]:
        """For people."""
        held = "; ".join(f"{member} lists {join_names(listed)}" for member, listed in self.lists) or "nobody"
        yield f"{self.what}: {held}"
        if self.counters:
            counters = ", ".join(f"{protocol} {count}" for protocol, count in self.counters)
            yield f"  counters: {counters}; members: {len(self.lists)}"


@dataclass(frozen=True)
class Course:
    """Snapshots that break a claim. Parameters: snapshots; conclusion, a sentence."""

    snapshots: tuple[Snapshot, ...]
    conclusion: str

    def as_lines(self) -> Iterator[str]:
        """For people."""
        for snapshot in self.snapshots:
            yield from snapshot.as_lines()
        last = self.snapshots[-1]
        yield f"in common: {join_names(last.common) if last.lists else 'anything'}"
        yield self.conclusion

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "snapshots": [
                {
                    "what": snapshot.what,
                    "lists": {member: list(listed) for member, listed in snapshot.lists},
                    "common": list(snapshot.common),
                    "counters": dict(snapshot.counters),
                }
                for snapshot in self.snapshots
            ],
            "conclusion": self.conclusion,
        }


def join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def smallest(
    assumptions: dict[str, Formula],
    goal: Formula,
    groups: Sequence[VotingGroup],
    brought: Sequence[Rule] = (),
    times: Callable[[Formula, Formula], Formula] | None = None,
) -> Claim:
    """A claim to be refuted in `CAST`: by the fewest members, then the fewest entries, then the first names.

    Parameters: groups, whose members and lists count; brought, lists that count beside theirs; times, how
    often a member lists a name, if not once.
    """
    protocols = [(100 + i, CAST.protocol(name)) for i, name in enumerate(CAST.protocols)]
    weight: list[Formula] = []
    for i, member in enumerate(CAST.member(name) for name in CAST.members):
        for group in groups:
            weight.append(z3.If(group.inside(member), 10_000 + 1000 * i, 0))
            for cost, p in protocols:
                entries = 1 if times is None else times(member, p)
                weight.append(z3.If(z3.And(group.inside(member), group.listed(member, p)), cost * entries, 0))
    weight += [z3.If(names(p), cost, 0) for names in brought for cost, p in protocols]
    return Claim(assumptions, goal, measure=z3.Sum(weight), instances=(CAST.ground_claim,))


def read_snapshot(
    model: Any,
    what: str,
    group: VotingGroup,
    counters: Mapping[str, Formula] | None = None,
    times: Any = None,
) -> Snapshot:
    """A group in a model of `CAST`. times: how often a member lists a name, if not once."""

    def is_so(fact: Formula) -> bool:
        return bool(z3.is_true(model.eval(CAST.ground(fact), model_completion=True)))

    def number(term: Formula) -> int:
        value: int = model.eval(term, model_completion=True).as_long()
        return value

    def listed(member: Formula) -> Iterator[str]:
        for name in CAST.protocols:
            protocol = CAST.protocol(name)
            if is_so(group.listed(member, protocol)):
                yield from [name] * (number(times(member, protocol)) if times is not None else 1)

    members = [(name, CAST.member(name)) for name in CAST.members]
    held = tuple((name, tuple(listed(member))) for name, member in members if is_so(group.inside(member)))
    return Snapshot(what, held, tuple((name, number(term)) for name, term in (counters or {}).items()))


def read_names(model: Any, names: Rule) -> str:
    """A list of names in a model of `CAST`."""
    facts = ((name, CAST.ground(names(CAST.protocol(name)))) for name in CAST.protocols)
    return join_names([name for name, fact in facts if z3.is_true(model.eval(fact, model_completion=True))])
