"""`rota explain`: why groups rebalanced, what it cost, and what to change."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli import completing
from rota.cli.explain_options import OPTIONS, ExplainOptions
from rota.cli.options import takes
from rota.cli.validate_options import OF_TABLES, TableOptions
from rota.cli.verb import Example, Verb

SECTIONS = {
    "What to read": ("--format", "--time-format", "--time-zone", "--layout", "--skew", "--port", "--follow"),
    "Which rebalances": ("--group", "--since", "--until", "--unordered", "--most"),
    "A coordinator that runs": ("--bootstrap", "--command-config", "--timeout"),
    "How long to watch": ("--seconds",),
    "Tables of many groups": ("--engine", "--out", "--master", "--memory", "--buckets"),
    "What to report": ("--report", "--json", "--quiet"),
}

EXAMPLES = (
    Example("rota explain server.log", "Every rebalance that a broker's log tells of, the costliest cause "
                                       "first."),
    Example("rota explain /var/log/kafka --group orders --since 3h --report html=orders.html",
            "One group since three hours ago, and a page with a timeline of each incident."),
    Example("rota explain - --json", "What another command prints, as `kubectl logs`; one JSON object."),
    Example("rota explain server.log --follow", "Go on reading what is written, and tell each incident as "
                                                "it ends."),
    Example("rota explain --bootstrap localhost:9092 --group orders",
            "Ask the coordinator: what can be known of a group that is stuck now."),
)  # fmt: skip


@click.command("explain", cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=str))
@takes("options", ExplainOptions, *OPTIONS)
@takes("tables", TableOptions, *OF_TABLES)
@click.option("--report", "reports", multiple=True, metavar="html=PATH",
              shell_complete=completing.pages_of_accounts,
              help="A page with a timeline; repeatable.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only the first sentence and the verdict.")
@click.pass_context
def explain(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    options: ExplainOptions,
    tables: TableOptions,
    reports: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Explain in plain words why groups rebalanced, what it cost, and what to change.

    PATH is a broker's or a client's log, a recording, a capture, a partition of the offsets topic, or a
    folder of them; `-` is standard input, and kafka://HOST:PORT the offsets topic of a cluster that runs.
    Packed and rotated files are read as they are. What a source does not tell is said to be not visible in
    it.

    With --out the accounts of many groups are written as tables, those of `rota validate --out`, in this
    process or on Spark; the costliest are told.

    Exit 0 if an account could be given, also of rebalances that should not be; 3 if nothing answers at
    --bootstrap, 5 if nothing about groups was found.
    """
    tables.checked()
    options.checked()
    if tables.out is not None:
        from rota.cli.explain_tables import ExplainTables

        _refuse_with_tables(reports, options)
        ctx.exit(ExplainTables(paths, options, tables, as_json, quiet).run())
    from rota.cli.explain_run import Run

    ctx.exit(Run(paths, options, [Path(one) for one in _pages(reports)], as_json, quiet).run())


def _refuse_with_tables(reports: tuple[str, ...], options: ExplainOptions) -> None:
    """Errors: UsageError for what does not go with tables."""
    from rota.cli.errors import UsageError

    given = {"--report": reports, "--follow": options.follow, "--bootstrap": options.bootstrap}
    if option := next((one for one, value in given.items() if value), None):
        raise UsageError(f"{option} does not go with tables; leave out one of {option} and --out")


def _pages(reports: tuple[str, ...]) -> list[str]:
    """Where pages go. Errors: UsageError."""
    from rota.cli.errors import UsageError

    for one in reports:
        kind, _, path = one.partition("=")
        if kind != "html" or not path:
            raise UsageError(f"cannot read the report {one!r}; write html=PATH, or --json for programs")
    return [one.partition("=")[2] for one in reports]
