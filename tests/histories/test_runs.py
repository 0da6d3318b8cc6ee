"""Rows in sorted files: read back part by part, merged however many files there are."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, files, own_nights, scattered
from rota.histories import pipeline, runs
from rota.histories.runs import Runs, merged, rows_of
from rota.mutants.core import CoreBug, planted

SCHEMA = pa.schema([("part", pa.int32()), ("number", pa.int64()), ("line", pa.binary())])


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Batches of few rows, and few files at a time."""
    monkeypatch.setattr(runs, "AT_ONCE", 16)
    monkeypatch.setattr(runs, "MOST_OPEN", 4)


def rows(number, parts=5, seed=1):
    drawn = random.Random(seed)
    return [(drawn.randrange(parts), drawn.randrange(1_000), b"line %d" % one) for one in range(number)]


def written(folder, given, most):
    folder.mkdir(parents=True)
    made = Runs(folder, SCHEMA, most)
    for row in given:
        made.add(row)
    made.flush()
    return made.parts


def every_row_comes_back_in_order(folder):
    given = rows(700)
    counts = written(folder, given, 300)
    assert counts == Counter(part for part, *_ in given)
    for part in range(6):
        streams = rows_of(folder, part)
        assert len(streams) == 3
        assert [*merged(streams)] == sorted(row for row in given if row[0] == part)


def test_every_row_comes_back_in_order(tmp_path):
    every_row_comes_back_in_order(tmp_path / "runs")


class Open:
    """Streams that count how many of them are begun and not ended."""

    def __init__(self):
        self.now = self.most = 0

    def stream(self, given):
        self.now += 1
        self.most = max(self.most, self.now)
        yield from given
        self.now -= 1


def few_are_open_at_a_time(number):
    watched = Open()
    given = [sorted(rows(3, seed=one)) for one in range(number)]
    found = [*merged(watched.stream(one) for one in given)]
    assert found == sorted(row for one in given for row in one)
    assert watched.most <= runs.MOST_OPEN + 1


@pytest.mark.parametrize("number", [0, 1, 4, 5, 17, 70])
def test_few_are_open_at_a_time(number):
    few_are_open_at_a_time(number)


BUGS = (
    ("all are open", "merged", "len(waiting) > most", "False"),
    ("some are left out", "merged", "len(waiting), most)", "len(waiting) - 3, most)"),
    ("batches are counted short", "Runs.flush", "-(-len(rows) // AT_ONCE)", "len(rows) // AT_ONCE"),
    ("rows are not sorted", "Runs.flush", "self._rows.sort()", "self._rows.sort(key=itemgetter(0))"),
    ("parts begin where others do", "_rows_of", "begin += batches", "begin += 1"),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), BUGS, ids=[one[0] for one in BUGS])
def test_what_is_planted_is_found(tmp_path, name, function, old, new):
    def all_of_it():
        every_row_comes_back_in_order(tmp_path / "runs")
        few_are_open_at_a_time(17)

    with (
        planted(CoreBug("", name, name, "rota.histories.runs:" + function, old, new)),
        pytest.raises((AssertionError, pa.ArrowIndexError)),
    ):
        all_of_it()


def test_many_small_files_make_the_same_tables(tmp_path, monkeypatch):
    """However few are open, and a record of what was read is read a few times, not once for each part."""
    lake = scattered([one for night in own_nights() for one in night], 12, tmp_path / "lake")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MOST_OPEN", 1_000)
        as_tables([lake], tmp_path / "many", terms_of(), unordered=True)
    seen = Counter()
    kept = pipeline.kept
    monkeypatch.setattr(pipeline, "kept", lambda folder: (seen.update([folder]), kept(folder))[1])
    monkeypatch.setattr(pipeline, "SHARE", 2_000)
    _, known = as_tables([lake], tmp_path / "few", terms_of(), unordered=True)
    assert files(tmp_path / "few") == files(tmp_path / "many")
    assert known.parts > 10
    assert max(seen.values()) < 8


@pytest.mark.parametrize(("said", "kind"), [
    ("LZ4 decompress failed: ERROR_allocation_failed", MemoryError),
    ("LZ4 decompress failed: ERROR_frameType_unknown", OSError),
])  # fmt: skip
def test_a_batch_for_which_there_is_no_memory_is_told_as_that(said, kind):
    """pyarrow raises an OSError for either."""

    class Refused:
        def get_batch(self, number):
            raise OSError(said)

    with pytest.raises(kind) as raised:
        runs._columns(Refused(), 0)
    assert type(raised.value) is kind
