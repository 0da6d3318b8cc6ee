"""The two directions: each outcome of the spec is one of the formulas', each of those the spec's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rota.proofs.core.coverage import OUTSIDE
from rota.proofs.refinement.abstraction import COMPARED, AbstractState, abstract_state, universe, with_past
from rota.proofs.refinement.forward import AbstractOutcome, Replaced, Runner
from rota.proofs.refinement.inputs import Input, Reading, reading
from rota.proofs.refinement.outcomes import abstract_outcome, addressed, covered, steps
from rota.spec import Call, Group, JoinGroupRequest, LeaveGroupRequest, Spec, Step
from rota.spec.classic.state import InitialJoin, Member


@dataclass(frozen=True)
class Disagreement:
    """A step that one side has and the other has not.

    direction: 1, the spec's step is no formula's; 2, the formulas' step is not the spec's.
    """

    direction: int
    slugs: tuple[str, ...]
    group: Group | None
    given: Input
    why: str

    def __str__(self) -> str:
        """In one line."""
        side = "the spec's alone" if self.direction == 1 else "the formulas' alone"
        return f"{side}: {' '.join(self.slugs)}: {self.why}"


@dataclass
class Judge:
    """Compares the spec with the formulas, and counts.

    Parameters: replaced, mutants of some formulas. Counted are the distinct abstract steps by the rules that
    took part, in `seen`; `open` are outcomes of formulas that only another concrete group with the same
    abstract state has, by the way in which it differs.
    """

    replaced: Replaced = field(default_factory=dict)
    seen: dict[tuple[Any, ...], frozenset[AbstractOutcome]] = field(default_factory=dict)
    fired: dict[str, int] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=dict)
    judged: set[tuple[Any, ...]] = field(default_factory=set)

    def judge(self, spec: Spec, group: Group | None, given: Input) -> list[Disagreement]:
        """What both sides say of one input in one group; nothing where they agree."""
        group = addressed(group)
        if isinstance(given, Call) and _leaves_one_by_one(spec, given):
            return self._one_by_one(spec, group, given)
        done = steps(spec, group, given)
        read = reading(spec, group, given)
        if read is None or not any(map(covered, done)):
            return list(_without_formulas(group, given, done))
        now = 0 if group is None else group.generation_id
        shown = with_past(abstract_state(group, now, read.appended))
        theirs = {abstract_outcome(shown, group, given, step) for step in done}
        key = _key(spec, read, shown)
        if (key, frozenset(theirs)) in self.judged:
            return []
        ours = self._formulas(key, spec, read, shown)
        found = [Disagreement(1, _slugs(one), group, given, _nearest(one, ours)) for one in theirs - ours]
        missing = frozenset(one for one in ours - theirs if not left_open(one, shown))
        self._count("two votes", len(ours - theirs - missing))
        if missing:
            missing = self._elsewhere(spec, group, given, shown, missing)
        found += [Disagreement(2, _slugs(one), group, given, _nearest(one, theirs)) for one in missing]
        self.judged.add((key, frozenset(theirs)))
        for one in theirs:
            for slug in _slugs(one):
                self.fired[slug] = self.fired.get(slug, 0) + 1
        return found

    def _formulas(
        self, key: tuple[Any, ...], spec: Spec, read: Reading, shown: AbstractState
    ) -> frozenset[AbstractOutcome]:
        if key not in self.seen:
            runner = Runner(universe(read.cast, spec.profile), self.replaced)
            self.seen[key] = runner.outcomes(shown, read.starts, read.batch)
        return self.seen[key]

    def _elsewhere(
        self,
        spec: Spec,
        group: Group | None,
        given: Input,
        shown: AbstractState,
        missing: frozenset[AbstractOutcome],
    ) -> frozenset[AbstractOutcome]:
        """Those that no other concrete group with the same abstract state has either."""
        for name, other, same in others(group, given):
            met = missing & {abstract_outcome(shown, other, same, step) for step in steps(spec, other, same)}
            self._count(name, len(met))
            missing -= met
            if not missing:
                break
        return missing

    def _count(self, name: str, times: int) -> None:
        if times:
            self.open[name] = self.open.get(name, 0) + times

    def _one_by_one(self, spec: Spec, group: Group | None, given: Call) -> list[Disagreement]:
        """A coordinator that reacts after each identity does what batches of one do."""
        request = given.request
        assert isinstance(request, LeaveGroupRequest)
        found, reached = [], {group}
        for one in request.members:
            alone = replace(given, request=replace(request, members=(one,)))
            found += [bad for now in reached for bad in self.judge(spec, now, alone)]
            reached = {addressed(step.group) for now in reached for step in steps(spec, now, alone)}
        if reached != {addressed(step.group) for step in steps(spec, group, given)}:
            found.append(Disagreement(1, ("leave.batch",), group, given, "not what batches of one do"))
        return found


ELSEWHERE = {
    "another vote": "which of the candidates wins is left open: any may, in one order of preference or other",
    "another window": "whether an initial delay is extended is left open: it depends on who came when",
    "two votes": "a replacement in Stable that lets another protocol win may be followed by a join phase "
    "that ends at once with the former one: a formula's two votes know nothing of each other",
}
"""What formulas leave open, beside what the abstraction leaves out, and why."""


def _leaves_one_by_one(spec: Spec, call: Call) -> bool:
    several = isinstance(call.request, LeaveGroupRequest) and len(call.request.members) > 1
    return several and spec.profile.leaves_one_by_one


def left_open(one: AbstractOutcome, shown: AbstractState) -> bool:
    """Whether no group need have this outcome of the formulas: it is that of two votes (see `ELSEWHERE`)."""
    slugs = _slugs(one)
    again = "static.replaced-changed-vote" in slugs and "join.protocol" in slugs
    return again and one.state[COMPARED.index("protocol")] == shown["protocol"]


def others(group: Group | None, given: Input) -> Iterator[tuple[str, Group, Input]]:
    """Other concrete groups and inputs with the same abstract state, by a name of `ELSEWHERE`."""
    if group is None:
        return
    names = {p.name for m in group.members.values() for p in m.protocols}
    if isinstance(given, Call) and isinstance(given.request, JoinGroupRequest):
        names |= {p.name for p in given.request.protocols}
    voting = [group]
    for name in sorted(names):
        each = ((i, _preferring(m, name)) for i, m in group.members.items())
        voting.append(group.with_each(each))
        yield "another vote", voting[-1], _preferring_too(given, name)
    if group.initial_join is not None:
        more = InitialJoin(group.initial_join.delay_ms, 1)
        for one in voting:
            yield "another window", replace(one, initial_join=more, new_member_added=True), given
            yield "another window", replace(one, new_member_added=False), given


def _preferring(member: Member, name: str) -> Member:
    return replace(member, protocols=tuple(sorted(member.protocols, key=lambda p: p.name != name)))


def _preferring_too(given: Input, name: str) -> Input:
    if not isinstance(given, Call) or not isinstance(given.request, JoinGroupRequest):
        return given
    protocols = tuple(sorted(given.request.protocols, key=lambda p: p.name != name))
    return replace(given, request=replace(given.request, protocols=protocols))


def _without_formulas(group: Group | None, given: Input, done: Iterable[Step]) -> Iterator[Disagreement]:
    """Rules that are outside change nothing, unless they end the group."""
    now = 0 if group is None else group.generation_id
    before = abstract_state(group, now)
    for step in done:
        outside = not OUTSIDE.keys().isdisjoint(step.rules)
        if outside and step.group is not None and abstract_state(step.group, now) != before:
            yield Disagreement(1, step.rules, group, given, "a rule without a formula changes the group")


def _key(spec: Spec, read: Reading, shown: AbstractState) -> tuple[Any, ...]:
    starts = tuple(_start_key(read, one) for one in read.starts)
    batch = tuple(tuple(_start_key(read, one) for one in starts_of_one) for starts_of_one in read.batch)
    return spec.profile.name, read.cast, tuple(shown.values()), starts, batch


def _start_key(read: Reading, start: Any) -> tuple[Any, ...]:
    """Functions count by what they say of the cast."""
    values: list[tuple[str, Any]] = []
    for name, choices in start.choices.items():
        if name == "offered":
            values.append((name, frozenset(p for p in read.cast.protocols if choices[0](p))))
        elif name == "given":
            values.append((name, tuple(choices[0](m) for m, _ in sorted(read.cast.members, key=str))))
        else:
            values.append((name, tuple(choices)))
    return (start.move.name, *values)


def _slugs(one: AbstractOutcome) -> tuple[str, ...]:
    return tuple(sorted(slug for slug, _ in one.slugs))


def _nearest(one: AbstractOutcome, among: Iterable[AbstractOutcome]) -> str:
    """In what it differs from the nearest of the other side's."""
    found = []
    for other in among:
        pairs = zip(COMPARED, one.state, other.state, strict=True)
        differs = [f"{name} {_plain(a)}, not {_plain(b)}" for name, a, b in pairs if a != b]
        if one.slugs != other.slugs:
            differs.append(f"rules {' '.join(_slugs(other))}")
        found.append((len(differs), "; ".join(differs)))
    return min(found)[1] if found else "the other side has no step"


def _plain(value: Any) -> str:
    return str(sorted(value, key=str)) if isinstance(value, frozenset) else str(value)
