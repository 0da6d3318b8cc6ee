"""A recording is whole lines, whatever becomes of the disk."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from rota.history import Event, Kind, Source, event_of
from rota.record.writer import AT_ONCE, CannotRecord, Lines, opened

EVENT = Event(1.0, Source.FRAMES, "a#1", Kind.CLOSED, reason="x" * 100)


def lines_in(path: Path) -> int:
    """How many events a file has, each of them whole."""
    data = path.read_bytes()
    assert not data or data.endswith(b"\n")
    return len([event_of(line) for line in data.splitlines()])


def test_lines_are_written_at_the_latest_when_many_wait(tmp_path: Path) -> None:
    path = tmp_path / "new" / "recording.jsonl"
    lines = Lines(opened(path), path.name)
    assert lines.origin == "recording.jsonl#1"
    while not path.stat().st_size:
        lines.take(EVENT)
        assert lines.number < AT_ONCE
    lines.take(EVENT)
    lines.flush()
    assert lines_in(path) == lines.number
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("room", [0, 1, 150, 1000, 5000])
def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    path = tmp_path / "recording.jsonl"
    lines = Lines(opened(path), path.name)
    lines.take(EVENT)
    lines.flush()
    left = [room]
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = write(descriptor, data[: left[0]])
        left[0] -= size
        return size

    for _ in range(50):
        lines.take(EVENT)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CannotRecord, match="No space left"):
        lines.flush()
    assert lines_in(path) == lines.number == 1 + room // (len(path.read_bytes().splitlines()[0]) + 1)


def test_what_is_there_already_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    os.close(opened(path))
    os.close(opened(path))
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        opened(path)
    assert path.read_text() == "precious"


def test_a_pipe_that_nobody_reads_is_told_as_such() -> None:
    reading, writing = os.pipe()
    lines = Lines(writing, "recording")
    os.close(reading)
    lines.take(EVENT)
    with pytest.raises(BrokenPipeError):
        lines.flush()
    os.close(writing)
