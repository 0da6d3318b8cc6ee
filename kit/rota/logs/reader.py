"""The reader of logs: line after line, the few that are about groups looked at closely."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from rota.history import Event, Kind, Source
from rota.logs import layouts
from rota.logs.clients import JavaClients, RdkafkaClients, Settings
from rota.logs.events import made
from rota.logs.kafka_java import JAVA
from rota.logs.kafka_scala import SCALA
from rota.logs.rota_server import SERVER
from rota.logs.times import Times
from rota.reading.source import OpenSource

LOG = "log"
"""The reader's name."""

BROKERS = (JAVA, SCALA)

_BROKER = re.compile(r"(?:id=|brokerId=| )(\d{1,19})")
_PARTITION = re.compile(r"topic=__consumer_offsets partition=(\d{1,19})")

_BYTES = re.compile(rb'"MESSAGE"\s*:\s*\[')
"""journald's JSON has messages with colours as lists of bytes."""

_HOLES = re.compile(rb"\0{8,}")
"""What is in a file that was cut while it was written to, or had not reached the disk when the power went."""

_SIGNS = (
    b'"__REALTIME_TIMESTAMP"',
    b"[GroupCoordinator",
    b"[Consumer ",
    b"|rdkafka#",
    b"[thrd:",
    b"(kafka.",
    b"(org.apache.kafka.",
)
_LINE_OF_A_LOG = re.compile(
    rb"\d\d:\d\d:\d\d.{0,60}?\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b|\"(?:level|log\.level|severity)\"\s*:"
)


