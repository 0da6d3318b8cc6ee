"""Spec and coordinator vote as the formulas say: on every path, and for all lists up to a bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations, product
from typing import Any

import pytest
import z3

from harness.thinned import but
from rota.coordinator import voting as coordinator
from rota.coordinator.group import CONSUMER, Group, GroupState, Member
from rota.coordinator.messages import JoinGroup, JoinGroupProtocol
from rota.proofs import Claim, decide
from rota.proofs.vote.code import PAIR, TRIO, Vote, fits_agrees, spec_fits, spec_vote, vote_agrees
from rota.proofs.vote.forking import Forks, Inputs
from rota.proofs.vote.small_groups import World
from rota.spec.classic import voting

FOUR = World(("ann", "ben", "cid", "dan"), TRIO.protocols)


def disagreement(claim: Claim) -> bool:
    """Whether the code says something else than the formulas on some path, asked path by path."""
    solver = z3.SimpleSolver()
    solver.add(*claim.given)
    paths = (implication.children() for implication in claim.goal.children())
    return any(solver.check(*way.children(), z3.Not(agrees)) != z3.unsat for way, agrees in paths)


class Tied:
    """Notes the protocols of a tie."""

    seen: Sequence[Any] = ()

    def protocol(self, tied: Sequence[Any]) -> Any:
        self.seen = tied
        return tied[0]


class Entries:
    """A member's protocols, asked for their names one at a time."""

    def __init__(self, names: Iterable[Any]) -> None:
        self.names = names

    def __iter__(self) -> Any:
        return (JoinGroupProtocol(name, b"") for name in self.names)


def group_of(lists: Iterable[Iterable[Any]]) -> Group:
    """A group that these members have joined one after the other."""
    group = Group("g", state=GroupState.PREPARING_REBALANCE)
    protocols: Any
    for number, protocols in enumerate(map(Entries, lists)):
        group.add(Member(str(number), "", "", 1, 1, protocols), CONSUMER)
    return group


def coordinator_vote(lists: Sequence[Iterable[Any]]) -> tuple[Iterable[Any], Iterable[Any]]:
    """The vote of the coordinator, with all that are tied."""
    group, choices = group_of(lists), Tied()
    candidates = coordinator.candidate_protocols(group)
    if not candidates:
        return (), ()
    try:
        elected = coordinator.select_protocol(group, choices)  # type: ignore[arg-type]
    except StopIteration:  # a planted bug leaves somebody without anything to vote for
        return candidates, ()
    return candidates, choices.seen or (elected,)


def coordinator_fits(members: Sequence[Iterable[Any]], names: Iterable[Any]) -> bool:
    """The guard of the coordinator, for a group that is not Empty."""
    protocols: Any = Entries(names)
    request = JoinGroup("g", 1, 1, protocol_type=CONSUMER, protocols=protocols)
    return coordinator.supports_protocols(group_of(members), request)


VOTES = {"spec": spec_vote, "coordinator": coordinator_vote}


@pytest.mark.long
def test_the_spec_on_every_path_of_four_members_and_three_protocols() -> None:
    """What is smaller is below, and every vote of so many in plain Python."""
    assert not disagreement(vote_agrees(Inputs(FOUR, 3), spec_vote))


WORLDS = {"four": (FOUR, 2, False), "three": (TRIO, 3, False), "two, repeating": (PAIR, 3, True)}
"""Members and protocols, how long a list is, and whether a name may be in it twice."""


@pytest.mark.parametrize(
    ("vote", "world", "length", "repeats"),
    but(
        ["coordinator-four"],
        [
            pytest.param(vote, *world, id=f"{name}-{about}")
            for name, vote in VOTES.items()
            for about, world in WORLDS.items()
        ],
    ),
)
def test_the_vote_on_every_path(vote: Vote, world: World, length: int, repeats: bool) -> None:
    assert not disagreement(vote_agrees(Inputs(world, length, repeats), vote))


@pytest.mark.parametrize("fits", [spec_fits, coordinator_fits], ids=VOTES)
def test_the_guard_on_every_path(fits: Callable[..., bool]) -> None:
    assert not disagreement(fits_agrees(Inputs(TRIO, 3), fits))


LISTS = [listed for size in range(4) for listed in permutations(TRIO.protocols, size)]
Lists = tuple[tuple[str, ...], ...]


def by_definition(lists: Lists) -> tuple[set[str], set[str]]:
    """The formula, in plain Python; a test of its own says so of the formulas."""
    candidates = set.intersection(*map(set, lists))
    tally = Counter(next(p for p in listed if p in candidates) for listed in lists if candidates)
    return candidates, {p for p, count in tally.items() if count == max(tally.values())}


