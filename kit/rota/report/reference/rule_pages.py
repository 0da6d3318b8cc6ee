"""The index of rules: every rule of the spec, part by part, and who checks it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rota.report.matrix import Row, mutants_of_clients, rows_of_the_spec
from rota.report.reference.claims import guarding
from rota.report.reference.markdown import codes, link, links, opening, paragraph, table

ABOUT = """{rules} rules in {parts} parts. A rule is one pure function in `model/rota/spec`, found by its
slug, `part.name`; `rota rules SLUG` shows one in full. Those marked *decides* are asked by other rules.
Mutants are the rule with a mistake in it, each with the property that finds it first; bugs are mistakes
planted in rota's coordinator, found by comparing it with the spec; cases are dialogues of the conformance
kit."""


CLIENTS = """They replace no rule but a kind of client, each with one habit changed."""


def lines() -> Iterator[str]:
    """The page."""
    rows = list(rows_of_the_spec().values())
    parts = {part: list(some) for part, some in groupby(rows, key=lambda row: row.rule.part)}
    yield from opening("Rules", ABOUT.format(rules=len(rows), parts=len(parts)))
    for part, some in parts.items():
        yield f"- {link(part)}: {links(row.rule.slug for row in some)}"
    for part, some in parts.items():
        yield from ("", f"## {part}", "", about(some))
        for row in some:
            yield from _rule(row, guarding().get(row.rule.slug, ()))
    if mutants_of_clients():
        yield from _clients()


def _clients() -> Iterator[str]:
    """The mutants of clients, kind by kind."""
    clients = mutants_of_clients()
    yield from ("", "## mutants of clients", "")
    yield from paragraph(CLIENTS)
    yield from table(
        ("kind", "mutant", "mistake", "found by", "seen in"),
        (
            (one.slug, f"`{one.name}`", one.meaning, link(one.killer, "properties.md"), one.seen_in)
            for one in clients
        ),
    )


def about(rows: Sequence[Row]) -> str:
    """What a part is about: the first paragraph of its module."""
    module = sys.modules[inspect.unwrap(rows[0].rule.function).__module__]
    first, _, _ = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
    return first


def _rule(row: Row, properties: Sequence[str]) -> Iterator[str]:
    rule = row.rule
    yield from ("", f"### {rule.slug}", "", f"{'*Decides.* ' if rule.decides else ''}{rule.title}", "")
    yield from facts(row, properties, "properties.md")
    if row.cases:
        yield f"- cases: {codes(row.cases)}"


def facts(row: Row, properties: Sequence[str], page: str) -> Iterator[str]:
    """What is known of a rule beside its words and cases. page: where properties are."""
    known: Mapping[str, str] = {
        "versions": row.rule.since,
        "source": row.rule.source,
        "properties": links(properties, page),
        "mutants": ", ".join(f"`{one.name}` ({link(one.killer, page)})" for one in row.mutants),
        "found by dialogues": ", ".join(
            f"`{one.name}` ({one.configuration}: {one.killer})" for one in row.by_dialogues
        ),
        "fires only on": row.odd,
        "bugs": codes(bug.name for bug in row.bugs),
    }
    yield from (f"- {name}: {words}" for name, words in known.items() if words)
