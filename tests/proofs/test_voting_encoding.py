"""The encoding means what a vote in plain Python means: on all small groups; its axioms on random ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations, combinations_with_replacement, islice, permutations

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.proofs.obligations import Claim
from rota.proofs.vote.counterexamples import candidate, vote_facts
from rota.proofs.vote.encoding import (
    MEMBER,
    PROTOCOL,
    belongs,
    card,
    first,
    insertion,
    intersection,
    maximum,
    most_voted,
    repeats,
    subset_counts,
    tally_means,
    union,
    votes,
    wins,
)
from rota.proofs.vote.small_groups import World

TRIO = World(("ann", "ben", "cid"), ("range", "roundrobin", "sticky"))
LISTS = [listed for size in range(4) for listed in permutations(TRIO.protocols, size)]
REPEATING = [
    ("range", "range"),
    ("sticky", "range", "sticky"),
    ("roundrobin", "roundrobin", "range", "sticky"),
]

Lists = tuple[tuple[str, ...], ...]


def by_intersection(lists: Lists) -> set[str]:
    return set.intersection(*map(set, lists))


def by_union(lists: Lists) -> set[str]:
    return set().union(*lists)


def winners(lists: Lists, candidates: set[str]) -> set[str]:
    ballots = [next((p for p in listed if p in candidates), None) for listed in lists]
    tally = Counter(ballot for ballot in ballots if ballot)
    return {p for p, count in tally.items() if count == max(tally.values())}


class Vote:
    """A solver that knows the vote of three members on three protocols."""

    def __init__(self, rule: Callable[[object], object]) -> None:
        facts = {name: TRIO.ground(formula) for name, formula in vote_facts(TRIO, rule).items()}
        claim = TRIO.ground_claim(Claim(facts, z3.BoolVal(True)))
        self.solver = z3.Solver()
        self.solver.add(*claim.given)
        self.tally_means = TRIO.ground(tally_means(belongs, votes))
        self.protocols = {name: TRIO.protocol(name) for name in TRIO.protocols}

    def agrees(self, lists: Lists, candidates: set[str], winning: set[str]) -> None:
        """These lists have a model, and every model has these candidates, winners and a right tally."""
        self.solver.push()
        self.solver.add(TRIO.given(lists))
        assert self.solver.check() == z3.sat, lists
        same = [
            z3.And(candidate(p) == (name in candidates), TRIO.ground(wins(p)) == (name in winning))
            for name, p in self.protocols.items()
        ]
        self.solver.add(z3.Not(z3.And(self.tally_means, *same)))
        assert self.solver.check() == z3.unsat, lists
        self.solver.pop()


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_every_vote_of_three_members_on_three_protocols(every: int) -> None:
    """All 816 choices of three lists, without their order, which nothing depends on, or some of them."""
    vote = Vote(intersection)
    checked = 0
    for lists in islice(combinations_with_replacement(LISTS, 3), 0, None, every):
        candidates = by_intersection(lists)
        vote.agrees(lists, candidates, winners(lists, candidates))
        checked += 1
    assert checked * every == 816


def test_lists_that_repeat_a_name() -> None:
    vote = Vote(intersection)
    for lists in combinations_with_replacement([*REPEATING, ("range",), ("sticky", "range")], 3):
        candidates = by_intersection(lists)
        vote.agrees(lists, candidates, winners(lists, candidates))


def test_union_means_the_union() -> None:
    vote = Vote(union)
    for lists in combinations(LISTS[::2], 3):
        candidates = by_union(lists)
        vote.agrees(lists, candidates, winners(lists, candidates))


def interpreted(facts: Iterable[object], formula: object) -> bool:
    """Whether the formula follows from facts that fix everything it speaks of; else its negation must."""
    solver = z3.Solver()
    solver.add(*facts)
    assert solver.check() == z3.sat
    solver.add(z3.Not(formula))
    follows = solver.check() == z3.unsat
    if not follows:
        against = z3.Solver()
        against.add(*facts, formula)
        assert against.check() == z3.unsat
    return follows


def z3_set(members: Iterable[str]) -> object:
    group = z3.EmptySet(MEMBER)
    for name in sorted(members):
        group = z3.SetAdd(group, TRIO.member(name))
    return group


ALL_SETS = [set(chosen) for size in range(4) for chosen in combinations(TRIO.members, size)]
SIZES = [
    z3.Distinct([TRIO.member(name) for name in TRIO.members]),
    # nobody outside: sets that agree on the three are equal
    *(card(z3_set(members)) == len(members) for members in ALL_SETS),
]


@pytest.mark.parametrize("members", ALL_SETS, ids=lambda members: "+".join(sorted(members)) or "nobody")
def test_cardinality_axioms_hold_of_python_sets(members: set[str]) -> None:
    for name in TRIO.members:
        assert interpreted(SIZES, insertion(z3_set(members), TRIO.member(name)))
    for part in ALL_SETS:
        assert interpreted(SIZES, subset_counts(z3_set(part), z3_set(members)))


def test_sizes_that_are_wrong_break_the_axiom() -> None:
    wrong = [SIZES[0], card(z3_set([])) == 0, card(z3_set(["ann"])) == 2]
    assert not interpreted(wrong, insertion(z3_set([]), TRIO.member("ann")))


CHOSEN = st.sets(st.sampled_from(TRIO.protocols))
counts = st.lists(st.integers(0, 4), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(counts=counts, chosen=CHOSEN)
def test_maximum_means_the_greatest(counts: list[int], chosen: set[str]) -> None:
    tally = dict(zip(TRIO.protocols, counts, strict=True))
    facts = [votes(TRIO.protocol(name)) == count for name, count in tally.items()]
    facts.append(z3.Distinct([TRIO.protocol(name) for name in TRIO.protocols]))

    def inside(protocol: object) -> object:
        return z3.Or([protocol == TRIO.protocol(name) for name in sorted(chosen)])

    assert interpreted(facts, TRIO.ground(maximum(inside, votes))) == bool(chosen)
    top = [name for name in chosen if tally[name] == max(tally[other] for other in chosen)]
    alone = interpreted(facts, TRIO.ground(maximum(inside, votes, strictly=True)))
    assert alone == (len(top) == 1)
    for name in TRIO.protocols:
        assert interpreted(facts, TRIO.ground(most_voted(TRIO.protocol(name), inside))) == (name in top)


@settings(max_examples=40, deadline=None)
@given(
    listed=st.permutations(TRIO.protocols),
    size=st.integers(0, 3),
    chosen=CHOSEN,
)
def test_first_means_the_first(listed: list[str], size: int, chosen: set[str]) -> None:
    preference = listed[:size]
    solo = World(("ann",), TRIO.protocols)
    facts = [
        solo.given([preference]),
        solo.ground(repeats()),
        z3.Distinct([solo.protocol(name) for name in solo.protocols]),
    ]

    def allowed(protocol: object) -> object:
        return z3.Or([protocol == solo.protocol(name) for name in sorted(chosen)])

    expected = next((name for name in preference if name in chosen), None)
    for name in solo.protocols:
        formula = solo.ground(first(solo.member("ann"), solo.protocol(name), allowed))
        assert interpreted(facts, formula) == (name == expected)


def test_grounding_writes_quantifiers_out() -> None:
    p, q = z3.Const("p", PROTOCOL), z3.Const("q", PROTOCOL)
    duo = World(("ann",), ("range", "sticky"))
    less = z3.ForAll([p], z3.Exists([q], votes(p) < votes(q)))
    ground = duo.ground(less)
    assert "ForAll" not in str(ground)
    assert "Exists" not in str(ground)
    facts = [votes(duo.protocol("range")) == 1, votes(duo.protocol("sticky")) == 2]
    assert not interpreted(facts, ground)
    assert interpreted(facts, duo.ground(z3.ForAll([p, q], z3.Or(p == q, votes(p) + votes(q) == 3))))


def test_grounding_refuses_infinite_sorts() -> None:
    k = z3.Int("k")
    with pytest.raises(ValueError, match="no finite world of Int"):
        TRIO.ground(z3.ForAll([k], k > 0))
