"""What `rota explain` and `rota validate` take about how their sources are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from rota.cli.errors import UsageError
from rota.conformance.connections.security import PLAINTEXT, Security
from rota.conformance.targets.command_config import ConfigError, read_config
from rota.explain.moments import moment
from rota.reading import ReadingError, ReadOptions, Tally, time_zone
from rota.report.format import counted


@dataclass(frozen=True)
class SourceOptions:
    """As given."""

    format: str | None = None
    time_format: str | None = None
    zone: str | None = None
    layout: str | None = None
    skews: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    config: Path | None = None

    def reading(self) -> ReadOptions:
        """How sources are read. Errors: UsageError."""
        try:
            zone = None if self.zone is None else time_zone(self.zone)
        except ReadingError as error:
            raise UsageError(f"--time-zone: {error}") from error
        given = (self.format, self.time_format, zone, self.layout, _skews(self.skews))
        return ReadOptions(*given, ports=frozenset(self.ports), security=self.security())

    def of_reading(self) -> dict[str, object]:
        """Options that say how what is read is read, by name."""
        return {
            "--format": self.format,
            "--time-format": self.time_format,
            "--time-zone": self.zone,
            "--layout": self.layout,
            "--skew": self.skews,
            "--port": self.ports,
        }

    def security(self) -> Security:
        """How brokers are spoken to. Errors: UsageError."""
        try:
            return PLAINTEXT if self.config is None else read_config(self.config)
        except ConfigError as error:
            raise UsageError(f"--command-config {error}") from error

    def moments(self, texts: Mapping[str, str | None]) -> list[float | None]:
        """What options that name a time come to, by name: seconds since 1970. Errors: UsageError."""
        zone, now = self.reading().time_zone, datetime.now(UTC)
        found: list[float | None] = []
        for name, text in texts.items():
            try:
                found.append(None if text is None else moment(text, now, zone))
            except ValueError as error:
                raise UsageError(f"{name} {error}") from None
        return found


def what_was_read(tally: Tally) -> str:
    """Sources, and what of them was not read, in words."""
    sources = [f"{name} as {reader}" for name, reader in list(tally.sources.items())[:5]]
    more = len(tally.sources) - len(sources)
    said = ", ".join(sources) + (f" and {counted(more, 'source')} more" if more > 0 else "")
    parts = [f"{said or 'nothing'}: {counted(tally.events, 'event')}"]
    if tally.unknown:
        parts.append(f"{counted(tally.unknown, 'line')} about groups that rota does not know")
    if (untimed := tally.untimed) is not None:
        parts.append(f"{counted(untimed.number, 'line')} whose time is not found (first at {untimed.first}): "
                     "name its format with --time-format")  # fmt: skip
    parts += [f"{counted(one.number, 'time')} {reason} (first at {one.first})"
              for reason, one in list(tally.quarantined.items())[:3]]  # fmt: skip
    if tally.skipped:
        left_out = counted(len(tally.skipped), "file")
        parts.append(f"{left_out} left out, which no reader knows (first {tally.skipped[0]})")
    return "; ".join(parts)


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


OF_SOURCES = (
    click.option("--format", metavar="NAME", help="What all paths are, where that is not recognised."),
    click.option("--time-format", metavar="FORMAT", help="Of times in logs, in strptime's words, where it "
                                                         "is not found."),
    click.option("--time-zone", "zone", metavar="ZONE",
                 help="Of times that name none: UTC, +02:00, Europe/Berlin.  [default: the machine's]"),
    click.option("--layout", metavar="PATTERN", help="Of a log's lines, as log4j writes it, where it is "
                                                     "not found."),
    click.option("--skew", "skews", multiple=True, metavar="PATH=SECONDS", help="How far a clock is "
                                                                                "ahead; repeatable."),
    click.option("--port", "ports", multiple=True, type=click.IntRange(1, 65535), metavar="N",
                 help="Of brokers in captures, where it is not found; repeatable."),
)  # fmt: skip
"""The options of `SourceOptions`, but for that of `config`, whose help is each verb's own."""
