"""`rota simulate --histories`: recordings of many groups as real clients make them, and what is true."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from rota.cli.errors import UsageError
from rota.cli.keeping import try_files
from rota.report.format import counted, wrapped

MOST_COPIES = 100


@dataclass(frozen=True)
class HistoryOptions:
    """As given. histories: None: walks are asked for; bugs: the share of servers with one."""

    histories: int | None = None
    bugs: float = 0.0
    copies: int = 1
    processes: int = 1

    def checked(self) -> None:
        """Errors: UsageError for options that need others."""
        given = {"--bugs": self.bugs, "--copies": self.copies > 1, "--processes": self.processes > 1}
        if self.histories is None and (name := next((one for one, value in given.items() if value), None)):
            raise UsageError(f"{name} is for recordings of groups; say how many with --histories")


OF_HISTORIES = (
    click.option("--histories", type=click.IntRange(min=1), metavar="N",
                 help="No walks: play N groups of clients with clocks, and write their recordings to --out."),
    click.option("--bugs", type=click.FloatRange(0.0, 1.0), default=0.0, metavar="SHARE",
                 help="The share of these groups whose server has a planted bug."),
    click.option("--copies", type=click.IntRange(1, MOST_COPIES), default=1, metavar="K",
                 help="Write each K times, under other names."),
    click.option("--processes", type=click.IntRange(min=1), default=1, metavar="P",
                 help="Processes that play."),
)  # fmt: skip
"""The options of `HistoryOptions`."""


def write_histories(options: HistoryOptions, seed: int, out: Path, as_json: bool, quiet: bool) -> None:
    """Play and write. Errors: UsageError."""
    from rota.population.files import RECORDINGS, Wanted, write
    from rota.population.truth import REPORT, TRUTH

    assert options.histories is not None, "histories are asked for"
    try_files([out / REPORT])
    wanted = Wanted(options.histories, seed, options.bugs, options.copies)
    written = write(wanted, out, options.processes)
    told = written.as_json()
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    total = f"{counted(written.events, 'event')} of {counted(written.members, 'member')}"
    if not quiet:
        share = told["heartbeats"]
        beats = "" if share is None else f"; {share:.1%} of requests are heartbeats"
        groups = f"{counted(written.histories, 'group')}, {written.distinct:,} of them distinct"
        planted = f"a bug behind {counted(written.planted, 'group')}"
        click.echo(wrapped("histories: ", f"{groups}: {total}{beats}"))
        click.echo(wrapped("planted: ", f"{planted}; it shows in the answers of {written.visible:,}"))
        click.echo(f"recordings: {out / RECORDINGS}")
        click.echo(f"truth: {out / TRUTH}")
    click.echo(f"written: {counted(written.histories, 'history', 'histories')}")
