"""Histories judged in tasks: the same as in one run, however the data lies, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from harness.judged_frames import terms_of, with_a_gap
from harness.nights_apart import (
    Counting,
    as_tables,
    files,
    in_one_run,
    judged,
    lines,
    own_nights,
    scattered,
    told,
    verdicts,
)
from rota.histories import judging
from rota.histories.manifest import OtherRun
from rota.histories.pipeline import Pipeline
from rota.histories.runs import HALVES
from rota.histories.tables import rows
from rota.history import Event, Kind, Source
from rota.mutants.core import CoreBug, planted
from rota.reading.unordered import TWICE

DAY = 86_400.0


def all_events():
    return sorted((one for night in own_nights() for one in night), key=lambda one: one.at)


def with_other_sources(events):
    """A broker's log and records beside them, which do not agree; and a gap nobody knows where."""
    began = events[0].at
    log = [
        Event(began + place, Source.BROKER_LOG, f"server.log:{place}", kind, group, generation=generation,
              data={"members": 1})
        for place, (group, kind, generation) in enumerate(
            [("a", Kind.STABILIZED, 3), ("", Kind.LOADED, None), ("a", Kind.STABILIZED, 3),
             ("b", Kind.STABILIZED, 2), ("b", Kind.STABILIZED, 2)])
    ]  # fmt: skip
    members = {"members": [{"member": "m"}, {"member": "n"}], "protocol": "range"}
    stored = Event(began + 3, Source.OFFSETS, "__consumer_offsets-1@1", Kind.GROUP_STORED, "b", "m",
                   generation=2, data=members)  # fmt: skip
    gap = Event(began + 2, Source.FRAMES, "proxy.jsonl#9999", Kind.GAP, reason="packets were lost")
    return sorted([*events, *log, stored, gap], key=lambda one: one.at)


def agree(paths, tmp_path, terms, **how):
    """Tables tell what one run does; returns both accounts."""
    account, clusters = in_one_run(paths, terms, **how)
    pipeline, known = as_tables(paths, tmp_path / "out", terms, **how)
    found = told(pipeline, known)
    assert verdicts(tmp_path / "out") == [*account.verdicts()]
    assert found.account.not_checked == account.not_checked
    assert found.account.undecided == account.undecided
    assert found.account.quarantined == account.quarantined
    assert found.account.late == pytest.approx(account.late)
    assert found.account.reached == account.reached
    assert (found.compared, found.skews) == (clusters.compared, clusters.skews)
    ours, theirs = (sorted(map(str, one.as_json()["violations"])) for one in (found.account, account))
    assert [one.replace("'", "") for one in ours] == [one.replace("'", "") for one in theirs]
    return account


@pytest.mark.parametrize("more", [{}, {"fresh": True}, {"group": "rejoining"}], ids=str)
def test_tables_tell_what_one_run_does(tmp_path, more):
    folder = tmp_path / "lake" / "cluster=east"
    folder.mkdir(parents=True)
    (folder / "night.jsonl").write_text(lines(with_other_sources(all_events())))
    other = own_nights()[1]
    (tmp_path / "lake" / "other.jsonl").write_text(lines(with_a_gap(other, 0, 5, 9)) + '{"schema":1,"kind"')
    account = agree([tmp_path / "lake"], tmp_path, terms_of(**more))
    assert account.quarantined == 1
    if not more:
        assert account.standings["east", "late_members"].rules == {"admin.describe": 1}
        assert "join.list-is-the-membership" in account.standings["east", "b"].rules


def test_a_group_that_is_not_told_what_is_for_all_is_judged_otherwise(tmp_path, monkeypatch):
    (tmp_path / "night.jsonl").write_text(lines(with_other_sources(all_events())))
    monkeypatch.setattr(judging, "_for_all", lambda plan: {})
    with pytest.raises(AssertionError):
        agree([tmp_path / "night.jsonl"], tmp_path, terms_of())


def written_otherwise(path):
    """As another program may write the same events."""
    told = map(json.loads, path.read_text().splitlines())
    path.write_text("".join(json.dumps(dict(reversed(one.items()))) + "\n" for one in told))


