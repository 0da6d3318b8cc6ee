"""What `rota validate` takes beside its paths and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rota.cli.errors import UsageError, nearly
from rota.cli.options import PROFILE
from rota.cli.source_options import OF_SOURCES, SourceOptions
from rota.spec import PROFILES


@dataclass(frozen=True)
class ValidateOptions(SourceOptions):
    """As given."""

    profile: str = "kafka-4.x"
    group: str = ""
    since: str | None = None
    fresh: bool = False
    durable: bool = False
    settings: tuple[str, ...] = ()
    forgive: float = 2.0

    def start(self) -> float | None:
        """From when on is judged. Errors: UsageError."""
        return self.moments({"--since": self.since})[0]

    def checked(self) -> None:
        """Errors: UsageError for a profile that there is not, and --durable without --fresh."""
        if self.durable and not self.fresh:
            raise UsageError(
                "--durable asks what a coordinator that is started anew has of its groups, which is known "
                "only of groups that are seen from their beginning; add --fresh if these are"
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
    click.option("--since", metavar="TIME", help="Only from then on."),
    click.option("--fresh", is_flag=True,
                 help="The groups did not exist before: judge them from the first event, offsets too."),
    click.option("--durable", is_flag=True,
                 help="With --fresh: a broker that restarts has all that it stored, and is set as before."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
                 help="What the broker runs with, if not Kafka's default; repeatable."),
    click.option("--forgive", type=click.FloatRange(min=0.0), default=2.0, metavar="SECONDS",
                 help="By which a coordinator may be late without a violation."),
)  # fmt: skip
"""The options of `ValidateOptions`."""
