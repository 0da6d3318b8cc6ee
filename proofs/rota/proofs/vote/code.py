"""The vote's code and the formulas of the proofs say the same, on every path through the code.

The spec's functions run on lists that are symbols (`rota.proofs.vote.forking`): any lists of so many members
and protocols. On each path Z3 compares what they return with the formulas of `rota.proofs.vote.encoding`,
whose quantifiers are written out and whose atoms mean these lists; nothing is left uninterpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.vote.counterexamples import candidate
from rota.proofs.vote.encoding import belongs, casts, first, intersection, lists, rank, votes, wins
from rota.proofs.vote.forking import Inputs, Name, Names
from rota.proofs.vote.groups import NOW, list_of
from rota.proofs.vote.small_groups import World
from rota.spec.classic import voting

TRIO = World(("ann", "ben", "cid"), ("range", "roundrobin", "sticky"))
PAIR = World(TRIO.members[:2], TRIO.protocols)

Vote = Callable[[Sequence[Names]], tuple[Iterable[Name], Iterable[Name]]]
"""From lists to candidates and winners."""
Fits = Callable[[Sequence[Names], Names], bool]
"""Whether a list fits those of the members."""


class Meaning:
    """The formulas about the lists of some inputs, as formulas about which name stands where."""

    def __init__(self, inputs: Inputs, coming: str = "") -> None:
        """coming: who has a list, but is no member of the group; '' for nobody."""
        self._inputs, self._world, self._coming = inputs, inputs.world, coming
        self._atoms = list(self._interpreted())

    def _interpreted(self) -> Iterator[tuple[Formula, Formula]]:
        """Atoms and what they mean."""
        world = self._world
        protocols = [(name, world.protocol(name)) for name in world.protocols]
        for name in world.members:
            member = world.member(name)
            yield belongs(member), z3.BoolVal(name != self._coming)
            places = {p: self._inputs.entry(name, p) for p in world.protocols}
            for p, protocol in protocols:
                yield lists(member, protocol), z3.Or(places[p])
                yield casts(member, protocol), self._casts(name, p)
                for q, other in protocols:
                    yield rank(member, protocol) <= rank(member, other), _not_after(places[p], places[q])
        for p, protocol in protocols:
            yield candidate(protocol), z3.Bool(f"candidate {p}")
            for_it = [self._casts(name, p) for name in world.members]
            yield votes(protocol) >= 1, z3.Or(for_it)
            for q, other in protocols:
                yield (
                    votes(protocol) <= votes(other),
                    _at_most(for_it, [self._casts(m, q) for m in world.members]),
                )

    def _casts(self, member: str, protocol: str) -> Formula:
        return z3.Bool(f"{member} votes for {protocol}")

    def facts(self) -> Iterator[Formula]:
        """Who is a candidate, and who votes for what."""
        for protocol in map(self._world.protocol, self._world.protocols):
            yield self.of(candidate(protocol) == intersection(protocol))
            for member in map(self._world.member, self._world.members):
                yield self.of(casts(member, protocol) == first(member, protocol, candidate))

    def of(self, formula: Formula) -> Formula:
        """The formula about these lists. Errors: ValueError if something in it has no meaning here."""
        meant = z3.substitute(self._world.ground(formula), *self._atoms)
        for term in _subterms(meant):
            if not z3.is_bool(term):
                raise ValueError(f"{term} means nothing about lists")
        return meant


def _not_after(here: Sequence[Formula], there: Sequence[Formula]) -> Formula:
    """The first hit here is no later than there."""
    return z3.Or([z3.And(hit, *map(z3.Not, there[:i])) for i, hit in enumerate(here)])


def _at_most(few: Sequence[Formula], many: Sequence[Formula]) -> Formula:
    """No more of the one facts hold than of the other."""
    facts = [(fact, 1) for fact in few] + [(z3.Not(fact), 1) for fact in many]
    return z3.PbLe(facts, len(many))


def _subterms(formula: Formula) -> Iterator[Any]:
    seen, todo = set(), [formula]
    while todo:
        term = todo.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            yield term
            todo += term.children()


def spec_vote(members: Sequence[Names]) -> tuple[Iterable[Name], Iterable[Name]]:
    """The vote of the spec."""
    names: Any = members
    candidates: Any = voting.candidates(names)
    winners: Any = voting.winners(names)
    return candidates, winners


def spec_fits(members: Sequence[Names], names: Names) -> bool:
    """The guard of the spec."""
    present: Any = members
    wanted: Any = names
    return voting.supports(present, wanted)


def vote_agrees(inputs: Inputs, vote: Vote) -> Claim:
    """On every path candidates and winners are those of the formulas."""
    meaning = Meaning(inputs)
    protocols = [(name, inputs.world.protocol(name)) for name in inputs.world.protocols]

    formulas = [
        (rule, name, meaning.of(rule(protocol))) for rule in (candidate, wins) for name, protocol in protocols
    ]

    def agree(result: tuple[Iterable[Name], Iterable[Name]]) -> Iterator[Formula]:
        said = dict(zip((candidate, wins), map(tuple, result), strict=True))
        yield from (formula == inputs.among(name, said[rule]) for rule, name, formula in formulas)

    paths = [z3.Implies(path.condition, z3.And(*agree(path.result))) for path in inputs.paths(vote)]
    facts = {"lists": z3.And(inputs.known), "vote": z3.And(*meaning.facts())}
    return Claim(facts, z3.And(paths))


def fits_agrees(inputs: Inputs, fits: Fits) -> Claim:
    """On every path the last list fits the others exactly if the guard's formula says so."""
    coming = inputs.world.members[-1]
    formula = Meaning(inputs, coming).of(NOW.fits(list_of(inputs.world.member(coming))))
    paths = inputs.paths(lambda names: bool(fits(names[:-1], names[-1])))
    agree = [z3.Implies(path.condition, formula == z3.BoolVal(path.result)) for path in paths]
    return Claim({"lists": z3.And(inputs.known)}, z3.And(agree))