def test_however_events_lie_the_verdicts_are_the_same(tmp_path):
    (tmp_path / "night.jsonl").write_text(lines(all_events()))
    account, _ = in_one_run([tmp_path / "night.jsonl"], terms_of())
    folder = scattered(all_events(), 4, tmp_path / "lake", copies=30)
    written_otherwise(folder / "0.jsonl")
    unordered = agree([folder], tmp_path, terms_of(), unordered=True)
    assert [*unordered.verdicts()] == [*account.verdicts()]
    assert unordered.not_checked[TWICE, "frames"] == 30
    as_it_lies, _ = in_one_run([folder], terms_of())
    assert [*as_it_lies.verdicts()] != [*account.verdicts()]
    as_tables([folder], tmp_path / "pieces", terms_of(), piece=5_000, unordered=True)
    assert verdicts(tmp_path / "pieces") == [*account.verdicts()]


def test_a_broken_line_is_named_where_it_stands(tmp_path):
    folder = scattered(all_events(), 1, tmp_path / "lake")
    whole = (folder / "0.jsonl").read_text().splitlines()
    (folder / "0.jsonl").write_text("\n".join([*whole[:50], "not at all", *whole[50:]]) + "\n")
    pipeline, known = as_tables([folder], tmp_path / "out", terms_of(), piece=5_000, unordered=True)
    found = told(pipeline, known)
    assert len(known.shards) > 5
    assert found.account.quarantined == 1
    broken = [one for one in rows(tmp_path / "out", "quarantined") if not one["group"]]
    assert [one["origin"] for one in broken] == [f"{folder / '0.jsonl'}:51"]
    assert broken[0]["reason"].startswith("no JSON")


def test_what_was_done_is_not_done_again(tmp_path):
    folder = scattered(all_events(), 4, tmp_path / "lake", copies=7)
    make = partial(as_tables, [folder], terms=terms_of(), unordered=True)
    at_once = Counting()
    make(tmp_path / "at-once", run=at_once)
    for stop in range(1, len(at_once.done)):
        first, then = Counting(stop), Counting()
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / f"{stop}", run=first)
        make(tmp_path / f"{stop}", run=then)
        assert first.done + then.done == at_once.done
        assert files(tmp_path / f"{stop}") == files(tmp_path / "at-once")


def goes_on_by_the_same_settings(tmp_path):
    """What was interrupted is not mixed with what is judged by other settings, nor divided otherwise."""
    folder = scattered(all_events(), 4, tmp_path / "lake", copies=7)
    make = partial(as_tables, [folder], unordered=True)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out", terms=terms_of(), run=Counting(6))
    with pytest.raises(OtherRun, match="has tables by terms"):
        make(tmp_path / "out", terms=terms_of(fresh=True))
    make(tmp_path / "out", terms=terms_of(), buckets=5)
    make(tmp_path / "whole", terms=terms_of())
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_an_interrupted_run_goes_on_by_the_same_settings(tmp_path):
    goes_on_by_the_same_settings(tmp_path)


def test_settings_that_are_written_in_the_end_are_too_late(tmp_path):
    bug = CoreBug("", "late", "late", "rota.histories.pipeline:Pipeline.tables", "before is None:", "False:")
    with planted(bug), pytest.raises((AssertionError, pytest.fail.Exception)):
        goes_on_by_the_same_settings(tmp_path)


def how_tables_are_packed(out):
    as_tables([scattered(all_events(), 1, out / "lake")], out / "out", terms_of(), unordered=True)
    read = [pq.ParquetFile(one).metadata for one in (out / "out").glob("*/part-*.parquet")]
    return {one.row_group(0).column(0).compression for one in read if one.num_rows}


def test_tables_are_packed_so_that_others_read_them(tmp_path):
    assert how_tables_are_packed(tmp_path / "sound") == {"ZSTD"}
    bug = CoreBug(
        "", "as rows", "as rows", "rota.histories.tables:write", "compression=PACKED", "compression='lz4'"
    )
    with planted(bug):
        assert how_tables_are_packed(tmp_path / "otherwise") != {"ZSTD"}


def test_later_files_have_only_their_groups_judged(tmp_path):
    nights = own_nights()
    first, last = [*nights[0], *nights[1][:20]], [*nights[1][20:], *nights[2], *nights[3]]
    lake = tmp_path / "lake"
    scattered(first, 2, lake / "day=2027-01-01")
    make = partial(as_tables, [lake], tmp_path / "out", terms_of(), unordered=True)
    pipeline, known = make()
    assert judged(known, pipeline) == 2
    scattered(last, 2, lake / "day=2027-01-02")
    pipeline, known = make()
    assert judged(known, pipeline) == 3, "one of them has begun in the files before"
    told(pipeline, known)
    account, _ = in_one_run([lake], terms_of(), unordered=True)
    assert verdicts(tmp_path / "out") == [*account.verdicts()]
    nothing = Counting()
    make(run=nothing)
    assert nothing.done == []


