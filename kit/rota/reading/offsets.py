"""The readers of the offsets topic: data folders, folders of partitions, segment files, `kafka://HOST:PORT`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rota.conformance.connections.security import SecureAddress
from rota.history import Event, Kind
from rota.offsets_topic import TOPIC, TopicUnreadable, Wanted, read_segment, read_topic
from rota.offsets_topic.folders import (
    partition_folders,
    partition_of,
    read_data_folder,
    read_partition_folder,
)
from rota.offsets_topic.records import Place
from rota.reading.errors import ReadingError
from rota.reading.source import OpenSource

SCHEME = "kafka://"

_SEGMENT = re.compile(r"\d{20}\.log(\.(swap|cleaned|deleted))?")
_MAGIC_AT, _MAGIC = 16, 2
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d{1,5})/?")


@dataclass(frozen=True)
class OffsetsFiles:
    """Reads what brokers keep of groups on their disks."""

    name: str = "offsets-topic"
    rotated: bool = False

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether it is a segment file. Those of all topics look alike; a record tells."""
        is_batch = len(head) > _MAGIC_AT and head[_MAGIC_AT] == _MAGIC
        return _SEGMENT.match(name) is not None and (is_batch or not head)

    def recognises_folder(self, folder: Path) -> bool:
        """Whether it is a partition of the offsets topic, or a folder that holds some."""
        try:
            return partition_of(folder) is not None or bool(partition_folders(folder))
        except OSError:
            return False

    def read(self, source: OpenSource) -> Iterator[Event]:
        """The events; what is damaged is quarantined as well as told. Errors: ReadingError."""
        return _quarantined(self._events(source), source)

    def _events(self, source: OpenSource) -> Iterator[Event]:
        path = source.path
        if path is None:
            yield from read_segment(source.stream(), Place(source.name))
        elif not path.is_dir():
            number = partition_of(path.absolute().parent)
            place = Place(source.name) if number is None else Place(f"{TOPIC}-{number}", number)
            yield from read_segment(source.stream(), place)
        elif partition_of(path) is None:
            yield from read_data_folder(path)
        else:
            yield from read_partition_folder(path)


@dataclass(frozen=True)
class OffsetsOverTheWire:
    """Reads the offsets topic of a running cluster, as a consumer does."""

    name: str = "kafka"
    rotated: bool = False

    def recognises(self, name: str, head: bytes) -> bool:
        """No file is it."""
        return False

    def recognises_address(self, path: str) -> bool:
        """Whether it is the address of a broker."""
        return path.startswith(SCHEME)

    def read(self, source: OpenSource) -> Iterator[Event]:
        """The events up to the end of each partition; with `follow` those that come, too."""
        host, port = address(source.name)
        wanted, idle = Wanted(follow=source.options.follow), source.options.idle
        wanted = wanted if idle is None else replace(wanted, idle=idle)
        broker = SecureAddress(host, port, source.options.security)
        return _quarantined(_asked(broker, wanted), source)


def address(text: str) -> tuple[str, int]:
    """Host and port in `kafka://HOST:PORT`. Errors: ReadingError."""
    found = _ADDRESS.fullmatch(text.removeprefix(SCHEME))
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise ReadingError(f"{text} is no address; write {SCHEME}HOST:PORT, as in {SCHEME}127.0.0.1:9092")
    return found["six"] or found["host"], int(found["port"])


def _asked(broker: tuple[str, int], wanted: Wanted) -> Iterator[Event]:
    """The events of a broker's topic, once it is seen that a broker is there: what else may listen at an
    address does not say what it is when it is asked for a topic. Errors: ReadingError.
    """
    from rota.conformance.targets.preflight import NoBroker, see_whether_it_is_kafka  # of clusters alone

    try:
        see_whether_it_is_kafka(broker, wanted.patience)
    except NoBroker as error:
        raise ReadingError(str(error), there=False) from error
    yield from read_topic(broker, wanted)


def _quarantined(events: Iterator[Event], source: OpenSource) -> Iterator[Event]:
    try:
        for event in events:
            if event.kind is Kind.UNREAD:
                source.quarantine(event.reason, event.origin, also_told=True)
            yield event
    except TopicUnreadable as error:
        raise ReadingError(str(error), error.there) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ReadingError(f"cannot read {source.name}: {reason}; give a folder that can be read") from error