@pytest.mark.parametrize("vote", VOTES.values(), ids=VOTES)
def test_every_vote_of_four_members_on_three_protocols(vote: Vote) -> None:
    """All 16^4 of them; the order of the members, on which nothing depends, included."""
    wrong = []
    for lists in product(LISTS, repeat=4):
        told: Any = vote(lists)  # type: ignore[arg-type]
        if tuple(map(set, told)) != by_definition(lists):
            wrong.append(lists)
    assert wrong == []


def test_after_changes_the_coordinator_counts_as_if_all_had_just_joined() -> None:
    """On every path: a member changes its list, another leaves."""

    def changed(names: Sequence[Any]) -> tuple[Iterable[Any], Iterable[Any]]:
        group, choices = group_of(names[:2]), Tied()
        first, second = group.members.values()
        protocols: Any = Entries(names[2])
        group.update(first, protocols, 1, 1)
        group.remove(second)
        if not (candidates := coordinator.candidate_protocols(group)):
            return (), ()
        assert set(group.supporters.values()) == {1}
        return candidates, (coordinator.select_protocol(group, choices),)  # type: ignore[arg-type]

    inputs = Inputs(TRIO, 2)
    solver = z3.SimpleSolver()
    solver.add(*inputs.known)
    for path in inputs.paths(changed):
        candidates, elected = map(tuple, path.result)
        for p in TRIO.protocols:
            listed = inputs.entry("cid", p)
            solver_says = solver.check(
                *path.decisions,
                z3.Or(inputs.among(p, candidates) != z3.Or(listed), inputs.among(p, elected) != listed[0]),
            )
            assert solver_says == z3.unsat


def last_choice(lists: Any, among: Any) -> tuple[Any, ...]:
    """A bad tally: everybody votes for the last candidate on its list, and whatever has votes wins."""
    return tuple({[p for p in names if p in among][-1] for names in lists if among})


UNION = {
    "spec": (voting, "candidates", lambda lists: tuple(set().union(*lists))),
    "coordinator": (coordinator, "candidate_protocols", lambda group: frozenset(group.supporters)),
}
LAST = {
    "spec": (voting, "tally", last_choice),
    "coordinator": (
        coordinator,
        "select_protocol",
        lambda group, choices: last_choice(group.ballots, coordinator.candidate_protocols(group))[0],
    ),
}


@pytest.mark.parametrize("bad", [UNION, LAST], ids=["union", "last"])
@pytest.mark.parametrize("name", VOTES)
def test_code_that_is_changed_disagrees(name: str, bad: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vote = VOTES[name]
    monkeypatch.setattr(*bad[name])
    claim = vote_agrees(Inputs(PAIR, 2), lambda names: vote(names))
    assert decide(claim)[0] == "refuted"
    assert disagreement(claim)


@pytest.mark.parametrize("name", VOTES)
def test_a_guard_that_is_changed_disagrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def listed_by_somebody(group: Group, request: JoinGroup) -> bool:
        return any(group.supporters[entry.name] for entry in request.protocols)

    monkeypatch.setattr(voting, "supports", lambda lists, names: any(p in lists[0] for p in names))
    monkeypatch.setattr(coordinator, "supports_protocols", listed_by_somebody)
    fits = {"spec": spec_fits, "coordinator": coordinator_fits}[name]
    assert disagreement(fits_agrees(Inputs(TRIO, 2), fits))


def test_a_counter_that_counts_entries_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """As brokers count: with names that are there twice, and only then."""

    def names(member: Member) -> tuple[Any, ...]:
        return tuple(entry.name for entry in member.protocols)

    monkeypatch.setattr(Member, "protocol_names", property(names))
    for repeats in (False, True):
        inputs = Inputs(PAIR, 2, repeats)
        claim = vote_agrees(inputs, lambda lists: (coordinator.candidate_protocols(group_of(lists)), ()))
        only_candidates = [
            z3.Implies(one.children()[0], z3.And(one.children()[1].children()[:3]))
            for one in claim.goal.children()
        ]
        assert decide(Claim(claim.assumptions, z3.And(only_candidates)))[0] == (
            "refuted" if repeats else "proved"
        )


def test_paths_are_all_inputs_and_no_two_share_one() -> None:
    inputs = Inputs(PAIR, 2)
    paths = list(inputs.paths(spec_vote))
    solver = z3.SimpleSolver()
    solver.add(*inputs.known)
    assert solver.check(z3.Not(z3.Or([path.condition for path in paths]))) == z3.unsat
    for number, path in enumerate(paths):
        assert solver.check(path.condition) == z3.sat
        assert solver.check(path.condition, z3.Or([other.condition for other in paths[:number]])) == z3.unsat


def test_what_follows_does_not_fork() -> None:
    one, other = z3.Bools("one other")
    forks = Forks([z3.Implies(one, other)])

    def run() -> tuple[bool, bool]:
        return forks.truth(one), forks.truth(other)

    assert {path.result for path in forks.paths(run)} == {(True, True), (False, True), (False, False)}
    assert sorted(len(path.decisions) for path in forks.paths(run)) == [1, 2, 2]