def comes_late(tmp_path):
    """Every other event lies in a file that comes when the others were judged, some of both in it again."""
    events, lake = all_events(), tmp_path / "lake"
    scattered(events[::2], 2, lake / "first")
    make = partial(as_tables, [lake], tmp_path / "out", terms_of(), unordered=True)
    told(*make())
    scattered([*events[1::2], *events[:9]], 2, lake / "then", copies=3)
    told(*make())
    account, _ = in_one_run([lake], terms_of(), unordered=True)
    assert account.not_checked[TWICE, "frames"] == 9 + 3
    assert verdicts(tmp_path / "out") == [*account.verdicts()]


def test_what_comes_late_is_judged_where_it_belongs(tmp_path):
    comes_late(tmp_path)


def test_a_conversation_that_goes_on_must_be_routed_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(Pipeline, "_again", lambda pipeline, known, new: frozenset())
    with pytest.raises(AssertionError):
        comes_late(tmp_path)


def test_a_file_that_has_changed_or_gone_is_refused(tmp_path):
    folder = scattered(all_events(), 2, tmp_path / "lake")
    make = partial(as_tables, [folder], tmp_path / "out", terms_of(), unordered=True)
    make()
    content = (folder / "0.jsonl").read_text()
    (folder / "0.jsonl").write_text(content + content.splitlines()[0] + "\n")
    with pytest.raises(OtherRun, match=r"0.jsonl has changed .*; name an empty folder"):
        make()
    (folder / "0.jsonl").unlink()
    with pytest.raises(OtherRun, match=r"0.jsonl was judged .* is not given now"):
        make()
    (folder / "0.jsonl").write_text(content)
    make()
    with pytest.raises(OtherRun, match="has tables by terms"):
        as_tables([folder], tmp_path / "out", terms_of(fresh=True), unordered=True)


@pytest.mark.long
def test_of_a_week_only_its_days_are_read(tmp_path):
    began = 1_800_000_000.0
    for day in range(12):
        events = [
            replace(one, at=one.at + day * DAY, origin=f"{day}-{one.origin}") for one in own_nights()[1]
        ]
        named = time.strftime("day=%Y-%m-%d", time.gmtime(began + day * DAY))
        scattered(events, 1, tmp_path / "lake" / named)
    command = [sys.executable, "-m", "rota", "validate", "lake", "--quiet", "--unordered"]
    asked = ["--since", "2027-01-19T00:00Z", "--until", "2027-01-21T00:00Z"]
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=False)
    here = run([*command, *asked, "--report", "verdicts=here.jsonl"])
    there = run([*command, *asked, "--report", "verdicts=there.jsonl", "--out", "out"])
    assert (here.stdout, here.returncode) == (there.stdout, there.returncode)
    assert (tmp_path / "here.jsonl").read_text() == (tmp_path / "there.jsonl").read_text()
    whole = run([*command, "--report", "verdicts=whole.jsonl"])
    assert whole.stdout != here.stdout
    assert len([*(tmp_path / "out" / "work" / "read").iterdir()]) == 5


def test_a_driver_that_is_killed_goes_on(tmp_path):
    folder = scattered(all_events(), 4, tmp_path / "lake", copies=7)
    command = [
        sys.executable,
        "-m",
        "rota",
        "validate",
        str(folder),
        "--unordered",
        "--buckets",
        "3",
        "--out",
    ]
    subprocess.run([*command, str(tmp_path / "whole")], capture_output=True, check=False)
    out = tmp_path / "killed"
    with subprocess.Popen(
        [*command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        until = time.monotonic() + 120
        while not list((out / "work").glob("routed/*/[0-9]*")) and time.monotonic() < until:
            time.sleep(0.002)
        os.kill(running.pid, signal.SIGKILL)
    assert not (out / "verdicts").exists(), "it was killed in time"
    (out / "work" / "read" / ".killed.elsewhere.1.half").mkdir()
    again = subprocess.run([*command, str(out)], capture_output=True, text=True, check=False)
    assert "done before" in again.stderr
    assert not [*out.rglob(HALVES)], "what was left half is swept away"
    assert files(out) == files(tmp_path / "whole")
    assert (out / "summary.json").read_bytes() == (tmp_path / "whole" / "summary.json").read_bytes()
