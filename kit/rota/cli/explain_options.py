"""What `rota explain` takes beside its paths and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from rota.cli.errors import UsageError
from rota.explain.moments import FORMS, moment
from rota.reading import ReadingError, ReadOptions, time_zone


@dataclass(frozen=True)
class ExplainOptions:
    """As given. seconds: how long is watched or followed, None: until it is interrupted."""

    format: str | None = None
    time_format: str | None = None
    zone: str | None = None
    layout: str | None = None
    skews: tuple[str, ...] = ()
    follow: bool = False
    groups: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    most: int = 10
    bootstrap: str | None = None
    config: Path | None = None
    timeout: float = 10.0
    seconds: float | None = None

    def reading(self) -> ReadOptions:
        """How sources are read. Errors: UsageError."""
        try:
            zone = None if self.zone is None else time_zone(self.zone)
        except ReadingError as error:
            raise UsageError(f"--time-zone: {error}") from error
        return ReadOptions(self.format, self.time_format, zone, self.layout, _skews(self.skews), self.follow)

    def span(self) -> tuple[float | None, float | None]:
        """From when to when. Errors: UsageError."""
        zone, now = self.reading().time_zone or UTC, datetime.now(UTC)
        found: list[float | None] = []
        for name, text in (("--since", self.since), ("--until", self.until)):
            try:
                found.append(None if text is None else moment(text, now, zone))
            except ValueError as error:
                raise UsageError(f"{name} {error}") from None
        since, until = found
        if since is not None and until is not None and since > until:
            raise UsageError("--since is later than --until; change one of them")
        return since, until


def _skews(given: tuple[str, ...]) -> Mapping[str, float]:
    found = {}
    for one in given:
        source, equals, seconds = one.rpartition("=")
        try:
            found[source] = float(seconds)
        except ValueError:
            equals = ""
        if not equals or not source:
            raise UsageError(f"cannot read --skew {one!r}; write PATH=SECONDS, how far its clock is ahead")
    return found


OPTIONS = (
    click.option("--format", metavar="NAME", help="What all paths are, where that is not recognised."),
    click.option("--time-format", metavar="FORMAT", help="Of times in logs, in strptime's words, where it "
                                                         "is not found."),
    click.option("--time-zone", "zone", metavar="ZONE",
                 help="Of times that name none: UTC, +02:00, Europe/Berlin.  [default: the machine's]"),
    click.option("--layout", metavar="PATTERN", help="Of a log's lines, as log4j writes it, where it is "
                                                     "not found."),
    click.option("--skew", "skews", multiple=True, metavar="PATH=SECONDS", help="How far a clock is "
                                                                                "ahead; repeatable."),
    click.option("--follow", is_flag=True, help="Go on when the end is reached, until Ctrl-C."),
    click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only this one; repeatable."),
    click.option("--since", metavar="TIME", help=f"Only from then on: {FORMS}."),
    click.option("--until", metavar="TIME", help="Only until then."),
    click.option("--most", type=click.IntRange(min=1), default=10, metavar="N",
                 help="Incidents that are told."),
    click.option("--bootstrap", metavar="HOST:PORT",
                 help="Ask the coordinator of each --group; nothing is changed there."),
    click.option("--command-config", "config", type=click.Path(path_type=Path), metavar="FILE",
                 help="TLS and SASL for --bootstrap, by Kafka's client properties."),
    click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, metavar="SECONDS",
                 help="To wait for answers of --bootstrap."),
    click.option("--seconds", type=click.FloatRange(min=0.0), metavar="N",
                 help="End --follow after so long.  [default: at Ctrl-C]"),
)  # fmt: skip
"""The options of `ExplainOptions`."""
