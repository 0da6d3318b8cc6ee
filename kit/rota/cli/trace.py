"""`rota trace`: show the file of a trace, convert it, or replay it."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli.check_system import use_current_directory
from rota.cli.errors import HOLDS, VIOLATED, UsageError, one_line
from rota.report.format import coloured, counted, width
from rota.trace import ReplayError, Run, Trace, TraceFileError, UntrustedFactory, dumps, read, rebuild, text
from rota.trace import replay as follow


def load(path: Path) -> Trace:
    """Read a trace file. Errors: UsageError with the line and the cause."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; give the path of a trace file") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is no UTF-8, so this is no trace; {REMEDY}") from None
    except TraceFileError as error:
        raise UsageError(f"{path} line {error.line}: {error.cause}; {REMEDY}") from None


REMEDY = "let `rota check` write it again"


def reproduce(trace: Trace, trusted: str | None) -> Run:
    """Replay. Errors: ReplayError; UsageError where the system cannot be built."""
    if trusted is not None:
        use_current_directory()
    try:
        system = rebuild(trace, trusted={trusted} if trusted else ())
    except UntrustedFactory as error:
        raise UsageError(f"{error}; allow that with --system {error.factory}") from None
    except Exception as error:  # whatever the factory, or the settings in the file, make of it
        cause = f"{type(error).__name__}: {error}"
        raise UsageError(f"cannot build the system of this trace ({cause}); {REMEDY}") from error
    return follow(trace, system)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(["text", "jsonl"]), default="text", show_default=True,
              help="How to show it.")  # fmt: skip
@click.option("--replay", is_flag=True, help="Follow it through the system that it came from.")
@click.option(
    "--system", metavar="MODULE:NAME", help="With --replay: this code from outside of rota may run."
)
@click.pass_context
def trace(ctx: click.Context, /, file: Path, form: str, replay: bool, system: str | None) -> None:
    """Show the trace in FILE, or replay it.

    A replay exits 0 if the system does every step and the last one contradicts the property as the file
    says, and 1 with the first step that differs.
    """
    loaded = load(file)
    if not replay:
        click.echo(text(loaded, width()) if form == "text" else dumps(loaded), nl=False)
        return
    try:
        run = reproduce(loaded, system)
    except ReplayError as error:
        differs = one_line(f"{loaded.property_name} is not reproduced; {error}")
        click.echo(f"{coloured('differs', 'violated')}: {differs}")
        ctx.exit(VIOLATED)
    name = one_line(loaded.property_name)
    click.echo(f"{coloured('reproduced', 'holds')}: {name} after {counted(len(run.path), 'step')}")
    ctx.exit(HOLDS)
