"""Entries of the coordinator, with which formulas and spec are compared; and all of it, as a command.

`python tests/harness/steps_of_worlds.py SCOPE [PROFILE ...]` judges every step of a scope's configurations,
`... asked` asks the groups of tiny worlds everything, `... mutants` and `... mistakes` plant bugs in the spec
and in the formulas.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace

from rota.environment.world import world
from rota.explore.engines import choose
from rota.mutants import FOUND_BY_DIALOGUES, MUTANTS
from rota.proofs.core.coverage import COVERED, WORDS
from rota.proofs.core.moves import Move
from rota.proofs.refinement import inputs_of_groups
from rota.proofs.refinement.abstraction import abstract_state, normal_form
from rota.proofs.refinement.backward import beyond
from rota.proofs.refinement.compare import Disagreement, Judge
from rota.proofs.refinement.forward import CONTINUED, EndlessStep
from rota.proofs.refinement.inputs import ANSWERS, HEARTBEATS, JOINS, LEAVES, SYNCS, TIMERS, Answer, Input
from rota.proofs.refinement.mutants import Mistake, mistakes
from rota.proofs.refinement.outcomes import addressed, steps
from rota.scopes import Configuration, load
from rota.spec import Call, Group, GroupRecord, GroupState, ProtocolMetadata, Spec, Timer
from rota.spec.classic.step import Steps
from rota.spec.vocabulary import AppendError

Entry = tuple[Spec, Group | None, Input]

ASKED = (
    ("kafka-4.x", ("core", "tie", "static", "static-and-dynamic", "same-instance")),
    ("kafka-3.x", ("static-and-dynamic",)),
    ("kafka-2.1", ("core",)),
    ("rota", ("static",)),
)
"""Tiny worlds whose groups are asked everything."""

RUN = (("kafka-4.x", ("extended-delay", "leave", "static-poll-timeout", "raw-static")),)
"""Further ones, which are taken as they are: together with those every rule and every switch."""


@dataclass(frozen=True, eq=False)
class Recorder(Spec):
    """The spec, which remembers what it was asked."""

    seen: dict[tuple[Group | None, Input], None] = field(default_factory=dict)

    def handle(self, group: Group | None, call: Call) -> Steps:
        self.seen[addressed(group), replace(call, to="", now_ms=0, leader=None)] = None
        return super().handle(group, call)

    def fire(self, group: Group, timer: Timer) -> Steps:
        self.seen[addressed(group), timer] = None
        return super().fire(group, timer)

    def appended(self, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
        self.seen[addressed(group), Answer(record, error)] = None
        return super().appended(group, record, error)


def entries(configuration: Configuration, profile: str, engine: str = "auto") -> Iterator[Entry]:
    """All distinct entries of the coordinator in a configuration, explored to its end."""
    system = world(**configuration.settings_for(profile))
    broker = system.machines[0]
    spec = broker.spec
    recorder = Recorder(**{one.name: getattr(spec, one.name) for one in fields(spec)})
    choose(engine)(replace(system, machines=(replace(broker, spec=recorder), *system.machines[1:])))
    yield from ((spec, group, given) for group, given in recorder.seen)


def asked(found: Iterable[Entry], most: int | None = None) -> Iterator[Entry]:
    """Everything that may be asked of the groups in these entries, one group of each abstract state.

    most: groups, evenly spread over them.
    """
    groups = {}
    for spec, group, _ in found:
        if group is not None:
            shown = normal_form(abstract_state(group, group.generation_id))
            groups.setdefault((spec.profile.name, shown), (spec, addressed(group)))
    each = list(groups.values())
    for spec, group in each[:: 1 if most is None else max(1, len(each) // most)]:
        for here in variants(group):
            yield from ((one, here, given) for one, given in inputs_of_groups.questions(spec, here))


def variants(group: Group) -> Iterator[Group]:
    """The group, and such as tiny worlds have not: another protocol, an unused id, nobody joined."""
    yield group
    members, waits = group.members, group.pending | {"waiting-1"}
    if group.state is GroupState.STABLE and all(m.group_instance_id for m in members.values()):
        more = (ProtocolMetadata("other"),)
        each = ((i, replace(m, protocols=m.protocols[:1] + more)) for i, m in members.items())
        yield replace(group.with_each(each), pending=waits)
    if group.state is GroupState.COMPLETING_REBALANCE and len(members) > 1:
        yield replace(group, pending=waits)
    if group.state is GroupState.PREPARING_REBALANCE and not group.initial_join:
        absent = ((i, replace(m, awaiting_join=None, is_new=False)) for i, m in members.items())
        yield replace(group.with_each(absent), pending=waits)


def corpus(most: int | None = None, more: tuple[str, ...] = ()) -> list[Entry]:
    """What tiny worlds take, and what their groups may be asked. most: groups; more: worlds beside `RUN`."""
    scope, found = load("tiny"), []
    for profile, names in ASKED:
        own = [one for name in names for one in entries(scope.configuration(name), profile, "reference")]
        found += [*own, *asked(own, most)]
    for profile, names in RUN:
        for name in (*names, *more):
            found += entries(scope.configuration(name), profile, "reference")
    return found


def disagreements(judge: Judge, found: Iterable[Entry]) -> Iterator[Disagreement]:
    for spec, group, given in found:
        yield from judge.judge(spec, group, given)


def by_slug(found: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries by the rules that take part in what the spec does with them."""
    table: dict[str, list[Entry]] = {}
    for spec, group, given in found:
        for slug in {slug for step in steps(spec, group, given) for slug in step.rules}:
            table.setdefault(slug, []).append((spec, group, given))
    return table


