"""Lines as programs print them and the events that are made of them, kept below `tests/logs/golden`.

A file has a sentence on a line and below it, indented, its events without where and when. All sentences of a
file belong to one table of patterns and stand in lines of one layout here; `lines` are such lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rota.history import Event, line_of
from rota.logs.java_consumer import CONSUMER
from rota.logs.kafka_java import JAVA
from rota.logs.kafka_scala import SCALA
from rota.logs.librdkafka import LIBRDKAFKA
from rota.logs.patterns import Pattern, Table
from rota.logs.reader import Logs
from rota.logs.rota_server import SERVER
from rota.reading import OpenSource, ReadOptions, Tally
from rota.reading.source import Part

FOLDER = Path(__file__).parents[1] / "logs" / "golden"

AT = 1795341600.123
"""2026-11-22 10:00:00,123 in UTC."""

CLOCK = "[2026-11-22 10:00:00,123]"

_RDKAFKA = re.compile(r'(?:\S+:\d+/\w+: |GroupCoordinator/\d+: )?(?:Group "orders":? )?')


@dataclass(frozen=True)
class Printed:
    """How a program's lines look. before, after: what stands around the sentence."""

    table: Table
    before: str
    after: str = ""

    def line(self, sentence: str) -> str:
        return f"{self.before}{sentence}{self.after}"

    def pattern(self, sentence: str) -> Pattern:
        """The pattern that knows it."""
        if self.table is LIBRDKAFKA:
            sentence = sentence[_RDKAFKA.match(sentence).end() :]  # type: ignore[union-attr]
        found = self.table.find(sentence)
        assert found is not None, sentence
        return found[0]


PROGRAMS = {
    "kafka_java": Printed(
        JAVA,
        f"{CLOCK} INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7] ",
        " (org.apache.kafka.coordinator.group.GroupMetadataManager)",
    ),
    "kafka_scala": Printed(
        SCALA, f"{CLOCK} INFO [GroupCoordinator 1]: ", " (kafka.coordinator.group.GroupCoordinator)"
    ),
    "rota_server": Printed(SERVER, "2026-11-22 10:00:00,123 INFO "),
    "java_consumer": Printed(
        CONSUMER,
        f"{CLOCK} INFO [Consumer clientId=consumer-orders-1, groupId=orders] ",
        " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
    ),
    "librdkafka": Printed(LIBRDKAFKA, f"%7|{AT}|CGRP|consumer-1#consumer-1| [thrd:main]: "),
}
"""File → how its lines look."""


@dataclass(frozen=True)
class Golden:
    """A sentence and the events that it stands for."""

    program: str
    sentence: str
    events: tuple[dict[str, Any], ...]


def golden() -> Iterator[Golden]:
    """All that are kept."""
    for program in PROGRAMS:
        entries: list[tuple[str, list[dict[str, Any]]]] = []
        for line in (FOLDER / f"{program}.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("  {"):
                entries[-1][1].append(json.loads(line))
            else:
                entries.append((line, []))
        yield from (Golden(program, sentence, tuple(events)) for sentence, events in entries)


def events_of(lines: Sequence[str], tmp_path: Path, **options: Any) -> list[Event]:
    """The events of a log with these lines."""
    path = tmp_path / "server.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return list(
        Logs().read(OpenSource("server.log", [Part("server.log", path)], ReadOptions(**options), Tally()))
    )


def bare(event: Event) -> dict[str, Any]:
    """An event without where and when."""
    values = json.loads(line_of(event))
    return {name: value for name, value in values.items() if name not in ("schema", "at", "origin")}
