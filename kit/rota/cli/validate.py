"""`rota validate`: whether the protocol was kept in what was recorded."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli import completing
from rota.cli.options import takes
from rota.cli.validate_options import OF_TABLES, OPTIONS, TableOptions, ValidateOptions
from rota.cli.verb import Example, Verb

SECTIONS = {
    "What to read": (
        "--format",
        "--time-format",
        "--time-zone",
        "--layout",
        "--skew",
        "--port",
        "--command-config",
    ),
    "What to judge": ("--group", "--since", "--until", "--unordered", "--fresh", "--durable"),
    "By what": ("--profile", "--set", "--started", "--forgive", "--late"),
    "Tables of many groups": ("--engine", "--out", "--master", "--memory", "--buckets"),
    "What to report": ("--report", "--json", "--quiet"),
}

EXAMPLES = (
    Example("rota validate night.jsonl", "A recording: every answer, held against the spec."),
    Example("rota validate /var/log/kafka __consumer_offsets-7", "A broker's log and a partition, together."),
    Example("rota validate night.jsonl --profile rota --json",
            "By what rota's own server promises beyond Kafka; one JSON object."),
    Example("rota validate lake/ --engine spark --unordered --out verdicts",
            "A table of many groups on Spark, and what became of each as Parquet."),
)  # fmt: skip


@click.command("validate", cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=str))
@takes("options", ValidateOptions, *OPTIONS)
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="junit|html|md|verdicts=PATH",
    shell_complete=completing.kinds_of_report,
    help="A file beside what is printed; repeatable.",
)
@takes("tables", TableOptions, *OF_TABLES)
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only the verdict.")
@click.pass_context
def validate(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    options: ValidateOptions,
    reports: tuple[str, ...],
    tables: TableOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge what was recorded of groups: whether the protocol was kept, and where it was not.

    PATH is a recording, a capture, a broker's log, a partition of the offsets topic, or a folder of them;
    `-` is standard input, and kafka://HOST:PORT the offsets topic of a cluster that runs. Of frames every
    answer is judged by the spec, in any order that the times allow, from where a group's state is known. Logs
    and the offsets topic are audited. What a source can never show is listed as not checked.

    With --out what became of each group is written as tables, and the same command goes on where it was
    ended, or judges what is new.

    Exit 0 if it holds, 1 if it is violated, 3 if something was undecided or nothing could be judged, 5 if
    nothing about groups was found.
    """
    tables.checked()
    if tables.out is None:
        from rota.cli.validate_run import Run

        ctx.exit(Run(paths, options, _reports(reports), as_json, quiet).run())
    from rota.cli.validate_tables import TablesRun

    ctx.exit(TablesRun(paths, options, _reports(reports), as_json, quiet, tables=tables).run())


def _reports(given: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Kinds of reports and where they go. Errors: UsageError."""
    from rota.cli.errors import UsageError

    found = [one.partition("=") for one in given]
    for kind, _, path in found:
        if kind not in ("junit", "html", "md", "verdicts") or not path:
            raise UsageError(
                f"cannot read --report {kind}; write junit=PATH, html=PATH, md=PATH or verdicts=PATH"
            )
    return [(kind, Path(path)) for kind, _, path in found]
