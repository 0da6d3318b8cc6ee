"""The formulas of assignors and the assignors give the same, on every small group; one with a bug does not.

And what refutes a claim about assignors happens when they are run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from types import FunctionType, ModuleType
from typing import Any

import pytest
import z3

import rota.environment.assignors.range as range_module
import rota.environment.assignors.roundrobin as roundrobin_module
from rota.environment.assignors import ASSIGNORS, Assignor, Parts, Subscription
from rota.proofs import prove, select
from rota.proofs.assignors import cooperative, ranges, roundrobin
from rota.proofs.vote.small_groups import World

IDS = ("ann", "ben", "cid")
TOPICS = ((), ("t",), ("u",), ("t", "u"))
TRIO = World(IDS, ("cooperative-sticky",))


def with_bug(module: ModuleType, text: str, bug: str) -> Assignor:
    """The module's assignor with a piece of its text exchanged."""
    source = inspect.getsource(module)
    assert source.count(text) == 1
    names = {"__name__": module.__name__}
    exec(compile(source.replace(text, bug), module.__name__, "exec"), names)
    return next(v for n, v in names.items() if isinstance(v, FunctionType) and n.startswith("assign_r"))


def whole(term: Any) -> int:
    return z3.simplify(term).as_long()


@cache
def piece(place: int, share: int, extra: int) -> range:
    return range(*map(whole, ranges.piece(*map(z3.IntVal, (place, share, extra)))))


@cache
def following(place: int, count: int) -> int:
    return whole(roundrobin.following(z3.IntVal(place), z3.IntVal(count)))


