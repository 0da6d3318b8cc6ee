"""What `rota validate` takes beside its paths and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.cli import completing
from rota.cli.errors import UsageError, nearly
from rota.cli.options import PROFILE
from rota.cli.source_options import OF_SOURCES, SourceOptions
from rota.reading import ReadOptions
from rota.spec import PROFILES

if TYPE_CHECKING:
    from rota.linearise import Limits
    from rota.validate.terms import Start

FORGIVEN, LATE, RECORDERS = 2.0, 0.15, 0.05
"""Defaults, in seconds: what is forgiven, what cannot be told apart, and what of that is the recorder's."""

TOLD_TO = 0.1
"""Seconds within which a start was that is told with a fraction of a second; else it is one."""


def broker_setting(text: str) -> tuple[str, int]:
    """A setting of the broker as it is given. Errors: UsageError."""
    from rota.cli.conform_target import setting
    from rota.conformance.targets.target import DEFAULTS
    from rota.validate.settings import JUDGED_BY

    return setting(text, {**DEFAULTS, **JUDGED_BY})


@dataclass(frozen=True)
class ValidateOptions(SourceOptions):
    """As given."""

    profile: str = "kafka-4.x"
    group: str = ""
    since: str | None = None
    until: str | None = None
    unordered: bool = False
    fresh: bool = False
    durable: bool = False
    settings: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    forgive: float = FORGIVEN
    late: float = LATE

    def limits(self) -> Limits:
        """What the judge forgives, and what it cannot tell apart beside the recorder's lateness."""
        from rota.validate.terms import LIMITS

        grace, grain = round(self.late - self.lateness, 3), min(LIMITS.grain, self.late)
        return replace(LIMITS, forgives=self.forgive, grace=grace, grain=grain, prompt=not self.forgive)

    @property
    def lateness(self) -> float:
        """Seconds of `late` that are the recorder's."""
        return min(self.late, RECORDERS)

    def times(self) -> tuple[float | None, float | None]:
        """From when on and until when is judged. Errors: UsageError."""
        since, until = self.moments({"--since": self.since, "--until": self.until})
        if since is not None and until is not None and until < since:
            raise UsageError("--until is before --since; give a time after it")
        return since, until

    def reading(self) -> ReadOptions:
        """How sources are read. Errors: UsageError."""
        return replace(super().reading(), unordered=self.unordered)

    def starts(self) -> tuple[Start, ...]:
        """When the broker was started, and by what it runs from then on. Errors: UsageError."""
        from rota.generate.settings import broker_config
        from rota.linearise.times import Span
        from rota.validate.terms import Start

        given = [text.split(",") for text in self.started]
        found = sorted(
            (self.moments({"--started": at})[0] or 0.0, TOLD_TO if "." in at else 1.0, settings)
            for at, *settings in given
        )
        known, starts = dict(map(broker_setting, self.settings)), []
        for at, within, settings in found:
            known |= dict(map(broker_setting, settings))
            starts.append(Start(Span(at, at + within), broker_config(known)))
        return tuple(starts)

    def checked(self) -> None:
        """Errors: UsageError for a profile that there is not, and for options that want others."""
        if self.durable and not self.fresh:
            raise UsageError(
                "--durable asks what a coordinator that is started anew has of its groups, which is known "
                "only of groups that are seen from their beginning; add --fresh if these are"
            )
        if self.started and not self.durable:
            raise UsageError(
                "--started tells when the broker was started, and what it has of its groups then is known "
                "only with --fresh --durable; add both if its log loses nothing"
            )
        if self.profile not in PROFILES:
            there = ", ".join(PROFILES)
            raise UsageError(
                f"no profile is called {self.profile!r}; {nearly(self.profile, PROFILES)}there are {there}"
            )


OPTIONS = (
    *OF_SOURCES,
    click.option("--command-config", "config", type=click.Path(path_type=Path), metavar="FILE",
                 help="TLS and SASL for kafka://HOST:PORT, by Kafka's client properties."),
    PROFILE,
    click.option("--group", default="", metavar="GROUP", help="Only this one."),
    click.option("--since", metavar="TIME",
                 help="Only from then on; folders day=YYYY-MM-DD of earlier days are not read."),
    click.option("--until", metavar="TIME", help="Only until then; folders of later days are not read."),
    click.option("--unordered", is_flag=True,
                 help="Events lie in any order, some of them twice: sort them by time, keep each once."),
    click.option("--fresh", is_flag=True,
                 help="The groups did not exist before: judge them from the first event, offsets too."),
    click.option("--durable", is_flag=True,
                 help="With --fresh: a broker that restarts has all that it stored, and is set as before."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
                 help="What the broker runs with, if not Kafka's default; repeatable."),
    click.option("--started", multiple=True, metavar="TIME[,KEY=VALUE...]",
                 help="With --durable: the broker was started then, with this; name all starts."),
    click.option("--forgive", type=click.FloatRange(min=0.0), default=FORGIVEN, metavar="SECONDS",
                 help="By which a coordinator may be late without a violation."),
    click.option("--late", type=click.FloatRange(min=0.0), default=LATE, metavar="SECONDS",
                 help="By which recorder and broker are late at any time: within it all is at once."),
)  # fmt: skip
"""The options of `ValidateOptions`."""


@dataclass(frozen=True)
class TableOptions:
    """As given. engine: `here` or `spark`; out: the folder of the tables; memory: MiB."""

    engine: str = "here"
    out: Path | None = None
    master: str | None = None
    memory: int | None = None
    buckets: int | None = None

    def checked(self) -> None:
        """Errors: UsageError for options that do not go together."""
        if self.engine == SPARK and self.out is None:
            raise UsageError("what Spark judges goes into tables; name a folder for them with --out")
        if self.engine != SPARK and self.master:
            raise UsageError("--master is for Spark; add --engine spark")
        given = {"--buckets": self.buckets, "--memory": self.memory}
        if self.out is None and (option := next((one for one, value in given.items() if value), None)):
            raise UsageError(f"{option} is for tables; name a folder for them with --out")
        if self.engine != SPARK and self.memory and self.memory < LEAST:
            raise UsageError(f"--memory: {self.memory} MiB are too little to judge; give {LEAST} at least")


SPARK = "spark"

LEAST = 288
"""MiB with which one process can judge, as the least share of a task on Spark."""

OF_TABLES = (
    click.option("--engine", type=click.Choice(("here", SPARK)), default="here",
                 help="Who judges: this process, or tasks on Apache Spark (docs/many-groups.md)."),
    click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                 help="A folder for tables (Parquet); goes on with what is there."),
    click.option("--master", metavar="URL", shell_complete=completing.spark_masters,
                 help="Where Spark runs, as spark://HOST:PORT.  [default: spark-submit's, else local with "
                      "all cores]"),
    click.option("--memory", type=click.IntRange(min=1), metavar="MIB",
                 help="Of this process, or of all of Spark's, kept (docs/many-groups.md)."),
    click.option("--buckets", type=click.IntRange(1, 4096), metavar="N",
                 help="Files of each table, among which groups are divided.  [default: by the size of what "
                      "is read]"),
)  # fmt: skip
"""The options of `TableOptions`."""
