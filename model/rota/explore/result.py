"""What every engine answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from rota.kernel import Kind, State, System, Transition

DEADLOCK = "deadlock"
"""Name of the property that every engine adds when a system names its terminal states."""

DEADLOCK_MEANING = "A state that nothing can leave and that is not a declared end."
DEADLOCK_CLAIM = "Every state can be left, but for the declared ends."

Progress = Callable[[int, int, int, int, float], None]
"""Called after each level: depth, distinct states, states of the level, transitions so far, seconds."""

Bound = Callable[[], int | None]
"""Asked between levels: how many steps a violation may have to be of interest, None for any number."""


class CheckpointError(ValueError):
    """A checkpoint's folder cannot be used; the text says why, and what would do."""


class EngineLimit(ValueError):
    """A system is more than the tables of an engine hold; the text says what of it."""


class Suspect(ValueError):
    """What an engine cannot do with a system, perhaps because of a mistake of the system's."""


class MissingExtra(ValueError):
    """An engine's dependency is not installed; the message has the command that installs it."""


class Verdict(Enum):
    """The verdict on a system or a property."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Limits:
    """When to stop early, and what a run may use.

    max_states: distinct states; a run that passes it is undecided. workers: threads that share the work,
    in engines that can (the compiled one); the answer does not depend on it. memory: bytes for states,
    about; the compiled engine keeps what is beyond on disk, the others do not heed it. checkpoint: a folder
    from which the compiled engine can go on with an ended search, if `resume`; others refuse. symmetry: visit
    one state of each orbit, if the system says which machines are interchangeable (the compiled engine).
    fingerprints: tell states apart by 64 bits only, which takes less memory and may miss one (likewise).
    bound: ends the search before the first level in which only longer violations can be; it may shrink
    meanwhile. The search for lassos, which does not find them by their length, does not heed it.
    cache: a folder in which what was learned of a system is kept for the next run; the engines fast and numpy
    heed it, unless there is a checkpoint, which numbers values as its search has met them.
    """

    max_states: int | None = None
    workers: int = 1
    memory: int | None = None
    checkpoint: Path | None = None
    resume: bool = False
    symmetry: bool = False
    fingerprints: bool = False
    cache: Path | None = None
    bound: Bound | None = None

    def beyond(self, depth: int) -> bool:
        """Whether a violation in states so deep has more steps than the bound allows."""
        most = self.bound() if self.bound else None
        return most is not None and depth > most


@dataclass(frozen=True)
class PropertyVerdict:
    """A property's verdict.

    depth: WITNESS: edges to the first one, None where none was reached. judged: SHAPE, SAFETY and STEP: the
    number of distinct combinations of what its views see, over all states or steps and all choices of
    machines; given: how many of them its premise was true of (all, where it has none). Both are None after a
    run that ended early, by a violation or a bound: they would say where it ended, and nothing of the system.
    LIVENESS: likewise over all states; the search for lassos visits them all even if it finds one.
    """

    name: str
    kind: Kind | None
    meaning: str
    verdict: Verdict
    depth: int | None = None
    judged: int | None = None
    given: int | None = None


@dataclass(frozen=True)
class Find:
    """A state that breaks something. rank: of the property; code: the state's 128-bit hash."""

    rank: int
    code: int
    state: State


def first(*finds: Find | None) -> Find | None:
    """The canonical one: least rank, then least hash."""
    return min((f for f in finds if f is not None), key=lambda f: (f.rank, f.code), default=None)


@dataclass(frozen=True)
class Violation:
    """A shortest counterexample, the same from every engine.

    name: of the property, or `deadlock`; meaning: its sentence; start: the initial state; path:
    the transitions from it, the last of which violates (or ends in the state that violates).
    Among shortest ones: the first property in the system's order, then the least state hash; every
    state's predecessor is the one with the least hash among those one level up. cycle: None where the run
    ends; else it is endless, and that many of the last transitions are repeated (0: it stays where it is).
    """

    name: str
    meaning: str
    start: State
    path: tuple[Transition, ...]
    cycle: int | None = None

    @property
    def steps(self) -> int:
        """Number of transitions."""
        return len(self.path)


@dataclass(frozen=True)
class Result:
    """The answer of an engine.

    distinct: states; generated: 1 per initial state + transitions, duplicates included; depth: edges to
    the last level; histogram: distinct states per level; digest: 32 hexadecimal digits; rules_fired:
    slugs seen in any transition; seconds: first state to verdict; stats: engine-specific numbers.
    After a violation the counts end with the level in which it was found. bounded: `Limits.bound` ended the
    search, which is undecided then: every state up to this depth was judged and expanded. odds: an upper
    bound of the probability that a state was missed; 0 where states were compared.
    """

    engine: str
    verdict: Verdict
    distinct: int
    generated: int
    depth: int
    histogram: tuple[int, ...]
    digest: str
    properties: tuple[PropertyVerdict, ...]
    violation: Violation | None
    rules_fired: frozenset[str]
    seconds: float
    stats: Mapping[str, Any] = field(default_factory=dict)
    odds: float = 0.0
    bounded: bool = False

    @property
    def answer(self) -> tuple[Any, ...]:
        """What must be the same from every engine."""
        return (
            self.verdict,
            self.distinct,
            self.generated,
            self.depth,
            self.histogram,
            self.digest,
            self.properties,
            self.rules_fired,
        )


def overall(violation: Violation | None, undecided: bool, witnesses: dict[str, int | None]) -> Verdict:
    """The verdict on the system: a witness never reached counts as violated (a vacuous check)."""
    if violation is not None:
        return Verdict.VIOLATED
    if undecided:
        return Verdict.UNDECIDED
    return Verdict.VIOLATED if None in witnesses.values() else Verdict.HOLDS


def verdicts(
    system: System,
    violation: Violation | None,
    undecided: bool,
    witnesses: dict[str, int | None],
    judged: Callable[[], Mapping[str, tuple[int, int]]],
) -> tuple[PropertyVerdict, ...]:
    """One verdict per property, and one for deadlock where the system names its terminal states.

    A run that ended early leaves what it did not see violated undecided. judged: called after a run that did
    not, by property how often it was judged and given (see `PropertyVerdict`).
    """
    counts = {} if violation or undecided else judged()
    open_end = Verdict.UNDECIDED if violation or undecided else Verdict.HOLDS
    out = []
    for prop in system.properties:
        depth = witnesses.get(prop.name)
        if prop.kind is Kind.TERMINAL:
            continue
        if prop.kind is Kind.WITNESS:
            missing = Verdict.UNDECIDED if violation or undecided else Verdict.VIOLATED
            outcome = Verdict.HOLDS if depth is not None else missing
        else:
            outcome = Verdict.VIOLATED if violation and violation.name == prop.name else open_end
        count = counts.get(prop.name, (None, None)) if prop.counted else (None, None)
        out.append(PropertyVerdict(prop.name, prop.kind, prop.meaning, outcome, depth, *count))
    if system.select(Kind.TERMINAL):
        stuck = violation is not None and violation.name == DEADLOCK
        out.append(PropertyVerdict(DEADLOCK, None, DEADLOCK_CLAIM, Verdict.VIOLATED if stuck else open_end))
    return tuple(out)
