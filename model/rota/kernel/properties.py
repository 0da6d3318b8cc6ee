"""Properties: named sentences over views of one or two machines, about states, steps and endless runs.

A view is a function of one component's value; a property reads nothing but its views. So an engine
evaluates a view once per distinct value and a predicate once per distinct combination of views.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from rota.kernel.transition import Transition


class Kind(Enum):
    """What a property says and when it is judged."""

    SHAPE = "shape"
    """Every state is well formed."""
    SAFETY = "safety"
    """Nothing bad in any state."""
    EFFECT = "effect"
    """Nothing bad in what a machine does beside its next value, such as how long a timer is armed for."""
    STEP = "step"
    """Nothing bad between a state and the next: the predicate gets the view before and after."""
    WITNESS = "witness"
    """Something good must be reachable, else the check is vacuous."""
    TERMINAL = "terminal"
    """The states that may be last; any other state without a successor but itself is a deadlock."""
    LIVENESS = "liveness"
    """Something about endless runs: what a `Liveness` says, and never a `Property`."""


IN_STATES = (Kind.SHAPE, Kind.SAFETY, Kind.EFFECT)
"""What is judged in each state, by every engine alike."""


@dataclass(frozen=True)
class View:
    """What a property sees of each machine of a role. of: value -> hashable."""

    role: str
    of: Callable[[Any], Hashable]


@dataclass(frozen=True)
class Property:
    """A named sentence.

    Parameters: name, a slug; kind; meaning, one sentence for a person; views, one or two; test, a
    predicate that takes one argument per view (STEP: the single view before and after).
    SHAPE, SAFETY, EFFECT and TERMINAL hold in a state if the predicate holds for every choice of distinct
    machines of the views' roles; WITNESS if it holds for some. given, of the kinds that are `counted`: the
    premise of a sentence "if …, then …", a predicate over the same arguments; where it is False the sentence
    claims nothing and `test` is not asked. source and rules say where the sentence comes from and which
    rules (slugs) it guards.
    """

    name: str
    kind: Kind
    meaning: str
    views: tuple[View, ...]
    test: Callable[..., bool]
    source: str = ""
    rules: tuple[str, ...] = ()
    given: Callable[..., bool] | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.views) <= 2:
            raise ValueError(f"property {self.name} has {len(self.views)} views; one or two can be tabulated")
        if self.kind is Kind.LIVENESS:
            raise ValueError(f"property {self.name} is about endless runs; make it a Liveness")
        if self.kind is Kind.STEP and len(self.views) != 1:
            raise ValueError(f"step property {self.name} has two views; a step is judged on one machine")
        if self.given is not None and not self.counted:
            raise ValueError(f"property {self.name}: a {self.kind.value} property has no premise")

    @property
    def universal(self) -> bool:
        """True where every choice of machines must satisfy the predicate, False where one is enough."""
        return self.kind is not Kind.WITNESS

    @property
    def counted(self) -> bool:
        """True where a verdict says how often it was judged: for what must be so in every state or step."""
        return self.kind in (*IN_STATES, Kind.STEP)

    def premise(self, *seen: Any) -> bool:
        """Whether it claims anything of what its views see."""
        return self.given is None or bool(self.given(*seen))

    def holds(self, *seen: Any) -> bool:
        """Whether it is so of what its views see: its premise is False or its predicate holds."""
        return not self.premise(*seen) or bool(self.test(*seen))


@dataclass(frozen=True)
class Effect(Property):
    """A sentence about what a machine does in one step beside its next value.

    No state has that, so the machine judges it where it is done, and its next value says by the name of the
    sentence what was wrong (a value that no sound system has); `views` and `test` read that.
    Parameter: done, a predicate over what the machine gives it, a description of the step.
    """

    done: Callable[[Any], bool] = field(kw_only=True)


@dataclass(frozen=True)
class Fairness:
    """An assumption about endless runs, weak fairness: what remains possible is done in the end.

    Parameters: name; meaning, one sentence for a person; of, the classes of a transition, none where nothing
    is promised of it. A run is fair if it takes every class infinitely often, or finds it impossible (no
    transition of the class leads out of the state) infinitely often. A run may stay in a state for ever in
    which no class is possible. What `of` reads beside a transition's local steps, its target above all,
    cannot be tabulated: then only small graphs can be judged.
    """

    name: str
    meaning: str
    of: Callable[[Transition], tuple[Hashable, ...]]


class LivenessKind(Enum):
    """What a liveness property says of every fair run."""

    INFINITELY_OFTEN = "infinitely often"
    """Its predicate holds again and again."""
    EVENTUALLY_ALWAYS = "eventually always"
    """From some state on its predicate holds in all."""
    LEADS_TO = "leads to"
    """Whenever `given` holds, its predicate holds then or later."""


@dataclass(frozen=True)
class Liveness:
    """A named sentence about endless runs.

    Parameters: name, a slug; kind; meaning, one sentence for a person; views, one or two; test, a predicate
    that takes one argument per view; fairness, what is assumed of runs, the less the stronger the sentence;
    given, LEADS_TO: a predicate over these views; broken, it is known not to hold, and a check must find a
    run that breaks it. It holds if it does for every choice of distinct machines of the views' roles. source
    and rules as in `Property`.
    """

    name: str
    kind: LivenessKind
    meaning: str
    views: tuple[View, ...]
    test: Callable[..., bool]
    fairness: tuple[Fairness, ...] = ()
    given: Callable[..., bool] | None = None
    source: str = ""
    rules: tuple[str, ...] = ()
    broken: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.views) <= 2:
            raise ValueError(f"liveness property {self.name} has {len(self.views)} views; give one or two")
        if (self.given is not None) != (self.kind is LivenessKind.LEADS_TO):
            raise ValueError(f"liveness property {self.name}: `given` belongs to `leads to` and to no other")


def _by_machine(transition: Transition) -> tuple[Hashable, ...]:
    return (transition.local_steps[0].machine,)


def _by_label(transition: Transition) -> tuple[Hashable, ...]:
    return (transition.label,)


def _by_rule(transition: Transition) -> tuple[Hashable, ...]:
    return transition.rules


PER_MACHINE = Fairness(
    "per machine", "A machine that keeps offering moves which others do not refuse makes one.", _by_machine
)
PER_LABEL = Fairness("per label", "What remains possible under one label is done.", _by_label)
PER_RULE = Fairness("per rule", "A rule that remains able to take part in a transition does.", _by_rule)
