"""`rota conform --clients`: real consumers on a target, and what the checker of histories says to it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from rota.cli.conform_target import see_what_is_there
from rota.cli.errors import NOTHING, UNDECIDED, UsageError
from rota.cli.keeping import keep, try_files
from rota.cli.streams import ascii_json
from rota.clients.judging import (
    SETTINGS,
    Outcome,
    UnknownScenario,
    exit_code,
    installed,
    judge,
    lacking,
    selected,
)
from rota.clients.performances import AT_ONCE, Case
from rota.clients.scenarios import SCENARIOS
from rota.conformance.dialogues.failures import Undecidable
from rota.conformance.results import Verdict
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Target
from rota.report import clients
from rota.report.format import counted, wrapped

FORMS = {"json": clients.as_json, "junit": clients.as_junit}
"""Kinds of reports that there are of clients."""


def show_clients(
    target: Target,
    selectors: Sequence[str],
    patience: float,
    out: Path,
    reports: Sequence[tuple[str, Path]],
    as_object: bool,
    quiet: bool,
) -> int:
    """Play what is selected with the clients that are installed, print, and write; the exit code."""
    for kind, _ in reports:
        if kind not in FORMS:
            raise UsageError(f"there is no {kind} report of clients; there are {', '.join(FORMS)}")
    try:
        chosen = selected(selectors)
    except UnknownScenario as error:
        raise UsageError(str(error)) from error
    if not chosen:
        raise UsageError("no performance has all of what is named; name fewer", NOTHING)
    if not installed():
        cause = "no client library is installed"
        raise UsageError(f"{cause}; install confluent-kafka (rota[targets]) or kafka-python", UNDECIDED)
    try_files([out / "clients.txt", *(path for _, path in reports)])
    with closing(target):
        target = see_what_is_there(target, patience)
        began = time.monotonic()
        outcomes = _played(target, chosen, patience, quiet or as_object)
    seen = clients.Seen(target.name, outcomes, time.monotonic() - began, exit_code(outcomes))
    files = {path: FORMS[kind](seen) for kind, path in reports} | clients.histories(seen, out)
    if as_object:
        click.echo(ascii_json(clients.as_json(seen)), nl=False)
    else:
        for path in () if quiet else files:
            click.echo(f"report: {path}")
        click.echo(seen.line())
    return keep(files, seen.code)


def print_scenarios() -> None:
    """Every scenario, and what is done in it."""
    for name, scenario in SCENARIOS.items():
        click.echo(name)
        click.echo(wrapped("    ", " ".join((scenario.steps.__doc__ or "").split())))


def _played(target: Target, chosen: Sequence[Case], patience: float, silent: bool) -> list[Outcome]:
    """The outcomes, each told when it is there."""
    try:
        running = target.start(SETTINGS)
    except NotStarted as error:
        raise UsageError(
            f"target {target.name} does not start: {error}; {error.remedy}", UNDECIDED
        ) from error
    try:
        why = lacking(running.address, patience)
        if why:
            found = iter([Outcome(case, Verdict.UNSUPPORTED, (why,)) for case in chosen])
        else:
            address = f"{running.address[0]}:{running.address[1]}"
            found = judge(address, chosen, min(AT_ONCE, 4 * (os.cpu_count() or 1)))
        if silent:
            return list(found)
        what = counted(len(chosen), "performance")
        groups = ", ".join(dict.fromkeys(case.group for case in chosen))
        click.echo(f"rota conform --clients: target {target.name}, {what} by {groups}")
        table = clients.table([case.scenario for case in chosen])
        click.echo(table.head())
        outcomes = []
        for outcome in found:
            outcomes.append(outcome)
            click.echo(table.row(clients.row(outcome)))
            for line in clients.explained(outcome) if not why else ():
                click.echo(line)
        if why:
            click.echo(f"unsupported: {why}")
        return outcomes
    except Undecidable as error:
        raise UsageError(f"{target.name}: {error}; see what runs there", UNDECIDED) from error
    finally:
        running.stop()
