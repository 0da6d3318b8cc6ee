"""`rota conform --list` and `--show`: the catalogue of cases and probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from rota.conformance.catalogue import select
from rota.conformance.dialogues.script import Case, Script, span
from rota.conformance.rules import BY_NAME
from rota.report.format import width, wrapped
from rota.report.table import Column, Table
from rota.spec import MENDS


def print_scripts(scripts: Sequence[Script], show: str | None) -> None:
    """Print the catalogue, or what the selector `show` names of it, in full. Errors: UnknownCase."""
    if show is None:
        families = _families(scripts)
        titles = [_title(family) for family in families]
        longest = max(len(title) for title in titles)
        ids = Column("case or probe", min(longest, width() - len("SHOULD") - 2), left=True, gap=0)
        table = Table([ids, Column("level", len("SHOULD"), left=True, gap=2)])
        click.echo(table.head())
        for title, family in zip(titles, families, strict=True):
            click.echo(table.row({"case or probe": title, "level": _kind(family[0])}))
            click.echo(wrapped("    ", family[0].sentence))
            if wants := _target(family[0]):
                click.echo(wrapped("    ", f"Needs {wants}."))
        return
    for family in _families(select(scripts, [show])):
        click.echo(f"{_title(family)} ({_kind(family[0])})")
        for name, words in (*_about(family[0]), *_cases(family)):
            click.echo(wrapped(f"  {name:<12} ", words))


def _families(scripts: Sequence[Script]) -> list[list[Script]]:
    """The scripts, those of one family together at the place of the first; any other one is alone."""
    found: dict[str, list[Script]] = {}
    for script in scripts:
        found.setdefault(_family(script) or script.id, []).append(script)
    return list(found.values())


def _family(script: Script) -> str:
    return script.family if isinstance(script, Case) else ""


def _title(family: Sequence[Script]) -> str:
    """The id of one, and of several that of their family with their number."""
    first = family[0]
    return first.id if len(family) == 1 else f"{_family(first)} ({len(family)} cases)"


def _cases(family: Sequence[Script]) -> list[tuple[str, str]]:
    """The cases of a family, each with its situation; of a single case that."""
    cases = [script for script in family if isinstance(script, Case) and script.family]
    if len(family) == 1:
        return [
            (name, text)
            for one in cases
            for name, text in (("family", one.family), ("situation", one.situation))
        ]
    return [("" if number else "cases", f"{one.id}: {one.situation}") for number, one in enumerate(cases)]


def _kind(script: Script) -> str:
    return script.level.value if isinstance(script, Case) else "probe"


def _target(script: Script) -> str:
    """What else than one broker that runs the target has to be."""
    if script.brokers == 1:
        after = f" with {_of(script.settings_after)}" if script.settings_after else ""
        return f"a target that can be restarted{after} ({script.restarts})" if script.restarts else ""
    ends = f", one of which can be ended ({script.restarts})" if script.restarts else ""
    return f"a cluster of {script.brokers} brokers{ends}"


def _of(settings: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _about(script: Script) -> list[tuple[str, str]]:
    needs = ", ".join(f"{api} v{span(*versions)}" for api, versions in script.needs.items())
    rule = script.rule if isinstance(script, Case) else ""
    mended = script.otherwise if isinstance(script, Case) else None
    words = (
        ("requirement" if rule else "shows", script.sentence),
        ("rule", f"{rule}: {BY_NAME[rule].title}" if rule in BY_NAME else rule),
        ("source", script.source),
        ("needs", needs or "any version"),
        ("target", _target(script)),
        ("settings", _of(script.settings)),
        ("takes", f"about {script.seconds:g} s"),
        ("Kafka 3.x", script.older),
        ("rota mends", mended.sentence if mended is not None and mended.switch in MENDS else ""),
    )
    return [(name, text) for name, text in words if text]
