"""Looks for the rules whose mistake explains what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rota.doubt.consumer import DoubtingConsumers
from rota.doubt.doubting import Doubting
from rota.doubt.mistakes import LIBERAL, Doubt, likelihood
from rota.linearise.asked import Asked
from rota.linearise.consumer.steps import ConsumerSteps
from rota.linearise.history import Event, History
from rota.linearise.judgement import Limits, UndecidedError
from rota.linearise.paths import Patience
from rota.linearise.run import Run

ENOUGH = 3
"""Rules that explain all, after which mistakes that say less are not looked at."""

SUSPECTS = 8
"""Mistakes that are tried on other histories, too."""

LIMITS = Limits(states=300)
"""A mistake that needs more states at once than this is taken for none."""


AnyDoubting = Doubting | DoubtingConsumers
"""The spec of either protocol, with a rule in doubt or none."""


@dataclass(frozen=True)
class Suspect:
    """A rule whose mistake explains what was seen.

    doubt: the mistake; always: it is made whenever it can be, else only sometimes; whole: all of the first
    history is explained, else what comes until an event that the spec alone does not come to; events: how
    many are explained; others: how many other histories are explained as a whole.
    """

    doubt: Doubt
    always: bool
    whole: bool
    events: int
    others: int = 0

    @property
    def rule(self) -> str:
        """Its slug."""
        return self.doubt.rule

    def __str__(self) -> str:
        return f"{self.doubt}{'' if self.always else ', at times'}"

    def as_json(self) -> dict[str, Any]:
        """As reports have it."""
        return {
            "rule": self.rule,
            "mistake": str(self),
            "always": self.always,
            "whole": self.whole,
            "others": self.others,
        }


def suspects(history: History, others: Sequence[History] = ()) -> tuple[Suspect, ...]:
    """The likeliest mistake of each rule that explains more than the spec does, likeliest first.

    others: histories that are thought to have the same cause.
    """
    found = _best_of_each_rule(_explanations(history))[:SUSPECTS]
    return tuple(sorted((_with_others(one, others) for one in found), key=_place))


def _explanations(history: History) -> list[Suspect]:
    """Mistakes that explain more than the spec does; not all, once some say enough."""
    sound = _oracle_of(history)
    runs = _Runs(history, sound)
    least, events = runs.explained, runs.events
    found: list[Suspect] = []
    if least == len(events):
        return found
    tried = sorted(((doubt, always) for doubt in sound.mistakes for always in (True, False)), key=_order)
    for doubt, always in tried:
        if likelihood(doubt, always)[0] > 1 and len({one.rule for one in found if one.whole}) >= ENOUGH:
            break
        reached = runs.explained_with(doubt, sound=not always)
        if reached > least:
            found.append(Suspect(doubt, always, reached == len(events), reached))
    return found


def _order(tried: tuple[Doubt, bool]) -> tuple[Any, ...]:
    doubt, always = tried
    return (*likelihood(doubt, always), doubt.rule, doubt.part)


def _place(one: Suspect) -> tuple[Any, ...]:
    """Sorts suspects: who explains more comes first, then who is likelier; who says little comes last."""
    liberal = one.doubt.mistake in LIBERAL
    explains = not one.whole, liberal, -one.others, 0 if one.whole else -one.events
    return (*explains, *_order((one.doubt, one.always)))


def _best_of_each_rule(found: Iterable[Suspect]) -> list[Suspect]:
    rules: dict[str, Suspect] = {}
    for one in sorted(found, key=_place):
        rules.setdefault(one.rule, one)
    return list(rules.values())


def _with_others(one: Suspect, others: Sequence[History]) -> Suspect:
    def explains(history: History) -> bool:
        events = Asked(history.profile).of(history.events)
        oracle = _oracle_of(history, one.doubt, sound=not one.always)
        return _explained(_begun(history, events, oracle), events, 0) == len(events)

    return replace(one, others=sum(map(explains, others)))


class _Runs:
    """Runs along a history, of the spec as it is and with mistakes: each begins where its mistake changes
    something, with the states of the one without.

    Attributes: events; explained, how many of them the spec as it is explains.
    """

    def __init__(self, history: History, sound: AnyDoubting) -> None:
        self.events = Asked(history.profile).of(history.events)
        self._sound = sound
        self._patience = _patience(history)
        self._before: list[Run] = []
        self.explained = _explained(_begun(history, self.events, sound), self.events, 0, self._note)

    def _note(self, number: int, run: Run) -> None:
        self._sound.noted.event = number
        self._before.append(run.copied(self._patience))

    def explained_with(self, doubt: Doubt, sound: bool) -> int:
        """How many of the events are explained with a mistake. sound: made at times only."""
        first = self._sound.noted.first[doubt]
        oracle = self._sound.doubting(doubt, sound)
        return _explained(self._before[first].copied(self._patience, oracle=oracle), self.events, first)


def _patience(history: History) -> Patience:
    slack = history.lateness + LIMITS.grace
    return Patience(slack, LIMITS.early, slack, LIMITS.early)


def _oracle_of(history: History, doubt: Doubt | None = None, sound: bool = True) -> AnyDoubting:
    """Who is asked about a history, by the protocol of its group."""
    if history.consumer is not None:
        return DoubtingConsumers(history.consumer.config, doubt, sound)
    return Doubting(history.config, history.profile, doubt, sound)


def _begun(history: History, events: Sequence[Event], oracle: AnyDoubting) -> Run:
    """A run that has seen nothing yet."""
    known = history.profile, history.config, _patience(history), LIMITS, history.restarts, history.looking
    if isinstance(oracle, DoubtingConsumers):
        assert history.consumer is not None  # by it the oracle was chosen
        run = Run(*known, consumer=ConsumerSteps(history.consumer, oracle=oracle))
    else:
        run = Run(*known, oracle)
    run.look_ahead(events)
    return run


def _explained(
    run: Run, events: Sequence[Event], first: int, before: Callable[[int, Run], object] = lambda *_: None
) -> int:
    """How many of the events the spec explains that is asked. first: the next one; before: hears of each."""
    for number in range(first, len(events)):
        before(number, run)
        try:
            if not run.see(events[number]):
                return number
        except UndecidedError:
            return number
    return len(events)
