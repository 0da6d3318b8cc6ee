"""What `rota explain` takes beside its paths and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from rota.cli.errors import UsageError
from rota.cli.source_options import OF_SOURCES, SourceOptions
from rota.explain.moments import FORMS
from rota.reading import ReadOptions

PATIENCE = 10.0
"""Seconds to wait for answers, where that is not given."""


@dataclass(frozen=True)
class ExplainOptions(SourceOptions):
    """As given. seconds: how long is watched or followed, None: until it is interrupted."""

    follow: bool = False
    groups: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    unordered: bool = False
    most: int = 10
    bootstrap: str | None = None
    timeout: float | None = None
    seconds: float | None = None

    def reading(self) -> ReadOptions:
        """How sources are read. Errors: UsageError."""
        return replace(super().reading(), follow=self.follow, unordered=self.unordered)

    def checked(self) -> None:
        """That what is given has an effect. Errors: UsageError."""
        if self.seconds is not None and not self.follow:
            raise UsageError("--seconds ends --follow; add --follow, or leave it out")
        if self.unordered and self.follow:
            raise UsageError("--unordered sorts what has an end; leave out one of --unordered and --follow")
        if self.timeout is not None and self.bootstrap is None:
            raise UsageError("--timeout waits for who is asked; add --bootstrap, or leave it out")
        of_sources = self.of_reading()
        of_sources |= {"--since": self.since, "--until": self.until, "--unordered": self.unordered}
        if self.bootstrap is not None and (
            option := next((one for one, given in of_sources.items() if given), None)
        ):
            raise UsageError(f"{option} is of logs and recordings; leave it out with --bootstrap")

    @property
    def patience(self) -> float:
        """Seconds to wait for answers of a broker that is asked."""
        return PATIENCE if self.timeout is None else self.timeout

    def span(self) -> tuple[float | None, float | None]:
        """From when to when. Errors: UsageError."""
        since, until = self.moments({"--since": self.since, "--until": self.until})
        if since is not None and until is not None and since > until:
            raise UsageError("--since is later than --until; change one of them")
        return since, until


OPTIONS = (
    *OF_SOURCES,
    click.option("--follow", is_flag=True, help="Go on when the end is reached, until Ctrl-C."),
    click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only this one; repeatable."),
    click.option("--since", metavar="TIME", help=f"Only from then on: {FORMS}."),
    click.option("--until", metavar="TIME", help="Only until then."),
    click.option("--unordered", is_flag=True,
                 help="Events lie in any order, some of them twice: sort them by time, keep each once."),
    click.option("--most", type=click.IntRange(min=1), default=10, metavar="N",
                 help="Incidents that are told."),
    click.option("--bootstrap", metavar="HOST:PORT",
                 help="Ask the coordinator of each --group; nothing is changed there."),
    click.option("--command-config", "config", type=click.Path(path_type=Path), metavar="FILE",
                 help="TLS and SASL for brokers that are asked, by Kafka's client properties."),
    click.option("--timeout", type=click.FloatRange(min=0.1), metavar="SECONDS",
                 help=f"To wait for answers of --bootstrap.  [default: {PATIENCE:g}]"),
    click.option("--seconds", type=click.FloatRange(min=0.0), metavar="N",
                 help="End --follow after so long.  [default: at Ctrl-C]"),
)  # fmt: skip
"""The options of `ExplainOptions`."""
