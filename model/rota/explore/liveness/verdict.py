"""The verdict of a search for lassos, and which of several lassos it shows; the same for both searches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rota.explore.purity import Sampled
from rota.explore.result import Verdict
from rota.kernel import Liveness, LivenessKind, State, System, Transition

E = TypeVar("E")
Given = TypeVar("Given", contravariant=True)
"""How a graph names its edges."""


@dataclass(frozen=True)
class Lasso:
    """A fair endless run that breaks a property.

    machines: on whose views the property was judged; start: the initial state; stem: transitions from it to
    the first state of the cycle, as few as can be; cycle: transitions back to that state, repeated for ever,
    as few as can be from there (see `rota.explore.liveness.cycles`); empty: the run stays.
    """

    machines: tuple[str, ...]
    start: State
    stem: tuple[Transition, ...]
    cycle: tuple[Transition, ...]

    @property
    def entry(self) -> State:
        """The state in which the cycle begins and ends."""
        return self.stem[-1].target if self.stem else self.start

    @property
    def lines(self) -> tuple[str, ...]:
        """The run in words, a line per transition."""
        steps = (f"{number:4d}  {step.label}" for number, step in enumerate(self.stem, 1))
        loop = (f"      {step.label}" for step in self.cycle)
        return (*steps, "for ever:", *(loop if self.cycle else ("      nothing more need happen",)))


@dataclass(frozen=True)
class LivenessVerdict:
    """A property's verdict.

    occasions: states in which it demands something (LEADS_TO: in which `given` holds, else all), summed over
    the choices of machines; with none it holds in vain. judged: the number of distinct combinations of what
    its views see, over all states and choices of machines; given: of how many of them `given` holds (all,
    where it has none). Both are None where it is undecided.
    """

    name: str
    kind: LivenessKind
    meaning: str
    verdict: Verdict
    occasions: int = 0
    lasso: Lasso | None = None
    judged: int | None = None
    given: int | None = None


class Explored(Protocol[Given]):
    """A whole graph, for whoever wants its counts or a path as transitions. The counts are as in `Result`."""

    @property
    def system(self) -> System: ...
    @property
    def distinct(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def histogram(self) -> tuple[int, ...]: ...
    @property
    def fired(self) -> frozenset[str]: ...
    @property
    def sampled(self) -> Sampled: ...
    def digest(self) -> str: ...
    def state(self, number: int) -> State: ...
    def transitions(self, path: Iterable[Given]) -> tuple[Transition, ...]: ...


@dataclass(frozen=True)
class LassoPath(Generic[E]):
    """A lasso as a path in a graph. start: the number of its initial state; choice: of machines."""

    start: int
    stem: list[E]
    cycle: list[E]
    choice: tuple[int, ...]

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """The least of several is shown."""
        return len(self.stem), len(self.cycle), self.choice

    def lasso(self, graph: Explored[E]) -> Lasso:
        """The run as transitions."""
        return Lasso(
            machines=tuple(graph.system.machines[i].name for i in self.choice),
            start=graph.state(self.start),
            stem=graph.transitions(self.stem),
            cycle=graph.transitions(self.cycle),
        )


class Search(Protocol[E]):
    """One property on one choice of machines; see `LivenessVerdict` for its occasions."""

    @property
    def occasions(self) -> int: ...
    def run(self) -> LassoPath[E] | None: ...


class Asked(Protocol):
    """A predicate over the views of a property, on any choice of machines."""

    def counts(self) -> tuple[int, int]:
        """Of how many distinct combinations it was asked, and of how many it is true."""
        ...


def verdict(
    graph: Explored[E], prop: Liveness, searches: Iterable[Search[E]], test: Asked, given: Asked | None
) -> LivenessVerdict:
    """The verdict on a property from the searches on all choices of machines, which ask its predicates."""
    occasions, worst = 0, None
    for search in searches:
        occasions += search.occasions
        found = search.run()
        if found is not None and (worst is None or found.order < worst.order):
            worst = found
    judged, _ = test.counts()
    return LivenessVerdict(
        name=prop.name,
        kind=prop.kind,
        meaning=prop.meaning,
        verdict=Verdict.HOLDS if worst is None else Verdict.VIOLATED,
        occasions=occasions,
        lasso=None if worst is None else worst.lasso(graph),
        judged=judged,
        given=judged if given is None else given.counts()[1],
    )
