"""A run of `rota validate` that leaves tables: in this process, or by tasks on Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.cli.check_spark import OnSpark, SparkOptions, context_at_hand, refuse_no_master
from rota.cli.errors import UsageError, say
from rota.cli.extras import EXTRAS
from rota.cli.keeping import try_files, write_files
from rota.cli.validate_options import SPARK, TableOptions
from rota.cli.validate_run import Judged, Run
from rota.explore.spark import memory
from rota.explore.spark.archive import digest
from rota.reading import ReadOptions
from rota.validate.account import Account
from rota.validate.terms import Terms

if TYPE_CHECKING:
    from rota.histories.results import Results
    from rota.histories.tasks import Runner

EXTRA = next(one for one in EXTRAS if one.name == SPARK)

SUMMARY = "summary.json", "summary.txt", "summary.svg"


@dataclass
class TablesRun(Run):
    """tables: options of what is left."""

    tables: TableOptions = field(default_factory=TableOptions)
    _found: Results | None = None

    @property
    def out(self) -> Path:
        """The folder of the tables, as tasks find it."""
        assert self.tables.out is not None, "there are tables"
        return self.tables.out.absolute()

    def judged(self, terms: Terms, options: ReadOptions) -> Judged:
        """Read all, judge it and write the tables. Errors: ReadingError, UsageError."""
        if find_spec("pyarrow") is None:
            raise UsageError(f"tables are written with pyarrow; {EXTRA.install}")
        from rota.histories.manifest import OtherRun
        from rota.histories.pipeline import Pipeline
        from rota.histories.plan import Plan, learned_within, rows_within
        from rota.histories.results import results

        try_files([self.out / name for name in SUMMARY])
        with self._runner() as (runner, share):
            plan = Plan(self.out, terms, options, 1, 1, rows_within(share), learned_within(share))
            pipeline = Pipeline(plan, self._settings(terms, options), runner, self._say, self.tables.buckets)
            try:
                known = pipeline.tables(self.paths)
            except OtherRun as error:
                raise UsageError(str(error)) from error
            self.tally = pipeline.tally
            found = self._found = results(plan, known, self.tally)
        return Judged(found.account, found.compared, found.skews)

    def verdicts(self, account: Account) -> Iterator[str]:
        """What became of each history, a line each, from the tables."""
        from rota.histories.results import verdict_lines

        return (f"{line}\n" for line in verdict_lines(self.out))

    def more(self, account: Account) -> Iterator[str]:
        """What there is of each kind, and where the tables are."""
        from rota.histories.summary import lines

        assert self._found is not None, "it was judged"
        yield from lines(self._found)
        yield f"tables: {self.out}"

    def made(self) -> Judged:
        """As `Run.made`, with a summary. Errors: UsageError."""
        from rota.histories.plots import picture
        from rota.histories.summary import as_json, text

        clusters = super().made()
        assert self._found is not None, "it was judged"
        told = json.dumps(as_json(self._found), indent=2) + "\n", text(self._found), picture(self._found)
        write_files(zip((self.out / name for name in SUMMARY), told, strict=True))
        return clusters

    def _settings(self, terms: Terms, options: ReadOptions) -> dict[str, Any]:
        """By what is judged, as a manifest has it: tables of one folder are by the same."""
        times = {"--since": terms.since, "--until": terms.until}
        read = {"--format": options.format, "--time-format": options.time_format, "--layout": options.layout}
        return {
            "rota's sources": digest(),
            "--profile": self.options.profile,
            "--set": sorted(self.options.settings),
            "--started": sorted(self.options.started),
            "--forgive": self.options.forgive,
            "--late": self.options.late,
            "--fresh": terms.fresh,
            "--durable": terms.durable,
            "--group": terms.group,
            "--unordered": options.unordered,
            "--time-zone": self.options.zone,
            "--skew": sorted(self.options.skews),
            **times,
            **read,
        }

    def _say(self, line: str) -> None:
        if not self.quiet:
            say(line)

    @contextmanager
    def _runner(self) -> Iterator[tuple[Runner, int | None]]:
        """Who does the work, and how many bytes a process that does it may have. Errors: UsageError."""
        whole = self.tables.memory and self.tables.memory << 20
        if self.tables.engine != SPARK:
            from rota.histories.tasks import here

            try:
                with memory.held(whole):
                    yield here, whole
            except memory.NoMemory as error:
                remedy = "give more with --memory; what is done is kept"
                raise UsageError(f"this process needs more than its share of the memory; {remedy}") from error
            return
        refuse_no_master(self.tables.master)
        wanted = OnSpark(SparkOptions(master=self.tables.master), whole)
        with context_at_hand(wanted, self._say) as (context, shares):
            from rota.explore.spark.session import ship
            from rota.histories import on_spark

            ship(context, self._say)
            try:
                on_spark.look_at_workers(context)
            except on_spark.Missing as error:
                raise UsageError(str(error)) from error
            yield on_spark.OnSpark(context, shares.worker), shares.worker