def spread(found: list[Entry], most: int) -> list[Entry]:
    """At most about so many, evenly."""
    return found[:: max(1, len(found) // most)]


CONSULTED = {
    "join.barrier": ("join.rebalance-or-complete", "join.complete-if-all-joined"),
    "static.validate": tuple(
        f"{part}.{rule}"
        for part in ("join", "sync", "leave")
        for rule in ("fenced-instance-id", "unknown-member")
    ),
}
"""Rules that decide, and rules that ask them."""


def survives(slug: str, function: object, table: dict[str, list[Entry]], judge: Judge) -> bool:
    """Whether every step of a spec with this function for the rule is one of the formulas' (direction 1)."""
    own = [one for name in CONSULTED.get(slug, (slug,)) for one in spread(table.get(name, []), 300)]
    beside = [one for found in table.values() for one in found[:3]]
    for spec, group, given in (*own, *beside):
        broken = replace(spec, rules=spec.rules.replaced(slug, function))
        if any(one.direction == 1 for one in Judge(seen=judge.seen).judge(broken, group, given)):
            return False
    return True


def family(move: Move) -> tuple[Move, ...]:
    """The rules that take the same input, or continue the same step."""
    families = (JOINS, SYNCS, HEARTBEATS, LEAVES, *TIMERS.values(), *ANSWERS.values(), *CONTINUED.values())
    return tuple(one for each in families if move in each for one in each) or (move,)


def unnoticed(mistake: Mistake, table: dict[str, list[Entry]], most: int = 150) -> bool:
    """Whether the formulas with this mistake agree with the spec all the same, in both directions."""
    pool = [one for slug in {move.slug for move in family(mistake.move)} for one in table.get(slug, [])[:20]]
    own = table.get(mistake.move.slug, [])
    pending = [one for one in own if one[1] is not None and one[1].pending]
    judge = Judge(replaced={mistake.move.name: mistake.effect})
    try:
        return not any(disagreements(judge, [*spread(own, most), *spread(pending, most), *pool]))
    except EndlessStep:
        return False


def overlooked(mistake: Mistake, table: dict[str, list[Entry]]) -> bool:
    """Whether formulas with this mistake lead, with any arguments, only where the spec does.

    Of brokers with a size limit: whether there is one, and a handshake, formulas leave to the arguments.
    """
    groups = {
        (group.state, bool(group.pending), spec.profile.name): (spec, group)
        for found in table.values()
        for spec, group, _ in found
        if group is not None and len(group.members) < 2 and spec.profile.size_limit
    }
    replaced = {mistake.move.name: mistake.effect}
    return not any(beyond(spec, group, replaced)[1] for spec, group in groups.values())


def _steps(scope: str, profiles: list[str]) -> int:
    judge, bad, total = Judge(), 0, 0
    for one in sorted(load(scope).configurations, key=lambda one: one.size or 0):
        for profile in profiles:
            if not one.is_for(profile):
                continue
            found = list(entries(one, profile))
            total += len(found)
            wrong = list(disagreements(judge, found))
            bad += len(wrong)
            print(
                one.name,
                profile,
                len(found),
                "entries",
                len(judge.judged),
                "abstract",
                *wrong[:5],
                flush=True,
            )
    print(total, "entries;", len(judge.judged), "distinct abstract steps;", bad, "disagreements")
    print("left open:", judge.open, "; rules:", len(judge.fired))
    return bad


def _mutants(table: dict[str, list[Entry]]) -> int:
    judge, alive = Judge(), []
    for one in {**MUTANTS, **FOUND_BY_DIALOGUES}.values():
        if (one.slug in COVERED or one.slug in WORDS) and survives(one.slug, one.function, table, judge):
            alive.append(one.name)
            print("survives:", one.slug, one.name, "-", one.meaning, flush=True)
    print(len(alive), "survive")
    return len(alive)


def _mistakes(table: dict[str, list[Entry]]) -> int:
    every, alive = list(mistakes()), 0
    for one in every:
        if unnoticed(one, table, 400) and (not one.looks_at_nothing or overlooked(one, table)):
            alive += 1
            print("unnoticed:", one.name, flush=True)
    print(alive, "of", len(every), "unnoticed")
    return alive


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["tiny"]
    if what == "asked":
        found = corpus()
        judged = Judge()
        problems = list(disagreements(judged, found))
        print(
            len(found), "entries;", len(judged.judged), "distinct abstract steps;", *problems[:5], judged.open
        )
    elif what in ("mutants", "mistakes"):
        (_mutants if what == "mutants" else _mistakes)(by_slug(corpus(12, ("unsettled",))))
    else:
        sys.exit(bool(_steps(what, rest or ["kafka-4.x"])))
