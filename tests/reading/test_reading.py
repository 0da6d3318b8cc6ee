"""Sources are opened however they are packed, recognised, put in order and merged; damage ends nothing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from rota.history import Event, Kind, Source, line_of
from rota.reading import OpenSource, ReadingError, ReadOptions, Tally, finding, read, time_zone
from rota.reading import readers as readers_module
from rota.reading import source as source_module
from rota.reading.event_lines import EventLines
from rota.reading.rotation import rotated
from rota.reading.tally import Quarantined


def event(at: float | None, origin: str = "here", kind: Kind = Kind.JOINED) -> Event:
    return Event(at, Source.FRAMES, origin, kind, "orders")


def lines(*events: Event) -> bytes:
    return "".join(f"{line_of(one)}\n" for one in events).encode()


def origins(paths: Sequence[Path | str], **settings: object) -> list[str]:
    options = ReadOptions(**settings)  # type: ignore[arg-type]
    return [one.origin for one in read([str(path) for path in paths], options=options)]


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", ["night.jsonl", "no-name-for-it"])
def test_a_file_is_read_however_it_is_packed(tmp_path: Path, suffix: str, name: str) -> None:
    path = tmp_path / name  # the bytes tell how it is packed, not the name
    path.write_bytes(PACKERS[suffix](lines(event(1.0, "a"), event(2.0, "b"))))
    assert list(read([str(path)])) == [event(1.0, "a"), event(2.0, "b")]


@pytest.mark.parametrize("pack", PACKERS.values(), ids=list(PACKERS))
def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    many = [event(float(number), f"{number}") for number in range(5000)]
    given = io.BufferedReader(io.BytesIO(pack(lines(*many))))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    tally = Tally()
    assert list(read(["-"], tally=tally)) == many
    assert tally.sources == {"standard input": "events"}


def test_of_a_pipe_that_goes_on_nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of `kubectl logs -f`, which whoever has seen enough interrupts."""
    from_pipe, to_pipe = os.pipe()
    monkeypatch.setattr(finding, "STILL", 0.05)
    monkeypatch.setattr(sys, "stdin", os.fdopen(from_pipe, encoding="utf-8"))
    with os.fdopen(to_pipe, "wb", buffering=0) as pipe:
        impatient = threading.Timer(30, pipe.close)
        impatient.start()
        pipe.write(lines(event(1.0, "a"))[:10])  # nobody knows yet what it is
        threading.Timer(0.2, pipe.write, [lines(event(1.0, "a"))[10:]]).start()
        assert next(iter(read(["-"]))) == event(1.0, "a")
        assert not pipe.closed
        impatient.cancel()


def test_packed_data_that_is_cut_off_ends_its_source_alone(tmp_path: Path) -> None:
    noise = random.Random(1)
    many = [event(1.0, f"{noise.random()}") for number in range(3000)]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(lines(*many))[:-2000])
    (tmp_path / "whole").write_bytes(lines(event(2.0, "end")))
    tally = Tally()
    events = list(read([str(tmp_path)], tally=tally))
    assert events[-1].origin == "end"
    assert 1000 < len(events) < 3000
    assert "the packed file is cut off" in tally.quarantined


FOREIGN = {b"\x28\xb5\x2f\xfdxxxx": "zstd -dc", b"\x04\x22\x4d\x18": "lz4 -dc", b"PK\x03\x04": "unzip -p"}
FOREIGN |= dict.fromkeys((b"\xff\xfea\0", b"\xfe\xff\0a"), "UTF-16.*iconv -f utf-16 -t utf-8")


