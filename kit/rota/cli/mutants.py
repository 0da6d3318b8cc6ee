"""`--list-mutants`: the bugs that can be planted, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from rota.mutants import Mutant
from rota.report.table import Column, Table, names

ABOUT = "what it does, and where it dies"

FIELDS = ("name", "slug", "meaning", "configuration", "killer", "seen_in")


def list_mutants(mutants: Mapping[str, Mutant], as_json: bool) -> None:
    """Print each with what it does, what it replaces and what finds it."""
    if as_json:
        objects = [{field: getattr(one, field) for field in FIELDS} for one in mutants.values()]
        click.echo(json.dumps({"schema": 1, "verdict": "ok", "mutants": objects}, indent=2))
        return
    table = Table([names("mutant", mutants, gap=0), Column(ABOUT, left=True, gap=2, words=True)])
    click.echo(table.head())
    for one in mutants.values():
        detail = f"replaces {one.slug}; dies in {one.configuration} by {one.killer}"
        seen = f"; seen in {one.seen_in}" if one.seen_in else ""
        click.echo(table.row({"mutant": one.name, ABOUT: one.meaning}))
        click.echo(table.row({"mutant": "", ABOUT: detail + seen}))
