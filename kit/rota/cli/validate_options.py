"""What `rota validate` takes beside its paths and what it reports."""

from __future__ import annotations

from dataclasses import dataclass

import click

from rota.cli.errors import UsageError, nearly
from rota.cli.explain_options import OPTIONS as OF_SOURCES
from rota.cli.explain_options import ExplainOptions
from rota.cli.options import PROFILE
from rota.reading import ReadOptions
from rota.spec import PROFILES

READING = 5
"""How many of the options of `rota explain` say how sources are read."""


@dataclass(frozen=True)
class ValidateOptions:
    """As given."""

    format: str | None = None
    time_format: str | None = None
    zone: str | None = None
    layout: str | None = None
    skews: tuple[str, ...] = ()
    profile: str = "kafka-4.x"
    group: str = ""
    since: str | None = None
    fresh: bool = False
    settings: tuple[str, ...] = ()
    forgive: float = 2.0

    def _sources(self) -> ExplainOptions:
        read = (self.format, self.time_format, self.zone, self.layout, self.skews)
        return ExplainOptions(*read, since=self.since)

    def reading(self) -> ReadOptions:
        """How sources are read. Errors: UsageError."""
        return self._sources().reading()

    def start(self) -> float | None:
        """From when on is judged. Errors: UsageError."""
        return self._sources().span()[0]

    def checked(self) -> None:
        """Errors: UsageError for a profile that there is not."""
        if self.profile not in PROFILES:
            there = ", ".join(PROFILES)
            raise UsageError(
                f"no profile is called {self.profile!r}; {nearly(self.profile, PROFILES)}there are {there}"
            )


OPTIONS = (
    *OF_SOURCES[:READING],
    PROFILE,
    click.option("--group", default="", metavar="GROUP", help="Only this one."),
    click.option("--since", metavar="TIME", help="Only from then on."),
    click.option("--fresh", is_flag=True,
                 help="The groups did not exist before: judge them from the first event, offsets too."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
                 help="What the broker runs with, if not Kafka's default; repeatable."),
    click.option("--forgive", type=click.FloatRange(min=0.0), default=2.0, metavar="SECONDS",
                 help="By which a coordinator may be late without a violation."),
)  # fmt: skip
"""The options of `ValidateOptions`."""