@pytest.mark.parametrize("head", FOREIGN)
def test_what_cannot_be_unpacked_is_told_with_what_does(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "night"
    path.write_bytes(head)
    with pytest.raises(ReadingError, match=FOREIGN[head]):
        read([str(path)])


@pytest.mark.parametrize("left", [1, 40, 60])
def test_a_last_line_that_was_cut_off_is_told_as_such(tmp_path: Path, left: int) -> None:
    path = tmp_path / "night"
    path.write_bytes(lines(event(1.0), event(2.0)) + lines(event(3.0))[:left])
    tally = Tally()
    assert [one.at for one in read([str(path)], tally=tally)] == [1.0, 2.0]
    assert tally.quarantined == {"the last line is cut off": Quarantined(f"{path}:3")}
    path.write_bytes(lines(event(1.0)).rstrip())
    assert len([*read([str(path)], tally=(whole := Tally()))]) == 1
    assert whole.broken == 0


def test_broken_lines_are_counted_and_end_nothing(tmp_path: Path) -> None:
    path = tmp_path / "night"
    path.write_bytes(lines(event(1.0)) + b'{"schema":\n\n\xff\xfe\n[]\n[]\n' + lines(event(2.0)))
    tally = Tally()
    assert len(list(read([str(path)], tally=tally))) == tally.events == 2
    assert tally.broken == 4
    told = tally.quarantined["a JSON list where an object is expected"]
    assert (told.first, told.number) == (f"{path}:5", 2)


def test_a_line_without_an_end_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MOST_BYTES", 300)
    path = tmp_path / "night"
    path.write_bytes(lines(event(1.0, "a")) + b"x" * 1000 + b"\n" + lines(event(2.0, "b")))
    tally = Tally()
    assert [one.origin for one in read([str(path)], tally=tally)] == ["a", "b"]
    assert tally.quarantined["a line of more than 300 bytes"].first == f"{path}:2"
    assert tally.broken == 1


def test_reasons_without_end_take_no_memory() -> None:
    tally = Tally()
    for number in range(1000):
        tally.quarantine("here", f"reason {number}")
    assert len(tally.quarantined) == 101
    assert tally.broken == 1000


def test_a_mark_at_the_beginning_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "night"
    path.write_bytes(b"\xef\xbb\xbf" + lines(event(1.0)))
    assert origins([path], format="events") == ["here"]


@pytest.mark.parametrize(
    "names",
    [
        ("server.log.10", "server.log.2.gz", "server.log.1", "server.log"),
        ("server.log.2026-11-21-23.gz", "server.log.2026-11-22-09", "server.log.2026-11-22-10", "server.log"),
        ("app-2026-11-21.log", "app-2026-11-22-1.log", "app-2026-11-22-10.log", "app.log"),
        ("app-12-31-2025-1.log.gz", "app-01-02-2026-1.log.gz", "app.log"),
        ("0.log.20261122-090000.gz", "0.log.20261122-100000", "0.log"),
        ("messages-20261121.gz", "messages-20261122", "messages"),
    ],
)
def test_rotated_files_are_one_source_from_the_oldest_on(names: tuple[str, ...]) -> None:
    assert {rotated(name)[0] for name in names} == {names[-1]}
    assert sorted(sorted(names), key=lambda name: rotated(name)[1]) == list(names)


@pytest.mark.parametrize("name", ["00000000000000000000.log", "broker-1.log", "0.log", "night.pcap", "1.2"])
def test_other_numbers_in_names_are_no_rotation(name: str) -> None:
    assert rotated(name)[0] == name


def test_a_rotation_is_read_in_its_order_whatever_the_clock_says(tmp_path: Path) -> None:
    for name, at in (("server.log", 1.0), ("server.log.1", 2.0), ("server.log.2.gz", 3.0)):
        pack = PACKERS[".gz" if name.endswith("gz") else ""]
        (tmp_path / name).write_bytes(pack(lines(event(at, name))))
    expected = ["server.log.2.gz", "server.log.1", "server.log"]
    assert origins([tmp_path]) == expected
    assert origins([tmp_path / name for name in sorted(expected)]) == expected
    assert origins([tmp_path / "server.log", tmp_path]) == expected


def test_where_a_line_stands_is_told_by_file_and_number(tmp_path: Path) -> None:
    (tmp_path / "x.1").write_bytes(lines(event(1.0)) + b"{}\n" + lines(event(1.0)))
    (tmp_path / "x").write_bytes(b"[]\n" + lines(event(1.0)))
    tally = Tally()
    assert len(list(read([str(tmp_path / "x"), str(tmp_path / "x.1")], tally=tally))) == 3
    firsts = {one.first for one in tally.quarantined.values()}
    assert firsts == {f"{tmp_path / 'x'}:1", f"{tmp_path / 'x.1'}:2"}


def test_sources_are_merged_by_time_and_keep_their_own_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(lines(*(event(at, f"a{at}") for at in (1.0, 4.0, 2.0, 6.0))))
    (tmp_path / "b").write_bytes(
        lines(event(None, "b"), event(3.0, "b3"), event(None, "b-"), event(5.0, "b5"))
    )
    assert origins([tmp_path]) == ["b", "a1.0", "b3", "b-", "a4.0", "a2.0", "b5", "a6.0"]


class Counting(EventLines):
    """Counts how many events were made."""

    made = 0

    def read(self, source: OpenSource) -> Iterator[Event]:
        for one in super().read(source):
            Counting.made += 1
            yield one


def test_no_more_is_read_ahead_than_an_event_of_each_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers_module, "READERS", (Counting(),))
    for name in "abc":
        (tmp_path / name).write_bytes(lines(*(event(float(number)) for number in range(1000))))
    events = read([str(tmp_path)])
    for number in range(1, 2000):
        next(events)
        assert Counting.made <= number + 3


