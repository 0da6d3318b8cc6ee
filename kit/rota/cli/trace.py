"""`rota trace`: show the file of a trace in many forms, or replay it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rota.cli import trace_show
from rota.cli.errors import HOLDS, VIOLATED, UsageError, one_line
from rota.cli.keeping import write_files
from rota.cli.trace_file import load, reproduce
from rota.cli.trace_forms import FORMS, shown
from rota.report.format import coloured, counted, width
from rota.trace import ReplayError, Trace, text


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(list(FORMS)), default="text", show_default=True,
              help="How to show it.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH",
              help="Write what --as shows to this file, and print its name. A page (html) goes beside FILE "
                   "where stdout is a terminal.")  # fmt: skip
@click.option("--replay", is_flag=True, help="Follow it through the system that it came from.")
@click.option("--show", "expressions", multiple=True, metavar="EXPR",
              help="What this is in every state along it, in the language of `rota check --reach`, such as "
                   "'coordinator.group.state'; repeatable.")  # fmt: skip
@click.option(
    "--system", metavar="MODULE:NAME", help="This code from outside of rota may run, to follow the trace."
)
@click.pass_context
def trace(
    ctx: click.Context,
    /,
    file: Path,
    form: str,
    out: Path | None,
    replay: bool,
    expressions: tuple[str, ...],
    system: str | None,
) -> None:
    """Show the trace in FILE, or replay it.

    A replay exits 0 if the system does every step and the last one contradicts the property as the file
    says, and 1 with the first step that differs.
    """
    loaded = load(file)
    if replay or expressions:
        ctx.exit(_replayed(loaded, system, expressions))
    if form == "html" and out is None and _to_a_terminal():
        out = file.with_suffix(FORMS[form].suffix)
    if out is not None:
        _written(loaded, form, system, file, out)
    elif form == "text":
        click.echo(text(loaded, width()), nl=False)
    else:
        click.echo(shown(loaded, form, system), nl=False)


def _to_a_terminal() -> bool:
    """Whether what is printed is read by a person, who would not read a page like that."""
    return sys.stdout.isatty()


def _written(loaded: Trace, form: str, system: str | None, file: Path, out: Path) -> None:
    """Put it into a file. Errors: UsageError."""
    if out.exists() and file.samefile(out):
        raise UsageError(f"--out {out} is the trace itself; name another file")
    write_files([(out, shown(loaded, form, system))])
    click.echo(f"{form}: {out}")


def _replayed(loaded: Trace, system: str | None, expressions: Sequence[str]) -> int:
    """Say whether the trace is reproduced, or what is asked of its states; the exit code."""
    try:
        run = reproduce(loaded, system)
    except ReplayError as error:
        differs = one_line(f"{loaded.property_name} is not reproduced; {error}")
        click.echo(f"{coloured('differs', 'violated')}: {differs}")
        return VIOLATED
    if expressions:
        for line in trace_show.lines(loaded, trace_show.columns(run, expressions)):
            click.echo(line)
        return HOLDS
    name = one_line(loaded.property_name)
    click.echo(f"{coloured('reproduced', 'holds')}: {name} after {counted(len(run.path), 'step')}")
    return HOLDS
