"""A counterexample to induction in names: the group before, the rule, its changes, and what it violates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import z3

from rota.proofs.core.claims import Goal, Rule, before, goes_wrong, symbols
from rota.proofs.core.conjuncts import Formula
from rota.proofs.core.logic import CONSTANTS, Z3_SORTS, Phase, Point, Sort, Term
from rota.proofs.core.moves import Move
from rota.proofs.core.signature import SIGNATURE, State
from rota.proofs.core.small import ELEMENTS, elements

FLAGS = {
    "is_new": "new",
    "joining": "its JoinGroup is parked",
    "syncing": "its SyncGroup is parked",
    "owes": "has not synced",
}


Reader = Callable[[Any], "BrokenStep"]
"""From a model to what it says."""


@dataclass(frozen=True)
class BrokenStep:
    """A step that breaks a sentence.

    Parameters: rule, its slug, '' where no step is told; choices, what it takes beside the state; before, the
    state in lines; after, the lines that are new; broken, the sentence that no longer holds.
    """

    rule: str
    choices: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    broken: str

    def as_lines(self) -> Iterator[str]:
        """For people."""
        yield from self.before
        if self.rule:
            yield f"then {self.rule}" + (f" with {', '.join(self.choices)}" if self.choices else "")
            yield from (f"  now {line}" for line in self.after or ("nothing else",))
        yield f"and it is not so that {self.broken}"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "before": list(self.before),
            "rule": self.rule,
            "choices": list(self.choices),
            "after": list(self.after),
            "broken": self.broken,
        }


def reader(move: Move, goal: Goal, broken: str, wrong: Mapping[str, Rule] | None = None) -> Reader:
    """What explains a model of a step that breaks the goal. wrong: variants of the rule, by name."""
    return partial(_read_step, move, goal, broken, wrong or {})


def _read_step(move: Move, goal: Goal, broken: str, wrong: Mapping[str, Rule], model: Any) -> BrokenStep:
    pre, args = before(), move.symbols()
    rule = next((one for name, one in wrong.items() if z3.is_true(model[goes_wrong(name)])), move.effect)
    _, post = rule(pre, args)
    words = Words(model, frozenset(symbols(goal(pre, pre))))
    old, new = words.of_state(pre), words.of_state(post)
    choices = tuple(
        f"{name} {words.name(getattr(args, name))}"
        for name, kind in move.args.items()
        if not isinstance(kind, tuple) and not words.is_default(getattr(args, name))
    )
    return BrokenStep(move.slug, choices, old, tuple(line for line in new if line not in old), broken)


def state_reader(formula: Formula, broken: str) -> Reader:
    """What explains a model of a state that breaks the sentence."""
    return partial(_read_state, formula, broken)


def _read_state(formula: Formula, broken: str, model: Any) -> BrokenStep:
    words = Words(model, frozenset(symbols(formula(before()))))
    return BrokenStep("", (), words.of_state(before()), (), broken)


class Words:
    """Names for the elements of a model, and a state in lines. past: which of the past is told."""

    def __init__(self, model: Any, past: frozenset[str]) -> None:
        self._model, self._past_answered = model, past
        self._names: dict[str, str] = {}
        u = before().u
        plain = {"nobody": "nobody", "dynamic": "no instance", "no_protocol": "none", "nothing": "nothing"}
        for constant in CONSTANTS:
            if constant in plain:
                self._names[str(self.value(getattr(u, constant)))] = plain[constant]
        for sort in Sort:
            self._name_all(sort)

    def value(self, term: Term) -> Any:
        """What a term is in the model."""
        # Z3 may give a constant of the question a formula for a value.
        return self._model.eval(self._written_out(self._model.eval(term, model_completion=True)), True)

    def _written_out(self, term: Any) -> Any:
        """Without quantifiers: over the elements of the model."""
        if z3.is_quantifier(term):
            domains = (self._model.get_universe(term.var_sort(i)) for i in range(term.num_vars()))
            rows = product(*domains)
            cases = [self._written_out(z3.substitute_vars(term.body(), *reversed(row))) for row in rows]
            return z3.And(cases) if term.is_forall() else z3.Or(cases)
        inner = [(child, self._written_out(child)) for child in term.children()]
        new = [pair for pair in inner if not pair[0].eq(pair[1])]
        return z3.substitute(term, *new) if new else term

    def _holds(self, term: Term) -> bool:
        return term if isinstance(term, bool) else z3.is_true(self.value(term))

    def elements(self, sort: Sort) -> list[Any]:
        """What there is of a sort in the model."""
        return list(self._model.get_universe(Z3_SORTS[sort]) or ())

    def _name_all(self, sort: Sort) -> None:
        found = self.elements(sort)
        if sort is Sort.GENERATION:
            earlier = before().u.before
            for one in found:
                self._names[str(one)] = str(sum(self._holds(earlier(other, one)) for other in found))
            return
        proper = zip(ELEMENTS[sort], elements(sort), strict=True)
        for name, constant in proper:
            if name not in CONSTANTS:
                self._names.setdefault(str(self.value(constant)), name)
        for number, one in enumerate(found, 1):
            self._names.setdefault(str(one), f"{sort.value.lower()} {number}")

    def name(self, term: Term) -> str:
        """A value in words."""
        if isinstance(term, bool):
            return str(term).lower()
        value = str(self.value(term))
        return self._names.get(value, value.lower())

    def is_default(self, term: Term) -> bool:
        """Whether saying it would say nothing: false, nobody, no instance."""
        return self.name(term) in ("false", "nobody", "no instance", "nothing")

    def of_state(self, s: State) -> tuple[str, ...]:
        """The group, its members, what is in flight, and what has been."""
        return self._group(s), *self._people(s), *self._appends(s), *self._past(s)

    def _group(self, s: State) -> str:
        phase = Phase[self.name(s.phase).upper()].value
        point = Point[self.name(s.point).upper()].value
        delay = ", initial delay" if self._holds(s.initial) else ""
        chosen = f"protocol {self.name(s.protocol).removeprefix('protocol ')}, leader {self.name(s.leader)}"
        if self.name(s.point) == Point.REMOVING.name.lower():
            point += f" of {self.name(s.victim)}, which goes on {Point[self.name(s.after).upper()].value}"
        return f"{phase}, generation {self.name(s.generation)}, {chosen}{delay}; {point}"

    def _people(self, s: State) -> Iterator[str]:
        for m in self.elements(Sort.MEMBER):
            what = "a member" if self._holds(s.member(m)) else ""
            if self._holds(s.pending(m)):
                what = f"{what} and pending" if what else "pending"
            flags = [text for name, text in FLAGS.items() if self._holds(s.parts[name](m))]
            if not what and not flags:
                continue
            instance = self.name(s.u.instance(m))
            static = "" if instance == "no instance" else f" of {instance}"
            yield f"{self.name(m)}{static}: " + ", ".join([what or "no member", *flags, *self._has(s, m)])

    def _has(self, s: State, m: Term) -> Iterator[str]:
        listed = (self.name(p) for p in self.elements(Sort.PROTOCOL) if self._holds(s.supports(m, p)))
        yield "supports " + (", ".join(name for name in listed if name != "none") or "nothing")
        if not self.is_default(s.assigned(m)):
            yield f"has {self.name(s.assigned(m))}"

    def _appends(self, s: State) -> Iterator[str]:
        u = s.u
        for r in self.elements(Sort.RECORD):
            if not self._holds(s.appended(r)):
                continue
            new, old, led = self.name(u.newcomer(r)), self.name(u.former(r)), self.name(u.led_then(r))
            lines = (m for m in self.elements(Sort.MEMBER) if self._holds(u.covers(r, m)))
            given = ", ".join(f"{self.name(u.gives(r, m))} for {self.name(m)}" for m in lines)
            restart = self.name(u.kind(r)) == "replacement"
            what = f"{new} for {old}, led by {led}" if restart else given or "for nobody"
            yield f"{self.name(r)} in flight, generation {self.name(u.written_in(r))}: {what}"

    def _past(self, s: State) -> Iterator[str]:
        for name, part in SIGNATURE.items():
            if part.role != "history" or name not in self._past_answered:
                continue
            for row in product(*(self.elements(sort) for sort in part.domain)):
                if self._holds(s.parts[name](*row)):
                    yield f"{name}({', '.join(map(self.name, row))})"