def test_a_clock_that_is_ahead_is_set_right(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.log").write_bytes(lines(event(10.0, name), event(None, f"{name}-")))
    assert origins([tmp_path]) == ["a", "a-", "b", "b-"]
    for called in ("a", tmp_path / "a", tmp_path / "a" / "server.log"):
        events = list(read([str(tmp_path)], options=ReadOptions(skews={str(called): -2.5})))
        assert [(one.origin, one.at) for one in events] == [
            ("b", 10.0),
            ("b-", None),
            ("a", 12.5),
            ("a-", None),
        ]
    with pytest.raises(
        ReadingError, match=r"a skew is given for c, which is not read; there are .*server.log"
    ):
        read([str(tmp_path)], options=ReadOptions(skews={"c": 1}))


def test_what_nobody_knows_is_told_with_what_could_be_said(tmp_path: Path) -> None:
    path = tmp_path / "tea"
    path.write_bytes(b"\x00\x01\x02")
    looks = r"looks? like a log, a recording, a capture or the offsets topic"
    with pytest.raises(ReadingError, match=rf"tea does not {looks}; .* it is with --format: .*events"):
        read([str(path)])
    with pytest.raises(ReadingError, match=rf"nothing in .* {looks} \(.*/tea\); if it is, say what"):
        read([str(tmp_path)])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReadingError, match=r"there is no file in .*empty; give a folder with a log, "):
        read([str(tmp_path / "empty")])
    path.write_bytes(b"")
    with pytest.raises(ReadingError, match=r"tea is empty; give another, or say what it is with --format: "):
        read([str(path)])
    with pytest.raises(ReadingError, match=r"cannot read .*gone: No such file or directory; give"):
        read([str(tmp_path / "gone")])
    with pytest.raises(ReadingError, match=r"no format is called 'event'; did you mean events\? there are "):
        read([str(path)], options=ReadOptions(format="event"))


def test_files_in_folders_that_nobody_knows_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "tea").write_bytes(b"\x00\x01\x02")
    (tmp_path / ".hidden").write_bytes(b"\x00")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "night").write_bytes(lines(event(1.0)))
    tally = Tally()
    assert len(list(read([str(tmp_path)], tally=tally))) == 1
    assert tally.skipped == [str(tmp_path / "tea")]


def test_a_format_that_is_given_needs_no_recognition(tmp_path: Path) -> None:
    path = tmp_path / "tea"
    path.write_bytes(b"\n\n" + lines(event(1.0)))
    assert origins([path], format="events") == ["here"]


def test_what_is_unread_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(lines(event(1.0), event(1.0, kind=Kind.UNREAD)))
    tally = Tally()
    list(read([str(tmp_path)], tally=tally))
    assert (tally.events, tally.unread) == (2, 1)


def test_a_source_is_read_as_a_stream_too(tmp_path: Path) -> None:
    data = lines(*(event(float(number)) for number in range(20000)))
    (tmp_path / "x").write_bytes(gzip.compress(data))
    part = source_module.Part("x", tmp_path / "x")
    opened = OpenSource("x", [part, part], ReadOptions(), Tally())
    assert opened.stream().read() == data + data
    assert opened.path == tmp_path / "x"


@pytest.mark.parametrize(
    ("text", "hours"), [("UTC", 0), ("z", 0), ("+02:00", 2), ("-0530", -5.5), ("Etc/GMT-3", 3)]
)
def test_time_zones_are_written_as_people_do(text: str, hours: float) -> None:
    offset = datetime(2026, 11, 22, tzinfo=time_zone(text)).utcoffset()
    assert offset is not None
    assert offset.total_seconds() == hours * 3600


@pytest.mark.parametrize("text", ["tea", "+2", "../../etc/passwd", ""])
def test_what_is_no_time_zone_is_told(text: str) -> None:
    with pytest.raises(ReadingError, match="write one as UTC"):
        time_zone(text)
