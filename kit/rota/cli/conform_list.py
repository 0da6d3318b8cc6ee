"""`rota conform --list` and `--show`: the catalogue of cases and probes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rota.conformance.catalogue import select
from rota.conformance.dialogues.script import Case, Script, span
from rota.report.format import width, wrapped
from rota.report.table import Column, Table
from rota.spec import MENDS, RULES


def print_scripts(scripts: Sequence[Script], show: str | None) -> None:
    """Print the catalogue, or what the selector `show` names of it, in full. Errors: UnknownCase."""
    if show is None:
        longest = max(len(script.id) for script in scripts)
        ids = Column("case or probe", min(longest, width() - len("SHOULD") - 2), left=True, gap=0)
        table = Table([ids, Column("level", len("SHOULD"), left=True, gap=2)])
        click.echo(table.head())
        for script in scripts:
            click.echo(table.row({"case or probe": script.id, "level": _kind(script)}))
            click.echo(wrapped("    ", script.sentence))
            if wants := _target(script):
                click.echo(wrapped("    ", f"Needs {wants}."))
        return
    for script in select(scripts, [show]):
        click.echo(f"{script.id} ({_kind(script)})")
        for name, words in _about(script):
            click.echo(wrapped(f"  {name:<12} ", words))


def _kind(script: Script) -> str:
    return script.level.value if isinstance(script, Case) else "probe"


def _target(script: Script) -> str:
    """What else than one broker that runs the target has to be."""
    if script.brokers == 1:
        return f"a target that can be restarted ({script.restarts})" if script.restarts else ""
    ends = f", one of which can be ended ({script.restarts})" if script.restarts else ""
    return f"a cluster of {script.brokers} brokers{ends}"


def _about(script: Script) -> list[tuple[str, str]]:
    needs = ", ".join(f"{api} v{span(*versions)}" for api, versions in script.needs.items())
    rule = script.rule if isinstance(script, Case) else ""
    mended = script.otherwise if isinstance(script, Case) else None
    settings = ", ".join(f"{name}={value}" for name, value in script.settings.items())
    words = (
        ("requirement" if rule else "shows", script.sentence),
        ("rule", f"{rule}: {RULES[rule].title}" if rule in RULES else rule),
        ("source", script.source),
        ("needs", needs or "any version"),
        ("target", _target(script)),
        ("settings", settings),
        ("takes", f"about {script.seconds:g} s"),
        ("Kafka 3.x", script.older),
        ("rota mends", mended.sentence if mended is not None and mended.switch in MENDS else ""),
    )
    return [(name, text) for name, text in words if text]
