"""`rota trace`: show the file of a trace in many forms, or replay it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from rota.cli import completing, trace_show
from rota.cli.check_system import parse_settings
from rota.cli.errors import HOLDS, VIOLATED, UsageError, one_line
from rota.cli.keeping import write_files
from rota.cli.options import SETTING, takes
from rota.cli.trace_elsewhere import played
from rota.cli.trace_file import load, reproduce
from rota.cli.trace_forms import FORMS, shown
from rota.cli.trace_systems import Elsewhere
from rota.cli.verb import Example, Verb
from rota.report.format import coloured, counted, width
from rota.spec import PROFILES
from rota.trace import ReplayError, Trace, text


@dataclass(frozen=True)
class _Asked:
    """Where else its actions are played, as typed."""

    profile: str | None = None
    mutant: str | None = None
    without_mutant: bool = False
    settings: tuple[str, ...] = ()

    @property
    def system(self) -> Elsewhere:
        """Errors: UsageError."""
        if self.without_mutant and self.mutant:
            raise UsageError("--mutant and --without-mutant are two systems; name one of them")
        settings = tuple(parse_settings(self.settings).items())
        return Elsewhere(self.profile, self.mutant, self.without_mutant, settings)


ELSEWHERE = (
    click.option("--profile", metavar="|".join(PROFILES), shell_complete=completing.profiles,
                 help="Play its actions under this line of brokers."),
    click.option("--mutant", metavar="NAME", shell_complete=completing.mutants,
                 help="Play its actions with this bug in place of its own."),
    click.option("--without-mutant", is_flag=True, help="Play its actions without the bug that is planted."),
    SETTING,
)  # fmt: skip
"""The options of `_Asked`."""


SECTIONS = {
    "How to show it": ("--as", "--out"),
    "What to ask it": ("--show", "--replay", "--play"),
    "Another system for its actions": ("--profile", "--mutant", "--without-mutant", "--set"),
    "What may run": ("--system",),
}

EXAMPLES = (
    Example("rota trace rota-out/trace-deadlock.jsonl", "In words."),
    Example("rota trace rota-out/trace-deadlock.jsonl --as html", "A page beside it, to step through."),
    Example("rota trace rota-out/trace-deadlock.jsonl --show coordinator.group.state", "A value along it."),
    Example("rota trace rota-out/trace-deadlock.jsonl --without-mutant", "What the spec does instead."),
    Example("rota trace rota-out/trace-deadlock.jsonl --as pytest --out test_it.py", "A regression test."),
    Example("rota trace run.dialogue.txt --play", "A dialogue that was edited, on the spec."),
)


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path), shell_complete=completing.traces)
@click.option("--as", "form", type=click.Choice(list(FORMS)), default="text", show_default=True,
              help="How to show it.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH",
              help="Write what --as shows to this file, and print its name. A page (html) goes beside FILE "
                   "where stdout is a terminal.")  # fmt: skip
@click.option("--replay", is_flag=True, help="Follow it through the system that it came from.")
@click.option("--play", "dialogue", is_flag=True,
              help="FILE is a dialogue: play it on the spec, and mark what differs.")  # fmt: skip
@click.option("--show", "expressions", multiple=True, metavar="EXPR",
              help="What this is in every state along it, in the language of `rota check --reach`, such as "
                   "'coordinator.group.state'; repeatable.")  # fmt: skip
@takes("elsewhere", _Asked, *ELSEWHERE)
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
    dialogue: bool,
    expressions: tuple[str, ...],
    elsewhere: _Asked,
    system: str | None,
) -> None:
    """Show the trace in FILE, or replay it.

    A replay exits 0 if the system does every step and the last one contradicts the property as the file
    says, and 1 with the first step that differs.

    With --profile, --mutant, --without-mutant or --set the same actions are played in another system, up to
    the first step that is not the same there: exit 1 with what is there instead, 0 if all steps are the same.

    With --play FILE is no trace but a dialogue, which may have been edited: exit 1 if the spec, or that of
    --profile, has it otherwise than the file says.
    """
    another = elsewhere.system.asked and not dialogue
    _one_question(ctx, {"--replay": replay, "--play": dialogue, "--show": bool(expressions),
                        "--profile, --mutant, --without-mutant or --set": another})  # fmt: skip
    if dialogue:
        from rota.cli import trace_play  # which brings a server with it: showing a trace needs none

        lines, code = trace_play.played(file, elsewhere.profile)
        click.echo("\n".join(lines))
        ctx.exit(code)
    loaded = load(file)
    if replay or expressions or another:
        ctx.exit(_replayed(loaded, system, expressions, elsewhere.system))
    if form == "html" and out is None and _to_a_terminal():
        out = file.with_suffix(FORMS[form].suffix)
    if out is not None:
        _written(loaded, form, system, file, out)
    elif form == "text":
        click.echo(text(loaded, width()), nl=False)
    else:
        click.echo(shown(loaded, form, system), nl=False)


def _one_question(ctx: click.Context, asked: Mapping[str, bool]) -> None:
    """Errors: UsageError for two questions, and for a form of what is no trace."""
    questions = [name for name, given in asked.items() if given]
    if len(questions) > 1:
        raise UsageError(f"{questions[0]} and {questions[1]} are two questions; ask one at a time")
    given = ctx.get_parameter_source
    forms = [f"--{name}" for name, one in (("as", "form"), ("out", "out"))
             if given(one) is click.core.ParameterSource.COMMANDLINE]  # fmt: skip
    if questions and forms:
        raise UsageError(f"{forms[0]} is for showing the trace, and {questions[0]} asks it; leave one out")


def _to_a_terminal() -> bool:
    """Whether what is printed is read by a person, who would not read a page like that."""
    return sys.stdout.isatty()


def _written(loaded: Trace, form: str, system: str | None, file: Path, out: Path) -> None:
    """Put it into a file. Errors: UsageError."""
    if out.exists() and file.samefile(out):
        raise UsageError(f"--out {out} is the trace itself; name another file")
    write_files([(out, shown(loaded, form, system))])
    click.echo(f"{form}: {out}")


def _replayed(loaded: Trace, system: str | None, expressions: Sequence[str], elsewhere: Elsewhere) -> int:
    """Say whether the trace is reproduced, or what is asked of its run; the exit code."""
    try:
        run = reproduce(loaded, system)
    except ReplayError as error:
        differs = one_line(f"{loaded.property_name} is not reproduced; {error}")
        click.echo(f"{coloured('differs', 'violated')}: {differs}")
        return VIOLATED
    name = one_line(loaded.property_name)
    lines = [f"{coloured('reproduced', 'holds')}: {name} after {counted(len(run.path), 'step')}"]
    code = HOLDS
    if expressions:
        lines = list(trace_show.lines(loaded, trace_show.columns(run, expressions)))
    elif elsewhere.asked:
        lines, code = played(run, elsewhere)
    click.echo("\n".join(lines))
    return code