def by_ranges(counts: dict[str, int], members: list[Subscription]) -> Parts:
    """As the formulas of range say: the next place for each subscriber, members in order."""
    parts: dict[str, list[tuple[str, int]]] = {member.member_id: [] for member in members}
    for topic, count in counts.items():
        subscribers = sum(topic in member.topics for member in members)
        place = 0
        for member in members:
            if topic in member.topics:
                numbers = piece(place, count // subscribers, count % subscribers)
                parts[member.member_id] += [(topic, number) for number in numbers]
                place += 1
    return {member_id: tuple(part) for member_id, part in parts.items()}


def by_circle(counts: dict[str, int], members: list[Subscription]) -> Parts:
    """As the formulas of roundrobin say: places are passed over whose members do not want the topic."""
    parts: dict[str, list[tuple[str, int]]] = {member.member_id: [] for member in members}
    place = 0
    for topic, count in counts.items():
        wants = [topic in member.topics for member in members]
        for number in range(count) if any(wants) else ():
            while not wants[place]:
                place = following(place, len(members))
            parts[members[place].member_id].append((topic, number))
            place = following(place, len(members))
    return {member_id: tuple(part) for member_id, part in parts.items()}


def groups() -> Iterator[tuple[dict[str, int], list[Subscription]]]:
    """All groups of one to three on two topics of up to four partitions."""
    for size, t, u in product((1, 2, 3), range(5), range(4)):
        for topics in product(TOPICS, repeat=size):
            members = [Subscription(i, wanted) for i, wanted in zip(IDS, topics, strict=False)]
            yield {"t": t, "u": u}, members


def differing(formulas: Assignor, assign: Assignor) -> Iterator[tuple[dict[str, int], list[Subscription]]]:
    return (group for group in groups() if formulas(*group) != assign(*group))


def test_range_gives_what_the_formulas_give() -> None:
    assert not list(differing(by_ranges, ASSIGNORS["range"]))
    bug = with_bug(range_module, "(position < extra)", "(position <= extra)")
    assert list(differing(by_ranges, bug))


def test_roundrobin_gives_what_the_formulas_give() -> None:
    assert not list(differing(by_circle, ASSIGNORS["roundrobin"]))
    bug = with_bug(roundrobin_module, "while circle[following] not in takers", "while not takers")
    assert list(differing(by_circle, bug))
    bug = with_bug(
        roundrobin_module, "        following = (following + 1) % len(circle)\n    return", "    return"
    )
    assert list(differing(by_circle, bug))


# cooperative-sticky: one partition, t 0; any claims on it of two generations; u keeps members apart.

Claims = dict[str, int]
"""Who claims it → of which generation."""


def claimants() -> Iterator[Claims]:
    for generations in product((0, 1, 2), repeat=3):
        yield {i: generation for i, generation in zip(IDS, generations, strict=True) if generation}


def claiming(claims: Claims, wanting: tuple[str, ...]) -> list[Subscription]:
    return [
        Subscription(
            i, ("t", "u") if i in wanting else ("u",), (("t", 0),) * (i in claims), claims.get(i, -1)
        )
        for i in IDS
    ]


def owner(parts: Parts) -> str | None:
    return next((i for i, part in parts.items() if ("t", 0) in part), None)


class Given:
    """Who gets the partition by the formulas, where its target and all claims are known."""

    def __init__(self, rule: Callable[[Any], Any]) -> None:
        self.solver = z3.Solver()
        self.solver.add(z3.Distinct([TRIO.member(i) for i in IDS]))
        self.gets = {i: TRIO.ground(rule(TRIO.member(i))) for i in IDS}

    def __call__(self, claims: Claims, target: str | None) -> str | None:
        self.solver.push()
        for i in IDS:
            member = TRIO.member(i)
            self.solver.add(cooperative.claims(member) == (i in claims))
            self.solver.add(cooperative.target(member) == (i == target))
            self.solver.add(cooperative.generation(member) == claims.get(i, -1))
        gets = [i for i, term in self.gets.items() if self.solver.check(z3.Not(term)) == z3.unsat]
        assert all(self.solver.check(term) == z3.unsat for i, term in self.gets.items() if i not in gets)
        self.solver.pop()
        assert len(gets) <= 1
        return next(iter(gets), None)


WANTING = (IDS, ("ann", "ben"), ("cid",), ())


def differing_claims(assign: Assignor) -> Iterator[tuple[Claims, tuple[str, ...]]]:
    given = Given(cooperative.FIRST.given)
    for claims, wanting in product(claimants(), WANTING):
        group = {"t": 1, "u": 1}, claiming(claims, wanting)
        target = owner(ASSIGNORS["sticky"](*group))
        if owner(assign(*group)) != given(claims, target):
            yield claims, wanting


def test_cooperative_sticky_gives_what_the_formula_gives() -> None:
    assert not list(differing_claims(ASSIGNORS["cooperative-sticky"]))
    assert list(differing_claims(ASSIGNORS["sticky"]))


def test_the_other_rule_is_the_difference_of_what_is_new_and_what_is_lost() -> None:
    """In the words of its source: what somebody gets anew and somebody had is taken out."""
    given = Given(cooperative.FIRST.given_by_difference)
    for claims, target in product(claimants(), (*IDS, None)):
        added = target is not None and target not in claims
        revoked = any(i != target for i in claims)
        assert given(claims, target) == (None if added and revoked else target)


# Counterexamples.


def figures(name: str) -> dict[str, Any]:
    (obligation,) = select([f"assignors.{name}"])
    example = prove(obligation).counterexample
    assert example is not None
    assert list(example.as_lines())
    return example.as_json()


def test_range_is_uneven_over_topics() -> None:
    of = figures("range.even-over-topics")
    both = [Subscription(name, ("t", "u")) for name in ("alice", "bob")]
    parts = ASSIGNORS["range"]({"t": of["t"], "u": of["u"]}, both)
    sizes = {name: len(part) for name, part in parts.items()}
    assert sizes == {"alice": of["alice"], "bob": of["bob"]}
    assert sizes["alice"] > sizes["bob"] + 1


def test_roundrobin_is_uneven_with_different_subscriptions() -> None:
    of = figures("roundrobin.even-if-different")
    members = [Subscription(name, tuple(of[f"{name}_wants"].split(" and "))) for name in ("alice", "bob")]
    parts = ASSIGNORS["roundrobin"]({"t": of["t"], "u": of["u"]}, members)
    sizes = {name: len(part) for name, part in parts.items()}
    assert sizes == {"alice": of["alice"], "bob": of["bob"]}
    assert abs(sizes["alice"] - sizes["bob"]) > 1


PAIR = ("alice", "bob")


def read_by(of: dict[str, Any], assign: Assignor, claims: Claims) -> set[str]:
    """Who reads t 0 when those who took up their parts did, and the holder had it before.

    It is meant for whom it should be, since the other one does not want its topic any more.
    """
    members = [
        Subscription(
            name,
            ("t",) if name == of["meant_for"] else ("u",),
            (("t", 0),) * (name in claims),
            claims.get(name, -1),
        )
        for name in PAIR
    ]
    given = owner(assign({"t": 1, "u": 1}, members))
    taken = set(of["has_taken_up"].split(" and "))
    kept = {of["holds"]} - taken
    return kept | ({given} & taken)


def claims_of(of: dict[str, Any]) -> Claims:
    words = [one.split() for one in of["claims"].split(" and ")]
    return {one[0]: int(one[-1]) for one in words if one[0] in PAIR}


@pytest.mark.parametrize(
    ("name", "assignor", "readers"),
    [
        ("eager", "sticky", 2),
        ("unclaimed", "cooperative-sticky", 2),
        ("newer-claim", "cooperative-sticky", 2),
        ("old-claim", "cooperative-sticky", 1),
        ("one-generation", "cooperative-sticky", 0),
    ],
)
def test_counterexamples_of_cooperative_sticky(name: str, assignor: str, readers: int) -> None:
    """What only upstream's other rule does, to give to an old claim, our assignor does not."""
    of = figures(f"cooperative.{name}")
    told = {one for one in of["reads"].split(" and ") if one in PAIR}
    assert len(told) == (2 if name == "old-claim" else readers)
    assert len(read_by(of, ASSIGNORS[assignor], claims_of(of))) == readers
