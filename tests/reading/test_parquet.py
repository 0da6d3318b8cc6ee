"""Events as a table: what is read is what was written, and what is broken is told where it stands."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, files, in_one_run, lines, own_nights, scattered, told, verdicts
from rota.history import Event, Kind, Source
from rota.mutants.core import CoreBug, planted
from rota.reading import ReadingError, Tally, parquet, read
from rota.reading.parquet import write

PAGE = Path(__file__).parents[2] / "docs" / "histories.md"


@pytest.fixture
def far_east(monkeypatch):
    """Times of this machine are not UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def night():
    return sorted((one for each in own_nights() for one in each), key=lambda one: one.at)


def rows(path):
    return pq.read_table(path).to_pylist()


def test_what_is_read_is_what_was_written(tmp_path):
    events = [*night(), Event(None, Source.BROKER_LOG, "server.log:7", Kind.UNREAD, reason="odd")]
    assert write(tmp_path / "night.parquet", events) == len(events)
    tally = Tally()
    assert [*read([str(tmp_path / "night.parquet")], tally=tally)] == events
    assert (tally.events, tally.broken) == (len(events), 0)
    assert tally.sources == {str(tmp_path / "night.parquet"): "parquet"}


def test_a_table_of_timestamps_and_nulls_is_as_good(tmp_path):
    at = datetime(2027, 1, 15, 8, 0, 0, 250_000, tzinfo=UTC)
    for number, moment in enumerate((at, at.replace(tzinfo=None))):
        row = {"at": moment, "source": "broker-log", "origin": "s:1", "kind": "loaded", "member": None}
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"{number}.parquet")
        told_of = [*read([str(tmp_path / f"{number}.parquet")])]
        assert told_of == [Event(at.timestamp(), Source.BROKER_LOG, "s:1", Kind.LOADED)]


def test_a_row_that_is_no_event_is_named(tmp_path):
    write(tmp_path / "whole.parquet", night()[:20])
    told_rows = rows(tmp_path / "whole.parquet")
    told_rows[3]["data"], told_rows[5]["kind"], told_rows[7]["schema"] = "{", "nothing", 9
    pq.write_table(pa.Table.from_pylist(told_rows), tmp_path / "broken.parquet")
    tally = Tally()
    assert len([*read([str(tmp_path / "broken.parquet")], tally=tally)]) == 17
    place = str(tmp_path / "broken.parquet")
    assert {why: one.first for why, one in tally.quarantined.items()} == {
        "data is no JSON: '{'": f"{place}:4",
        "kind 'nothing' is unknown here": f"{place}:6",
        "schema 9, and this reads schema 1": f"{place}:8",
    }


def test_a_file_that_is_cut_off_is_quarantined_and_another_table_is_none_of_ours(tmp_path):
    write(tmp_path / "a.parquet", night())
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    pq.write_table(pa.table({"group": ["orders"]}), tmp_path / "c.parquet")
    tally = Tally()
    assert len([*read([str(tmp_path)], tally=tally)]) == len(night())
    assert tally.skipped == [str(tmp_path / "c.parquet")]
    ((why, one),) = tally.quarantined.items()
    assert why.startswith("the file cannot be read on")
    assert one.first == str(tmp_path / "b.parquet")
    with pytest.raises(ReadingError, match="does not look like a log"):
        next(read([str(tmp_path / "c.parquet")]))


def test_lines_and_tables_are_judged_alike(tmp_path):
    """Half of the events as lines, half as tables, some in both, beside what is broken in either."""
    (tmp_path / "night.jsonl").write_text(lines(night()))
    account, _ = in_one_run([tmp_path / "night.jsonl"], terms_of())
    lake = scattered(night(), 4, tmp_path / "lake", copies=5)
    for number in (0, 2):
        events = [*read([str(lake / f"{number}.jsonl")])]
        write(lake / f"{number}.parquet", events)
        (lake / f"{number}.jsonl").unlink()
    broken = rows(lake / "0.parquet")[:1]
    broken[0]["data"] = "no JSON"
    pq.write_table(pa.Table.from_pylist(broken), lake / "9.parquet")
    pipeline, known = as_tables([lake], tmp_path / "out", terms_of(), unordered=True)
    found = told(pipeline, known).account
    assert verdicts(tmp_path / "out") == [*account.verdicts()]
    parts = found.judged, found.undecided.total(), found.not_checked.total(), found.quarantined
    assert sum(parts) == found.events == len(night()) + 5 + 1
    assert found.quarantined == 1
    assert files(tmp_path / "out")


HERE = "rota.reading.parquet:"

BUGS = (
    ("what is broken is passed over", "_events", 'source.quarantine(str(error), f"{name}:{number}")', "pass"),
    ("rows are counted from nought", "_events", "source), 1)", "source), 0)"),
    ("a moment is of the machine's zone", "_event", "at if at.tzinfo else at.replace(tzinfo=UTC)", "at"),
    ("data is not read", "_event", "json.loads(data)", "{}"),
    ("any table will do", "Parquet.recognises_file", "set(NEEDED) <=", "set() <="),
    ("what is cut off is the end", "_rows", "source.quarantine(", "str("),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), BUGS, ids=[one[0] for one in BUGS])
@pytest.mark.usefixtures("far_east")
def test_what_is_planted_is_found(tmp_path, name, function, old, new):
    checks = (
        test_what_is_read_is_what_was_written,
        test_a_table_of_timestamps_and_nulls_is_as_good,
        test_a_row_that_is_no_event_is_named,
        test_a_file_that_is_cut_off_is_quarantined_and_another_table_is_none_of_ours,
    )
    failed = []
    with planted(CoreBug("", name, name, HERE + function, old, new)):
        for number, check in enumerate(checks):
            (tmp_path / str(number)).mkdir()
            try:
                check(tmp_path / str(number))
            except Exception as error:
                failed.append(error)
    assert failed


def test_the_converter_of_the_page(tmp_path, monkeypatch):
    (tmp_path / "night.jsonl").write_text(lines(night()))
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(
        r"```python[^\n]*\n(from rota.reading import read\n.*?)```", PAGE.read_text(), re.DOTALL
    )
    exec(compile(code, str(PAGE), "exec"), {})
    assert [*read(["night.parquet"])] == night()


def test_without_pyarrow_it_is_said_what_is_missing(tmp_path, monkeypatch):
    write(tmp_path / "night.parquet", night()[:3])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ReadingError, match="install it"):
        next(read([str(tmp_path / "night.parquet")]))
    assert parquet.MISSING
