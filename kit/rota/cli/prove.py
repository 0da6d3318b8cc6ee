"""`rota prove`: the Z3 obligations, a line each or one for a group, with counterexamples in names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rota.cli.errors import HOLDS, UNDECIDED, VIOLATED

EXIT_CODES = {"holds": HOLDS, "violated": VIOLATED, "undecided": UNDECIDED}

TACTICS = ("simple", "solve-eqs", "old-arith")
"""Those of `rota.proofs.TACTICS` with a name; a test compares."""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "only_list", is_flag=True, help="Name the obligations and what they say; run none.")
@click.option("-v", "--verbose", is_flag=True,
              help="Each by itself, with its sentence; in a list also what it assumes.")  # fmt: skip
@click.option("--without", metavar="ASSUMPTION",
              help="Drop it wherever it is assumed, and show what fails then.")  # fmt: skip
@click.option("--negative", is_flag=True,
              help="Ask the planted mistakes instead: each must be refuted.")  # fmt: skip
@click.option("--cross-check", is_flag=True,
              help="Ask everything again with another seed and tactic; answers must agree.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For Z3.")
@click.option("--tactic", type=click.Choice(TACTICS), help="For Z3.  [default: what the claim names]")
@click.option("--timeout", type=click.FloatRange(0.001), default=60.0, show_default=True, metavar="SECONDS",
              help="For each question to Z3.")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), metavar="N",
              help="Processes.  [default: one for each core, 8 at most]")  # fmt: skip
@click.option("--smt2", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write each question there, in SMT-LIB 2.")  # fmt: skip
@click.option("--json", "json_only", is_flag=True, help="One JSON object on stdout.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rota-out"),
              show_default=True, help="Where the report goes.")  # fmt: skip
@click.pass_context
def prove(
    ctx: click.Context, /, names: tuple[str, ...], only_list: bool, smt2: Path | None, **options: Any
) -> None:
    """Prove what holds for any number of members, and refute what must not hold.

    NAME selects an obligation, or all under it: `rota prove voting`, `rota prove voting.counters`.

    Exit 0 if all are as expected, 1 if one is not or if its assumptions contradict each other, 3 if Z3
    gave up on one, 5 if NAME selects nothing.
    """
    from rota.cli.prove_plan import listing, plan, write_smt2

    without, negative = options.pop("without"), options.pop("negative")
    items = plan(names, without, negative)
    if smt2 is not None:
        write_smt2(items, smt2)
    if only_list:
        for line in listing(items, options["verbose"]):
            click.echo(line)
        return
    from rota.cli.prove_run import Options, Proving

    kind = "-negative" if negative else "-without" if without is not None else ""
    run = Proving(items, Options(report=f"prove{kind}.json", **options))
    ctx.exit(EXIT_CODES[run.run()])
