"""The kill matrix: every rule of the spec, and what finds a mistake in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rota.conformance.catalogue import all_cases
from rota.conformance.rules import CONSUMER, part_of_consumer
from rota.kernel import Rule
from rota.mutants import FOUND_BY_DIALOGUES, MUTANTS, ODD_REQUESTS, Mutant
from rota.mutants.consumer import BUGS as CONSUMER_MUTANTS
from rota.mutants.core import CoreBug, consumer_bugs, core_bugs
from rota.mutants.endless import ENDLESS_KILLS, EndlessKill
from rota.spec import RULES
from rota.spec.consumer.handlers import CONSUMER_RULES


@dataclass(frozen=True)
class Row:
    """A rule with what checks it.

    mutants: of the spec, that replace it; lasting: what sentences about endless runs kill of them;
    by_dialogues: mutants that no property sees and a dialogue of the tests does; bugs: of the coordinator,
    that break it; cases: ids of the conformance cases about it, those of a family by the family's; odd: the
    request that it takes, if no client makes it fire.
    """

    rule: Rule
    mutants: tuple[Mutant, ...]
    lasting: tuple[EndlessKill, ...]
    by_dialogues: tuple[Mutant, ...]
    bugs: tuple[CoreBug, ...]
    cases: tuple[str, ...]
    odd: str

    @property
    def part(self) -> str:
        """The part of the protocol: that of the rule, `consumer.` before it in the consumer protocol."""
        return part_of_consumer(self.rule.slug) or self.rule.part

    @property
    def guarded(self) -> bool:
        """Whether a mistake in this rule is known to be found.

        By a property that kills a mutant, or a dialogue that does.
        """
        return bool((*self.mutants, *self.by_dialogues))


def rows_of_the_spec() -> dict[str, Row]:
    """Every rule of the spec by slug, part by part, in the spec's order."""
    parts = list(dict.fromkeys(rule.part for rule in RULES.values()))
    return {
        slug: Row(
            rule,
            tuple(mutant for mutant in MUTANTS.values() if mutant.slug == slug),
            tuple(one for one in ENDLESS_KILLS if one.mutant in MUTANTS and MUTANTS[one.mutant].slug == slug),
            tuple(mutant for mutant in FOUND_BY_DIALOGUES.values() if mutant.slug == slug),
            tuple(bug for bug in core_bugs().values() if bug.rule == slug),
            _cases_about(slug),
            ODD_REQUESTS.get(slug, ""),
        )
        for slug, rule in sorted(RULES.items(), key=lambda item: parts.index(item[1].part))
    }


def rows_of_consumer() -> dict[str, Row]:
    """Every rule of the consumer protocol by its name in the kit, `consumer.` and its slug, in its order."""
    return {
        name: Row(
            replace(rule, slug=name),
            tuple(mutant for mutant in CONSUMER_MUTANTS.values() if mutant.slug == slug),
            (),
            (),
            tuple(bug for bug in consumer_bugs().values() if bug.rule == slug),
            _cases_about(name),
            "",
        )
        for slug, rule in CONSUMER_RULES.items()
        for name in (f"{CONSUMER}.{slug}",)
    }


def _cases_about(name: str) -> tuple[str, ...]:
    """The conformance cases about a rule, by ids, those of a family by the family's."""
    return tuple(dict.fromkeys(case.family or case.id for case in all_cases() if case.rule == name))


def mutants_of_clients() -> tuple[Mutant, ...]:
    """Those that replace a kind of client and no rule: mistakes of whoever obeys a rule badly."""
    return tuple(mutant for mutant in MUTANTS.values() if mutant.slug not in RULES)


def unguarded(rows: Sequence[Row]) -> list[str]:
    """Slugs of the rows without a killer."""
    return [row.rule.slug for row in rows if not row.guarded]


def kills(rows: Sequence[Row], clients: Sequence[Mutant] = ()) -> dict[str, int]:
    """Property → how many mutants it is the first to report, most first. clients: their mutants too."""
    mutants = [*(mutant for row in rows for mutant in row.mutants), *clients]
    return dict(Counter(mutant.killer for mutant in mutants).most_common())


def lasting_kills(rows: Sequence[Row]) -> dict[str, int]:
    """Sentence about endless runs → how many mutants it is known to kill, most first."""
    return dict(Counter(one.by for row in rows for one in row.lasting).most_common())


def as_json(rows: Sequence[Row], clients: Sequence[Mutant] = ()) -> dict[str, object]:
    """The matrix for machines. clients: their mutants."""
    return {
        "schema": 1,
        "verdict": "gaps" if unguarded(rows) else "ok",
        "matrix": [_row(row) for row in rows],
        "without_killer": unguarded(rows),
        "kills": kills(rows, clients),
        "client_mutants": [{"slug": one.slug, **_mutant(one)} for one in clients],
        "endless_kills": lasting_kills(rows),
    }


FIELDS = ("name", "meaning", "killer", "configuration", "seen_in")


def _mutant(mutant: Mutant) -> dict[str, object]:
    return {field: getattr(mutant, field) for field in FIELDS}


def _row(row: Row) -> dict[str, object]:
    return {
        "slug": row.rule.slug,
        "part": row.part,
        "guarded": row.guarded,
        "odd_request": row.odd or None,
        "spec_mutants": [_mutant(one) for one in row.mutants],
        "endless_kills": [vars(one) for one in row.lasting],
        "found_by_dialogues": [_mutant(one) for one in row.by_dialogues],
        "coordinator_bugs": [{"name": bug.name, "meaning": bug.meaning} for bug in row.bugs],
        "cases": list(row.cases),
    }