@dataclass(frozen=True)
class Logs:
    """Reads logs of brokers and of clients, in whatever layout, also several in one file."""

    name: str = LOG
    rotated: bool = True

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether Kafka's or librdkafka's marks stand in it, or lines with a time and a level."""
        head = _HOLES.sub(b"", head)
        if b"\0" in head:
            return False
        return any(sign in head for sign in _SIGNS) or _LINE_OF_A_LOG.search(head) is not None

    def read(self, source: OpenSource) -> Iterator[Event]:
        """The events of the lines that are about groups."""
        reading = Reading(source)
        for line in source.lines():
            # Nearly all lines of a broker's log end here.
            if b"roup" in line or b"kafka.consumer for" in line or reading.wants(line):
                yield from reading.line(line.decode("utf-8", "backslashreplace"))
        yield from reading.end()


class Reading:
    """What is known of one source while it is read."""

    def __init__(self, source: OpenSource) -> None:
        options = source.options
        path = source.path
        written = path.stat().st_mtime if path is not None and path.exists() else None
        self._times = Times(options.time_zone, options.time_format, written)
        self._layout = None if options.layout is None else layouts.layout(options.layout)
        self._source = source
        self._java = JavaClients()
        self._rdkafka = RdkafkaClients()
        self._settings: Settings | None = None

    def wants(self, line: bytes) -> bool:
        """Whether a line is looked at though it has no word of groups: settings, a list of partitions."""
        return (
            b"[thrd:" in line
            or b"ConsumerConfig" in line
            or self._settings is not None
            or (line.startswith(b"{") and _BYTES.search(line) is not None)
        )

    def line(self, text: str, at: float | None = None) -> Iterator[Event]:
        """The events of a line. at: its time as JSON around it tells it."""
        if self._settings is not None and (yield from self._more_settings(text)):
            return
        if "\x1b" in text:
            text = layouts.COLOURS.sub("", text)
        if messages := layouts.of_json(text):
            for found in messages:
                yield from self._inner(found, at)
            return
        laid = None if self._layout is None else self._layout.search(text)
        if laid is not None:
            before = laid.groupdict().get("time") or text[: laid.start("message")]
            at = self._times.find(before) if at is None else at
            text = laid["message"]
        if (tag := layouts.tag(text)) is not None:
            at = self._times.find(text[: tag.start()]) if at is None else at
            sentence = layouts.bare(text[tag.end() :])
            if tag["coordinator"]:
                yield from self._broker(sentence, tag["broker"], at)
            else:
                origin = self._source.origin()
                yield from self._java.line(
                    sentence, tag["client"], tag["group"], tag["instance"] or "", at, origin
                )
        elif (rdkafka := layouts.LIBRDKAFKA.search(text)) is not None:
            yield from self._of_rdkafka(rdkafka, text, at)
        else:
            yield from self._untagged(text, at, laid is not None)

    def end(self) -> Iterator[Event]:
        """What is left to tell when the source has ended."""
        if self._settings is not None:
            yield self._settings.event()

    def _inner(self, found: layouts.Found, at: float | None) -> Iterator[Event]:
        """The events of a message in JSON: of its lines, where it has several."""
        if found.at is not None:
            at = self._times.find(found.at) if isinstance(found.at, str) else found.at
        elif at is None:
            at = self._times.find(found.before)
        for line in found.message.splitlines():
            yield from self.line(line, at)
        yield from self._settings_end()

    def _broker(self, sentence: str, broker: str, at: float | None) -> Iterator[Event]:
        found = next((one for table in BROKERS if (one := table.find(sentence)) is not None), None)
        origin = self._source.origin()
        if found is None:
            yield Event(at, Source.BROKER_LOG, origin, Kind.UNREAD, data={"text": sentence})
            return
        pattern, values = found
        if pattern.kind in (Kind.PREPARING, Kind.LOADING, Kind.LOADED, Kind.UNLOADED):
            values = {**_of_tag(broker), **values}
        if pattern.kind is Kind.OTHER_PROTOCOL:
            values["text"] = sentence
            # Some of these lines name a member in brackets of its own.
            values["group"], _, member = values["group"].partition("][MemberId ")
            values["member"] = values.get("member", member)
        yield from made(pattern, values, Source.BROKER_LOG, at, origin)

    def _of_rdkafka(self, found: re.Match[str], text: str, at: float | None) -> Iterator[Event]:
        if found["at"] is not None:
            at = float(found["at"])
        elif at is None:
            at = self._times.find(text[: found.start()])
        mark, handle = found["mark"] or found["mark2"] or "", found["handle"] or found["handle2"] or ""
        rest = found["rest"].rstrip()
        yield from self._rdkafka.line(rest, mark, handle, at, self._source.origin())

    def _untagged(self, text: str, at: float | None, laid: bool) -> Iterator[Event]:
        """The events of a line without Kafka's marks: rota's, or a class that prints none.

        laid: it is a message, by the layout that was given.
        """
        found = None if laid else layouts.LEVEL.search(text)
        message = layouts.bare(text if found is None else found["message"])
        if at is None and not laid:
            at = self._times.find(text if found is None else text[: found.start("message")])
        origin = self._source.origin()
        if message.startswith("ConsumerConfig values:"):
            self._settings = Settings(at, origin)
            return
        for table in (SERVER, *BROKERS):
            if (known := table.find(message)) is not None:
                yield from made(*known, Source.BROKER_LOG, at, origin)
                return
        yield from self._java.untagged(message, at, origin)

    def _more_settings(self, text: str) -> Generator[Event, None, bool]:
        """Settings go on for as long as lines have a name and a value. Returns whether this one does."""
        assert self._settings is not None
        if self._settings.take(text):
            return True
        yield from self._settings_end()
        return False

    def _settings_end(self) -> Iterator[Event]:
        if self._settings is not None:
            settings, self._settings = self._settings, None
            yield settings.event()


def _of_tag(broker: str) -> dict[str, Any]:
    """What stands in the brackets before a broker's sentence."""
    values = {}
    if number := _BROKER.search(broker):
        values["broker"] = int(number[1])
    if partition := _PARTITION.search(broker):
        values["partition"] = int(partition[1])
    return values
