"""What is to be proved: the invariant at the start and kept by every rule, and what follows from it.

Names: `core.CONJUNCT.at-the-start`, `core.CONJUNCT.RULE`, `core.STEP-SENTENCE.RULE`, `core.follows.SENTENCE`;
and to be refuted `core.can-fire.RULE` (no rule's guard contradicts the invariant), `core.wish.SENTENCE`.
Where a rule changes nothing that a sentence speaks of, the formulas before and after are the same term, and
there is no obligation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rota.proofs.core.claims import (
    CONJUNCTS,
    GUARD,
    JUST_MADE,
    ORDER,
    Goal,
    as_formula,
    before,
    changed,
    invariant,
    kept_claim,
    kept_goal,
    start_claim,
    step_claim,
    touched,
    wrong_claim,
)
from rota.proofs.core.conjuncts import Conjunct
from rota.proofs.core.coverage import MOVES
from rota.proofs.core.moves import Move
from rota.proofs.core.mutants import WRONG_RULES, WRONG_STEPS, WrongRule
from rota.proofs.core.reading import reader, state_reader
from rota.proofs.core.sentences import SENTENCES, Sentence
from rota.proofs.core.small import readable
from rota.proofs.core.steps import STEP_SENTENCES, StepSentence
from rota.proofs.core.wishes import WISHES, Wish
from rota.proofs.obligations import Claim, Mutant, Obligation

ALSO_NEEDED = {
    ("join.next-generation", "nothing-ahead"): (ORDER,),
    ("join.next-generation", "one-leader"): (GUARD,),
}
"""Obligations that fail without an assumption that is no conjunct."""


def _needed(move: Move, conjunct: Conjunct) -> tuple[str, ...]:
    """The assumptions that this obligation is the witness for."""
    where = move.name, conjunct.name
    return *(one.name for one in CONJUNCTS if one.needed_by == where), *ALSO_NEEDED.get(where, ())


def _kept(move: Move, conjunct: Conjunct) -> Claim:
    return readable(kept_claim(move, conjunct), before())


def _wrong(goal: Goal, wrong: WrongRule) -> Claim:
    return readable(wrong_claim(wrong.move, goal, wrong.name, wrong.rule), before())


def _variants(goal: Goal, wrong: Sequence[WrongRule]) -> tuple[Mutant, ...]:
    return tuple(Mutant(one.name, partial(_wrong, goal, one)) for one in wrong)


def kept(move: Move, conjunct: Conjunct) -> Obligation:
    """The rule keeps the conjunct. Variants are looked for in small groups first; it itself is not."""
    needed, goal = _needed(move, conjunct), kept_goal(conjunct)
    wrong = [one for one in WRONG_RULES if (one.move.name, one.breaks) == (move.name, conjunct.name)]
    return Obligation(
        f"core.{conjunct.name}.{move.name}",
        f"{move.name} keeps it: {conjunct.full_statement}",
        "proved",
        partial(_kept if needed else kept_claim, move, conjunct),
        _variants(goal, wrong),
        explain=reader(move, goal, conjunct.statement, {one.name: one.rule for one in wrong}),
        needed=needed,
    )


def started(conjunct: Conjunct) -> Obligation:
    """The conjunct holds at the start."""
    return Obligation(
        f"core.{conjunct.name}.at-the-start",
        f"in a group that was just made: {conjunct.full_statement}",
        "proved",
        partial(start_claim, conjunct),
        explain=state_reader(conjunct.formula, conjunct.statement),
        needed=(JUST_MADE,) if conjunct.name == "answered-sync" else (),
    )


def stepped(move: Move, sentence: StepSentence) -> Obligation:
    """The sentence is true of every step of the rule."""
    wrong = [one for one in WRONG_STEPS if (one.move.name, one.breaks) == (move.name, sentence.name)]
    variants = {one.name: one.rule for one in wrong}
    return Obligation(
        f"core.{sentence.name}.{move.name}",
        f"with {move.name} {sentence.statement}",
        "proved",
        partial(step_claim, move, sentence.goal),
        _variants(sentence.goal, wrong),
        explain=reader(move, sentence.goal, sentence.statement, variants),
        needed=(),
    )


def _speaks_of(move: Move, sentence: StepSentence) -> bool:
    return not changed(move).isdisjoint(sentence.reads)


def _follows(sentence: Sentence) -> Claim:
    given = {name: invariant()[name] for name in sentence.uses}
    return readable(Claim(given, sentence.formula(before())), before())


def followed(sentence: Sentence) -> Obligation:
    """The sentence follows from the conjuncts that it uses, and from no fewer."""
    return Obligation(
        f"core.follows.{sentence.name}",
        sentence.statement,
        "proved",
        partial(_follows, sentence),
        explain=state_reader(sentence.formula, sentence.statement),
    )


def _never(move: Move) -> Claim:
    return readable(step_claim(move, lambda pre, post: False), before())


def fired(move: Move) -> Obligation:
    """The guard does not contradict the invariant."""
    return Obligation(
        f"core.can-fire.{move.name}",
        f"{move.name} never runs in a state with the invariant",
        "refuted",
        partial(_never, move),
        explain=reader(move, lambda pre, post: False, "the rule never runs"),
    )


def _wished(wish: Wish, move: Move) -> Claim:
    claim = kept_claim(move, wish.conjunct)
    given = {**claim.assumptions, wish.name: as_formula(wish.formula(before()))}
    return readable(Claim(given, claim.goal), before())


def refused(wish: Wish) -> Obligation:
    """The rule breaks the wish."""
    move = next(one for one in MOVES if one.name == wish.broken_by)
    return Obligation(
        f"core.wish.{wish.name}",
        f"{move.name} keeps it: {wish.statement} (no: {wish.why})",
        "refuted",
        partial(_wished, wish, move),
        explain=reader(move, kept_goal(wish.conjunct), wish.statement),
    )


def _invariant() -> Iterator[Obligation]:
    for conjunct in CONJUNCTS:
        yield started(conjunct)
        yield from (kept(move, conjunct) for move in MOVES if touched(move, conjunct))


def _steps() -> Iterator[Obligation]:
    for sentence in STEP_SENTENCES:
        yield from (stepped(move, sentence) for move in MOVES if _speaks_of(move, sentence))


INVARIANT = tuple(_invariant())
"""Initiation and one for each rule and conjunct."""

STEPS = tuple(_steps())
"""What is true of each step."""

FOLLOWS = tuple(followed(sentence) for sentence in SENTENCES)
"""Sufficiency."""

FIRES = tuple(fired(move) for move in MOVES)
"""That no precondition is contradictory; refuted."""

WISHED = tuple(refused(wish) for wish in WISHES)
"""Planted false ones; refuted."""

TOGETHER = {
    **{f"core.{one.name}": one.full_statement for one in CONJUNCTS},
    **{f"core.{one.name}": one.statement for one in STEP_SENTENCES},
    "core.follows": "what follows from the invariant",
    "core.can-fire": "no rule's guard contradicts the invariant",
    "core.wish": "what one would wish and a rule does not keep",
}
"""What the obligations prove together, by group."""