def _all_alike(members: Sequence[Names]) -> tuple[Iterable[Name], Iterable[Name]]:
    """For a mutant: whatever is a candidate wins."""
    candidates, _ = spec_vote(members)
    return candidates, candidates


def _of_the_first(members: Sequence[Names]) -> tuple[Iterable[Name], Iterable[Name]]:
    """For a mutant: the first member's list decides what is a candidate."""
    among, names = tuple(members[0]), [tuple(listed) for listed in members]
    ballots: Any = voting.tally
    return among, ballots(names, among)


def _fits_somebody(members: Sequence[Names], names: Names) -> bool:
    """For a mutant: it is enough to share something with one member."""
    return any(name in present for present in members for name in names)


def vote_of_spec(vote: Vote = spec_vote, repeats: bool = False) -> Claim:
    """Three members and three protocols; two members where lists may repeat a name."""
    return _once(vote, repeats)


@cache
def _once(vote: Vote, repeats: bool) -> Claim:
    return vote_agrees(Inputs(PAIR if repeats else TRIO, 3, repeats), vote)


def guard_of_spec(fits: Fits = spec_fits) -> Claim:
    """Two members and whoever comes, three protocols."""
    return fits_agrees(Inputs(TRIO, 3), fits)


CODE = (
    Obligation(
        "voting.code.vote",
        "on every path candidates and winners of the spec's code are those of the formulas, for three "
        "members and three protocols",
        "proved",
        vote_of_spec,
        (
            Mutant("whatever is a candidate wins", partial(vote_of_spec, _all_alike)),
            Mutant("candidates of the first member", partial(vote_of_spec, _of_the_first)),
        ),
    ),
    Obligation(
        "voting.code.vote-repeats",
        "so they are where lists may name a protocol twice, for two members",
        "proved",
        partial(vote_of_spec, repeats=True),
        (Mutant("whatever is a candidate wins", partial(vote_of_spec, _all_alike, True)),),
    ),
    Obligation(
        "voting.code.guard",
        "on every path the spec's guard lets in whom the formula lets in, for two members, whoever comes and "
        "three protocols",
        "proved",
        guard_of_spec,
        (Mutant("shares something with somebody", partial(guard_of_spec, _fits_somebody)),),
    ),
)
"""What is proved of the code."""
