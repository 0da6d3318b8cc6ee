"""`rota rules`: the index of the spec's rules, and each of them in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import click

from rota.cli.errors import UsageError
from rota.conformance.registry import WIRE, all_cases
from rota.kernel import Rule
from rota.mutants import MUTANTS
from rota.report.check_text import counted, wrapped
from rota.spec import RULES


@dataclass(frozen=True)
class Entry:
    """A rule with what checks it. mutants: that replace it; cases: conformance cases about it."""

    rule: Rule
    mutants: tuple[str, ...]
    cases: tuple[str, ...]


def index() -> dict[str, Entry]:
    """Every rule of the spec by slug, part by part, in the spec's order."""
    cases = [(case.rule, case.id) for case in all_cases()]
    parts = list(dict.fromkeys(rule.part for rule in RULES.values()))
    return {
        slug: Entry(
            rule,
            tuple(mutant.name for mutant in MUTANTS.values() if mutant.slug == slug),
            tuple(id for about, id in cases if about == slug),
        )
        for slug, rule in sorted(RULES.items(), key=lambda item: parts.index(item[1].part))
    }


def select(entries: Mapping[str, Entry], selector: str | None) -> list[Entry]:
    """All entries, the one of a slug, or those of a part. Errors: UsageError for a name of neither."""
    chosen = [
        entry for slug, entry in entries.items() if selector in (None, slug) or entry.rule.part == selector
    ]
    if not chosen:
        assert selector is not None
        parts = list(dict.fromkeys(entry.rule.part for entry in entries.values()))
        near = get_close_matches(selector, [*entries, *parts], n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no rule {selector!r}; {hint}`rota rules` lists them all")
    return chosen


@click.command()
@click.argument("selector", required=False, metavar="[SLUG]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def rules(selector: str | None, as_json: bool) -> None:
    """The rules of the spec: source, versions, and what checks them.

    With the SLUG of a rule: the rule in words. With a part (join, sync, timers): its rules.
    """
    entries = index()
    chosen = select(entries, selector)
    beyond = [case.id for case in all_cases() if case.rule not in entries]
    if as_json:
        told = {"schema": 1, "verdict": "ok", "rules": [_as_json(entry) for entry in chosen]}
        click.echo(json.dumps({**told, "cases_beyond_the_spec": beyond}, indent=2))
    elif selector is not None and len(chosen) == 1 and chosen[0].rule.slug == selector:
        _print_one(chosen[0])
    else:
        _print_index(chosen)
        click.echo(f"\n{counted(len(chosen), 'rule')}; `rota rules SLUG` shows one in full")
        if selector is None:
            listed = f"`rota conform --list {WIRE}`"
            click.echo(f"{counted(len(beyond), 'case')} about bytes, which the spec leaves out: {listed}")


def _as_json(entry: Entry) -> dict[str, object]:
    rule = entry.rule
    return {
        "slug": rule.slug,
        "part": rule.part,
        "title": rule.title,
        "text": rule.text,
        "source": rule.source,
        "versions": rule.since,
        "decides": rule.decides,
        "cases": list(entry.cases),
        "mutants": list(entry.mutants),
    }


def _print_one(entry: Entry) -> None:
    rule = entry.rule
    click.echo(rule.slug)
    for line in rule.text.splitlines():
        click.echo(f"  {line}".rstrip())
    click.echo()
    for name, words in (
        ("source", rule.source),
        ("versions", rule.since),
        ("kind", "decides: other rules ask it" if rule.decides else "acts: a step of the coordinator"),
        ("mutants", ", ".join(entry.mutants) or "none replaces it"),
        ("cases", ", ".join(entry.cases) or "none is about it"),
    ):
        click.echo(wrapped(f"  {name:<9} ", words))


def _print_index(entries: list[Entry]) -> None:
    part = ""
    for entry in entries:
        rule = entry.rule
        if rule.part != part:
            click.echo(("\n" if part else "") + rule.part)
            part = rule.part
        click.echo(wrapped("  ", rule.slug))
        click.echo(wrapped("      ", rule.title))
        checked = [counted(len(entry.cases), "case")] if entry.cases else []
        checked += [f"mutants: {', '.join(entry.mutants)}"] if entry.mutants else []
        click.echo(wrapped("      ", "; ".join([rule.since, rule.source, *checked])))
