"""`rota rules`: the index of the spec's rules, each of them in words, and the kill matrix."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import click

from rota.cli import completing
from rota.cli.errors import HOLDS, VIOLATED, UsageError, nearly
from rota.cli.verb import Example, Verb
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.registry import WIRE
from rota.mutants import Mutant
from rota.report import matrix, matrix_text
from rota.report.format import counted, reflowed, wrapped
from rota.report.matrix import Row
from rota.report.reference.claims import guarding


def select(rows: Mapping[str, Row], selector: str | None) -> list[Row]:
    """All rows, the one of a slug, those of a part or of `consumer`. Errors: UsageError for other names."""
    chosen = [row for slug, row in rows.items() if selector in (None, slug, row.part, row.rule.part)]
    if not chosen:
        assert selector is not None
        parts = list(dict.fromkeys(part for row in rows.values() for part in (row.rule.part, row.part)))
        hint = nearly(selector, [*rows, *parts])
        raise UsageError(f"there is no rule {selector!r}; {hint}`rota rules` lists them all")
    return chosen


SECTIONS = {"What to report": ("--matrix", "--json")}

EXAMPLES = (
    Example("rota rules join.leader", "One rule in words: what it does, its source, what checks it.", code=0),
    Example("rota rules timers", "The rules of a part.", code=0),
    Example("rota rules consumer", "The rules of the consumer protocol (KIP-848).", code=0),
    Example("rota rules --matrix", "Who finds a mistake in each rule.", code=0),
)


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("selector", required=False, metavar="[SLUG]", shell_complete=completing.rules)
@click.option("--matrix", "as_matrix", is_flag=True,
              help="Who finds a mistake in each rule (without SLUG, each classic one); exit 1 if nobody does."
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def rules(ctx: click.Context, selector: str | None, as_matrix: bool, as_json: bool) -> None:
    """The rules of the spec: source, versions, and what checks them.

    With the SLUG of a rule: the rule in words. With a part (join, sync, timers): its rules. Those of the
    consumer protocol (KIP-848) and their parts begin with `consumer.`; `consumer` is all of them.
    """
    classic = matrix.rows_of_the_spec()
    alone = as_matrix and selector is None
    rows = classic if alone else {**classic, **matrix.rows_of_consumer()}
    chosen = select(rows, selector)
    if as_matrix:
        _print_matrix(chosen, matrix.mutants_of_clients() if selector is None else (), as_json)
        ctx.exit(VIOLATED if matrix.unguarded(chosen) else HOLDS)
    beyond = [case.id for case in all_cases() if case.part == WIRE]
    if as_json:
        objects = [_as_json(row) for row in chosen]
        report = {"schema": 1, "verdict": "ok", "rules": objects, "cases_beyond_the_spec": beyond}
        click.echo(json.dumps(report, indent=2))
    elif selector is not None and len(chosen) == 1 and chosen[0].rule.slug == selector:
        _print_one(chosen[0])
    else:
        _print_index(chosen)
        click.echo(f"\n{counted(len(chosen), 'rule')}; `rota rules SLUG` shows one in full")
        if selector is None:
            listed = f"`rota conform --list {WIRE}`"
            words = f"{counted(len(beyond), 'case')} about bytes, which the spec leaves out: {listed}"
            click.echo(wrapped("", words))


def _print_matrix(rows: Sequence[Row], clients: Sequence[Mutant], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(matrix.as_json(rows, clients), indent=2))
        return
    for line in matrix_text.lines(rows, clients):
        click.echo(line)


def _names(row: Row) -> list[str]:
    return [mutant.name for mutant in (*row.mutants, *row.by_dialogues)]


def _as_json(row: Row) -> dict[str, object]:
    rule = row.rule
    return {
        "slug": rule.slug,
        "part": row.part,
        "title": rule.title,
        "text": rule.text,
        "source": rule.source,
        "versions": rule.since,
        "decides": rule.decides,
        "cases": list(row.cases),
        "mutants": _names(row),
        "properties": list(guarding().get(rule.slug, ())),
    }


def _print_one(row: Row) -> None:
    rule = row.rule
    click.echo(rule.slug)
    for line in reflowed("  ", rule.text):
        click.echo(line)
    for name, words in (
        ("source", rule.source),
        ("versions", rule.since),
        ("kind", "decides: other rules ask it" if rule.decides else "acts: a step of the coordinator"),
        ("claims", ", ".join(guarding().get(rule.slug, ())) or "no property names it"),
        ("mutants", ", ".join(_names(row)) or _no_mutant(row)),
        ("bugs", ", ".join(bug.name for bug in row.bugs) or "none breaks it in the coordinator"),
        ("cases", ", ".join(row.cases) or "none is about it"),
    ):
        click.echo(wrapped(f"  {name:<9} ", words))


def _no_mutant(row: Row) -> str:
    return f"none: no polite client makes it fire, it takes {row.odd}" if row.odd else "none replaces it"


def _print_index(rows: Sequence[Row]) -> None:
    part = ""
    for row in rows:
        rule = row.rule
        if row.part != part:
            click.echo(("\n" if part else "") + row.part)
            part = row.part
        click.echo(wrapped("  ", rule.slug))
        click.echo(wrapped("      ", rule.title))
        checked = [counted(len(row.cases), "case")] if row.cases else []
        checked += [f"mutants: {', '.join(_names(row))}"] if row.mutants else []
        click.echo(wrapped("      ", "; ".join([rule.since, rule.source, *checked])))
