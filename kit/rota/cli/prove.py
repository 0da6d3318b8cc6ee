"""`rota prove`: the Z3 obligations, a line each or one for a group, with counterexamples in names."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli import completing
from rota.cli.keeping import write_files
from rota.cli.options import takes
from rota.cli.prove_options import OPTIONS, ProveOptions
from rota.cli.verb import REPORTING, Example, Verb

SECTIONS = {
    "What to ask": ("--without", "--negative", "--cross-check"),
    "How to ask": ("--timeout", "--workers", "--seed", "--tactic"),
    "What to report": ("--list", "--verbose", "--smt2", *REPORTING),
}

EXAMPLES = (
    Example("rota prove", "All of it; some minutes."),
    Example("rota prove voting.vote-is-unique -v", "One obligation, with its sentence.", code=0),
    Example("rota prove voting --list", "Name what is proved of the vote; ask nothing.", code=0),
    Example("rota prove voting --negative", "The planted mistakes instead: each must be refuted."),
)


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completing.obligations)
@click.option("--list", "only_list", is_flag=True, help="Name the obligations and what they say; run none.")
@click.option("--without", metavar="ASSUMPTION",
              help="Drop it wherever it is assumed, and show what fails then.")  # fmt: skip
@click.option("--negative", is_flag=True,
              help="Ask the planted mistakes instead: each must be refuted.")  # fmt: skip
@click.option("--smt2", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write each question there, in SMT-LIB 2.")  # fmt: skip
@takes("options", ProveOptions, *OPTIONS)
@click.pass_context
def prove(
    ctx: click.Context,
    /,
    names: tuple[str, ...],
    only_list: bool,
    without: str | None,
    negative: bool,
    smt2: Path | None,
    options: ProveOptions,
) -> None:
    """Prove what holds for any number of members, and refute what must not hold.

    NAME selects an obligation, or all under it: `rota prove voting`, `rota prove voting.counters`.

    Exit 0 if all are as expected, 1 if one is not or if its assumptions contradict each other, 3 if Z3
    gave up on one, 5 if NAME selects nothing.
    """
    from rota.cli.prove_plan import listing, plan, questions

    items = plan(names, without, negative)
    if smt2 is not None:
        write_files(questions(items, smt2))
    if only_list:
        for line in listing(items, options.verbose):
            click.echo(line)
        return
    from rota.cli.prove_run import Proving

    kind = "-negative" if negative else "-without" if without is not None else ""
    ctx.exit(Proving(items, options, f"prove{kind}.json").run())
