"""The reference engine: breadth-first search over plain Python states. Slow, short, obviously right.

The other engines are compared with it, so it shares neither their search nor the functions that make their
verdicts. Every level is worked off in the order of state hashes, so that the first discoverer of a state is
its canonical predecessor and traces are the same from every engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import asdict, replace
from functools import cache
from time import perf_counter

from rota.explore.purity import Again, Sampled, noting
from rota.explore.result import (
    DEADLOCK,
    DEADLOCK_CLAIM,
    DEADLOCK_MEANING,
    Limits,
    Progress,
    PropertyVerdict,
    Result,
    Verdict,
    Violation,
)
from rota.kernel import (
    IN_STATES,
    Digest,
    Kind,
    Property,
    State,
    System,
    Transition,
    UserError,
    component_hash,
    guarded,
    keeping,
    state_hash,
)

Parents = dict[State, tuple[State, Transition] | None]


def explore(system: System, limits: Limits | None = None, *, progress: Progress | None = None) -> Result:
    """Visit every reachable state. progress is called after each level. See Result for what is counted."""
    return Search(system, limits or Limits(), progress).run()


class Search:
    """One exploration; `run` it once."""

    def __init__(self, system: System, limits: Limits, progress: Progress | None = None) -> None:
        self.again = Again()
        self.system = system = keeping(noting(guarded(system), self.again))
        self.limits, self.progress = limits, progress
        self.invariants = system.select(*IN_STATES)
        self.steps = system.select(Kind.STEP)
        self.witnesses: dict[str, int | None] = {p.name: None for p in system.select(Kind.WITNESS)}
        self.terminal = system.select(Kind.TERMINAL)
        self.parents: Parents = {}
        self.at: tuple[State, Transition | None] | None = None
        """What is being judged or expanded, for a mistake in the system: a state, a transition out of it."""
        self.fired: set[str] = set()
        self._hashed = cache(component_hash)
        self.digest = Digest()
        self.histogram: list[int] = []
        self.generated = 0
        self.bounded, self.sampled = False, Sampled()
        self.seen: dict[str, set[tuple[Hashable, ...]]] = {p.name: set() for p in system.properties}
        """By property: what its views have seen together."""

    def run(self) -> Result:
        """Errors: UserError, with a shortest run to the mistake."""
        try:
            return self._run()
        except UserError as error:
            raise error.found(*(self._run_to(*self.at) if self.at else (None, ()))) from error

    def _run(self) -> Result:
        started = perf_counter()
        level = self._admit([(state, None) for state in self.system.initial_states()])
        self.generated = len(level)
        violation = None
        undecided = False
        depth = 0
        while level:
            distinct = len(self.parents)
            violation = self._judge(level) or self._expand(level)
            if violation:
                break
            if self.progress:
                seconds = perf_counter() - started
                self.progress(depth, distinct, len(level), self.generated, seconds)
            depth += 1
            self.bounded = undecided = self.limits.beyond(depth)
            if undecided:
                break
            level = self._admit(self._found)
            undecided = self.limits.max_states is not None and len(self.parents) > self.limits.max_states
            if undecided:
                break
        self.sampled = self.again.ask()
        return self._result(violation, undecided, perf_counter() - started)

    def _code(self, state: State) -> int:
        """As `System.hash_state`, but each value is encoded once."""
        return state_hash([self._hashed(value) for value in state])

    def _admit(self, found: list[tuple[State, tuple[State, Transition] | None]]) -> list[State]:
        """Enter new states into the visited set; return them in the order of their hashes."""
        fresh = []
        for state, parent in found:
            if state not in self.parents:
                self.parents[state] = parent
                fresh.append((self._code(state), state))
        fresh.sort(key=lambda pair: pair[0])
        self.digest.add(code for code, _ in fresh)
        if fresh:
            self.histogram.append(len(fresh))
        return [state for _, state in fresh]

    def _judge(self, level: list[State]) -> Violation | None:
        """Witnesses and invariants of one level."""
        for prop in self.system.select(Kind.WITNESS):
            if self.witnesses[prop.name] is None:
                for state in level:
                    self.at = state, None
                    if self.system.holds(prop, state):
                        self.witnesses[prop.name] = len(self.histogram) - 1
        for prop in self.invariants:
            for state in level:
                self.at = state, None
                self.seen[prop.name].update(self.system.seen(prop, state))
                if not self.system.holds(prop, state):
                    return self._violation(prop.name, prop.meaning, state)
        return None

    def _expand(self, level: list[State]) -> Violation | None:
        """Successors of one level; deadlocks (found here, one step shorter) come before bad steps."""
        found: list[tuple[State, tuple[State, Transition] | None]] = []
        stuck: State | None = None
        bad: dict[str, tuple[Property, State, Transition]] = {}
        for state in level:
            moved = False
            best: dict[str, tuple[int, Transition]] = {}
            self.at = state, None
            for transition in self.system.successors(state):
                self.generated += 1
                moved = moved or transition.target != state
                self.fired.update(transition.rules)
                found.append((transition.target, (state, transition)))
                self.at = state, transition
                for prop in self.steps:
                    self.seen[prop.name].update(self.system.seen_stepping(prop, state, transition.target))
                    if prop.name not in bad and not self.system.step_holds(prop, state, transition.target):
                        code = self._code(transition.target)
                        if prop.name not in best or code < best[prop.name][0]:
                            best[prop.name] = (code, transition)
                self.at = state, None
            for prop in self.steps:
                if prop.name in best:
                    bad[prop.name] = (prop, state, best[prop.name][1])
            if stuck is None and not moved and self.terminal and not self._may_end(state):
                stuck = state
        if stuck is not None:
            return self._violation(DEADLOCK, DEADLOCK_MEANING, stuck)
        for prop in self.steps:
            if prop.name in bad:
                _, before, transition = bad[prop.name]
                return self._violation(prop.name, prop.meaning, before, transition)
        self._found = found
        return None

    def _may_end(self, state: State) -> bool:
        return all(self.system.holds(prop, state) for prop in self.terminal)

    def _violation(self, name: str, meaning: str, state: State, last: Transition | None = None) -> Violation:
        return Violation(name, meaning, *self._run_to(state, last))

    def _run_to(self, state: State, last: Transition | None) -> tuple[State, tuple[Transition, ...]]:
        """The shortest run to a state that was visited, and a transition out of it."""
        path = [last] if last else []
        while (parent := self.parents[state]) is not None:
            state, transition = parent
            path.append(transition)
        return state, tuple(reversed(path))

    def _verdict(self, prop: Property, violation: Violation | None, whole: bool) -> Verdict:
        """Of one property. whole: every reachable state was visited, so what was not seen is not there."""
        if prop.kind is Kind.WITNESS:
            seen = self.witnesses[prop.name] is not None
            return Verdict.HOLDS if seen else Verdict.VIOLATED if whole else Verdict.UNDECIDED
        if violation is not None and violation.name == prop.name:
            return Verdict.VIOLATED
        return Verdict.HOLDS if whole else Verdict.UNDECIDED

    def _verdicts(self, violation: Violation | None, whole: bool) -> Iterator[PropertyVerdict]:
        """One for each claim of the system, and one for deadlock, which is judged where ends are declared."""
        for prop in self.system.properties:
            if prop.kind is not Kind.TERMINAL:
                verdict, depth = self._verdict(prop, violation, whole), self.witnesses.get(prop.name)
                judged = given = None
                if whole and prop.counted:
                    judged = len(self.seen[prop.name])
                    given = sum(prop.premise(*seen) for seen in self.seen[prop.name])
                yield PropertyVerdict(prop.name, prop.kind, prop.meaning, verdict, depth, judged, given)
        if self.terminal:
            met = violation is not None and violation.name == DEADLOCK
            verdict = Verdict.VIOLATED if met else Verdict.HOLDS if whole else Verdict.UNDECIDED
            yield PropertyVerdict(DEADLOCK, None, DEADLOCK_CLAIM, verdict)

    def _result(self, violation: Violation | None, undecided: bool, seconds: float) -> Result:
        whole = violation is None and not undecided
        properties = tuple(self._verdicts(violation, whole))
        broken = any(prop.verdict is Verdict.VIOLATED for prop in properties)
        return Result(
            engine="reference",
            verdict=Verdict.VIOLATED if broken else Verdict.HOLDS if whole else Verdict.UNDECIDED,
            distinct=len(self.parents),
            generated=self.generated,
            depth=len(self.histogram) - 1,
            histogram=tuple(self.histogram),
            digest=self.digest.hex(),
            properties=properties,
            violation=violation,
            rules_fired=frozenset(self.fired),
            seconds=seconds,
            stats={"sampled": asdict(self.sampled)},
            bounded=self.bounded,
        )


class LastingSearch(Search):
    """Calls what a system says of endless runs in every state and transition, for what it may do wrongly."""

    def __init__(self, system: System, limits: Limits, progress: Progress | None = None) -> None:
        super().__init__(replace(system, properties=()), limits, progress)

    def _judge(self, level: list[State]) -> Violation | None:
        for prop in self.system.liveness:
            for state in level:
                self.at = state, None
                for choice in self.system.positions(prop):
                    seen = [view.of(state[i]) for view, i in zip(prop.views, choice, strict=True)]
                    prop.test(*seen)
                    if prop.given:
                        prop.given(*seen)
        for state in level:
            for transition in self.system.successors(state):
                self.at = state, transition
                for prop in self.system.liveness:
                    for one in prop.fairness:
                        one.of(transition)
                self.at = state, None
        return None
