"""A formula says the same to Z3 as over a finite universe, so the tie to the spec is about the proofs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import z3

from harness.steps_of_worlds import entries
from rota.proofs.core.logic import CONSTANTS, RIGID, SWITCHES, Kind, Phase, Point, Sort, Symbolic, symbol
from rota.proofs.core.moves import GIVEN
from rota.proofs.core.signature import SIGNATURE, symbolic
from rota.proofs.refinement.abstraction import abstract_state, state_of, universe, with_past
from rota.proofs.refinement.forward import Runner
from rota.proofs.refinement.inputs import reading
from rota.proofs.refinement.outcomes import addressed
from rota.scopes import load

U = Symbolic()
PRE = symbolic(U)


class Facts:
    """A finite universe and a state in it, as ground facts."""

    def __init__(self, u, shown):
        self.of = u.everything.of
        self.u, self.state = u, state_of(u, shown)
        self.solver = z3.Solver()
        self.solver.set("timeout", 20_000)
        for sort in Sort:
            known = [self.term(sort, one) for one in self.of[sort]]
            x = symbol("x", (), sort)
            if known:
                self.solver.add(z3.ForAll([x], z3.Or([x == one for one in known])))
            else:
                # Z3's sorts have elements: one that stands for no record is not in flight.
                self.solver.add(z3.ForAll([x], z3.Not(PRE.appended(x))))
            if len(known) > 1:
                self.solver.add(z3.Distinct(known))
        for name, (domain, value) in RIGID.items():
            self._say(getattr(U, name), getattr(u, name), domain, value)
        for name, sort in CONSTANTS.items():
            self.solver.add(getattr(U, name) == self.term(sort, getattr(u, name)))
        for name in SWITCHES:
            self.solver.add(getattr(U, name) == getattr(u, name))
        for name, part in SIGNATURE.items():
            if name not in ("change",):
                self._say(PRE.parts[name], self.state.parts[name], part.domain, part.value)

    def term(self, kind, value):
        if kind in (Phase, Point, Kind):
            return getattr(U, value.name)
        if kind is None:
            return z3.BoolVal(bool(value))
        return symbol(f"{kind.value} {value!r}", (), kind)

    def _say(self, symbolised, meaning, domain, value):
        if not domain:
            self.solver.add(symbolised == self.term(value, meaning))
            return
        for at in self.u.everything.tuples(domain):
            place = [self.term(sort, one) for sort, one in zip(domain, at, strict=True)]
            self.solver.add(symbolised(*place) == self.term(value, meaning(*at)))

    def holds(self, *terms):
        """Whether Z3 finds that all of them follow from the facts."""
        return self.solver.check(z3.Not(z3.And([z3.BoolVal(t) if isinstance(t, bool) else t for t in terms])))


def arguments(facts, move, args):
    """The arguments as terms; functions by cases."""
    found = {}
    for name, kind in move.args.items():
        value = getattr(args, name)
        if name == GIVEN:
            found[name] = symbol(f"given by {id(value)}", (Sort.MEMBER,), Sort.ASSIGNMENT)
            facts._say(found[name], value, (Sort.MEMBER,), Sort.ASSIGNMENT)
        elif isinstance(kind, tuple):
            found[name] = symbol(f"offered by {id(value)}", kind, None)
            facts._say(found[name], value, kind, None)
        else:
            found[name] = facts.term(kind, value)
    return SimpleNamespace(**found)


def agree(facts, move, args):
    """Guard and, where it holds, everything that the rule changes."""
    guard, reached = move.effect(facts.state, args)
    formula, after = move.effect(PRE, arguments(facts, move, args))
    formula = z3.BoolVal(formula) if isinstance(formula, bool) else formula
    same = [formula if guard else z3.Not(formula)]
    for name, part in SIGNATURE.items():
        if not guard or name == "change" or after.parts[name] is PRE.parts[name]:
            continue
        if not part.domain:
            same.append(after.parts[name] == facts.term(part.value, reached.parts[name]))
            continue
        for at in facts.u.everything.tuples(part.domain):
            place = [facts.term(sort, one) for sort, one in zip(part.domain, at, strict=True)]
            same.append(after.parts[name](*place) == facts.term(part.value, reached.parts[name](*at)))
    return facts.holds(*same)


@pytest.fixture(scope="module")
def attempts():
    """Rules tried on abstract states of tiny groups, guards that hold among them, by the name of the rule."""
    found = {}
    for name in ("core", "static"):
        for spec, group, given in entries(load("tiny").configuration(name), "kafka-4.x", "reference"):
            read = reading(spec, group, given)
            if read is None:
                continue
            here = addressed(group)
            shown = with_past(abstract_state(here, 0 if here is None else here.generation_id, read.appended))
            u = universe(read.cast, spec.profile)
            for start in read.starts:
                for args in Runner(u).arguments(start):
                    guard, _ = start.move.effect(state_of(u, shown), args)
                    found.setdefault((start.move.name, bool(guard)), (u, shown, start.move, args))
    return found


def test_guards_and_outcomes_are_those_that_z3_sees(attempts):
    fired = [one for (_, guard), one in attempts.items() if guard]
    refused = [one for (_, guard), one in attempts.items() if not guard]
    assert len(fired) > 15
    assert len(refused) > 15
    for u, shown, move, args in [*fired[::4], *refused[::6]]:
        assert agree(Facts(u, shown), move, args) == z3.unsat, move.name


def test_another_abstract_state_is_not_what_z3_sees(attempts):
    u, shown, move, args = attempts["join.pending-member", True]
    facts = Facts(u, shown)
    facts.state = state_of(u, {**shown, "pending": frozenset()})
    assert agree(facts, move, args) == z3.sat
