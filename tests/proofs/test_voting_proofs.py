"""The counterexamples about the vote, re-checked in plain Python, and that nothing smaller breaks a claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from rota.proofs import prove, select
from rota.proofs.vote.counterexamples import VoteExample

NAMES = ("range", "roundrobin")

Lists = tuple[tuple[str, ...], ...]


def common(lists: Lists) -> set[str]:
    return set.intersection(*map(set, lists))


def union(lists: Lists) -> set[str]:
    return set().union(*lists)


def by_entry(lists: Lists) -> set[str]:
    return {p for p in NAMES if sum(listed.count(p) for listed in lists) == len(lists)}


def votes(lists: Lists, candidates: set[str]) -> Counter[str] | None:
    """None if somebody has nothing to vote for."""
    ballots = [next((p for p in listed if p in candidates), None) for listed in lists]
    return None if None in ballots else Counter(filter(None, ballots))


def winners(lists: Lists, candidates: set[str]) -> set[str]:
    tally = votes(lists, candidates)
    return {p for p, count in tally.items() if count == max(tally.values())} if tally else set()


def let_in(lists: Lists) -> bool:
    """By entries: whoever comes second has something that the first lists once."""
    return len(lists) < 2 or any(lists[0].count(p) == 1 for p in lists[1])


Elected = Callable[[Lists], set[str]]
CASES: dict[str, tuple[Elected, Elected, Elected]] = {
    "voting.union": (union, lambda lists: winners(lists, union(lists)), common),
    "voting.counters.by-entry": (
        by_entry,
        lambda lists: winners(lists, by_entry(lists)) if let_in(lists) else set(),
        common,
    ),
    "voting.ties.leader-first": (common, lambda lists: set(lists[0][:1]), common),
    "voting.ties.leader-decides": (
        common,
        lambda lists: set([p for p in lists[0] if p in common(lists)][:1]),
        lambda lists: winners(lists, common(lists)),
    ),
}  # fmt: skip
"""Claim → candidates, what is elected, what may be."""


def smaller(example: VoteExample, candidates: Elected) -> Iterator[Lists]:
    """All votes of fewer members, or of as many with fewer entries."""
    entries = sum(len(listed) for _, listed in example.lists)
    lists = [listed for size in range(entries) for listed in product(NAMES, repeat=size)]
    for members in range(1, len(example.lists) + 1):
        most = entries - (members == len(example.lists))
        for chosen in product(lists, repeat=members):
            if sum(map(len, chosen)) <= most and votes(chosen, candidates(chosen)) is not None:
                yield chosen


def given(name: str) -> VoteExample:
    example = prove(select([name])[0]).counterexample
    assert isinstance(example, VoteExample)
    return example


@pytest.mark.parametrize("name", CASES)
def test_a_vote_breaks_its_claim_and_no_smaller_one_does(name: str) -> None:
    example = given(name)
    lists = tuple(listed for _, listed in example.lists)
    candidates, elected, allowed = CASES[name]
    assert set(example.candidates) == candidates(lists)
    tally = votes(lists, candidates(lists))
    assert tally is not None
    assert {protocol: count for protocol, count in example.votes if count} == tally
    assert Counter(ballot for _, ballot in example.ballots) == tally
    assert example.winner in elected(lists) - allowed(lists)
    assert set(example.opposed) == {
        member for member, listed in example.lists if example.winner not in listed
    }
    assert [fewer for fewer in smaller(example, candidates) if elected(fewer) - allowed(fewer)] == []


@pytest.mark.parametrize("name", ["voting.winner-is-unique", "voting.ties.orders-agree"])
def test_a_tie_needs_two_members_with_two_protocols_each(name: str) -> None:
    example = given(name)
    lists = tuple(listed for _, listed in example.lists)
    assert winners(lists, common(lists)) == set(NAMES)
    assert sum(map(len, lists)) == 4
    assert [fewer for fewer in smaller(example, common) if len(winners(fewer, common(fewer))) > 1] == []


def test_a_counterexample_reads_in_names() -> None:
    example = given("voting.counters.by-entry")
    text = list(example.as_lines())
    assert len(text) == 5
    assert text[0] == "candidates: range, roundrobin"
    assert text[-1].endswith(f"may win, which {example.opposed[0]} does not support")
