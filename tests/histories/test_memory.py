"""What `--memory` says is kept by the process that makes tables: its rows are sorted in pieces that fit."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from harness.nights_apart import files, own_nights, scattered
from rota.cli.main import main
from rota.explore.spark import memory
from rota.histories import plan, results, tables, tasks
from rota.histories.plan import LEARNED, ROWS, learned_within, rows_within
from rota.linearise import learned
from rota.mutants.core import CoreBug, planted
from rota.validate.account import history_of

MIB = 1 << 20


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    events = [one for night in own_nights() for one in night]
    return scattered(events, 2, tmp_path_factory.mktemp("lake") / "frames")


def validated(lake, out, *more):
    return CliRunner().invoke(main, ["validate", str(lake), "--unordered", "--out", str(out), *more])


def test_fewer_rows_are_sorted_at_once_where_there_is_less_memory(lake, tmp_path, monkeypatch):
    assert rows_within(None) == rows_within(1 << 40) == ROWS[1]
    assert rows_within(1) == ROWS[0] < rows_within(200 * MIB) < ROWS[1]
    monkeypatch.setattr(plan, "ROWS", (20, ROWS[1]))
    monkeypatch.setattr(plan, "BESIDE", 512 * MIB)
    code = validated(lake, tmp_path / "little", "--memory", "512").exit_code
    assert code == validated(lake, tmp_path / "much").exit_code
    little, much = (len([*(tmp_path / name).glob("work/read/*/0*.arrow")]) for name in ("little", "much"))
    assert little > much == 2
    assert files(tmp_path / "little") == files(tmp_path / "much")


def test_less_of_what_is_learned_is_kept_where_there_is_less_memory():
    assert learned_within(None) is None
    assert learned_within(288 * MIB) == LEARNED[0] < learned_within(512 * MIB) < LEARNED[1]
    assert learned_within(1 << 40) == LEARNED[1]


def it_is_forgotten_in_time(lake, out):
    """Tables are begun anew between groups, and what is told of them is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "LEARNED", (40, 40))
        little = validated(lake, out / "little", "--memory", "512")
        kept = max(map(len, learned._OF.values()))
    assert little.exit_code == validated(lake, out / "much").exit_code
    assert files(out / "little") == files(out / "much")
    assert 0 < kept < max(map(len, learned._OF.values()))


def test_what_is_learned_is_forgotten_in_time(lake, tmp_path):
    it_is_forgotten_in_time(lake, tmp_path)


@pytest.mark.parametrize(("where", "old", "new"), [
    ("rota.histories.judging:judge", "(plan.folder, plan.learned)", "(plan.folder)"),
    ("rota.linearise.learned:learned_of", "found.is_full", "False"),
])  # fmt: skip
def test_what_is_kept_in_spite_of_it_is_found(lake, tmp_path, where, old, new):
    with planted(CoreBug("", "kept", "kept", where, old, new)), pytest.raises(AssertionError):
        it_is_forgotten_in_time(lake, tmp_path)


def what_is_more_is_refused(lake, out):
    def greedy(piece):
        return bytearray(1_024 * MIB)

    with pytest.MonkeyPatch.context() as patch:
        done = tasks._KINDS[tasks.JUDGE]
        patch.setitem(tasks._KINDS, tasks.JUDGE, lambda plan, piece: greedy(piece) and done(plan, piece))
        found = validated(lake, out, "--memory", "512")
    assert found.exit_code == 2
    assert "this process needs more than its share of the memory; give more with --memory" in found.stderr
    again = validated(lake, out, "--memory", "512")
    assert again.exit_code == validated(lake, out / "anew").exit_code
    assert "done before" in again.stderr


def test_what_is_more_is_refused_and_what_is_done_is_kept(lake, tmp_path):
    what_is_more_is_refused(lake, tmp_path)


def test_a_process_that_is_not_held_is_found(lake, tmp_path):
    bug = CoreBug("", "nobody holds it", "", "rota.explore.spark.memory:hold", "soft != wanted", "False")
    with planted(bug), pytest.raises(AssertionError):
        what_is_more_is_refused(lake, tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--memory", "287"], "--memory: 287 MiB are too little to judge; give 288 at least"),
        (["--master", "local[1]"], "--master is for Spark; add --engine spark"),
    ],
)
def test_what_does_not_go_is_refused(lake, tmp_path, given, said):
    found = validated(lake, tmp_path, *given)
    assert (found.exit_code, said in found.stderr) == (2, True)


def test_a_run_without_tables_has_no_bound(lake):
    found = CliRunner().invoke(main, ["validate", str(lake), "--memory", "512"])
    assert found.exit_code == 2
    assert "--memory is for tables; name a folder for them with --out" in found.stderr


def test_arrow_takes_no_more_than_it_needs():
    """In a process of its own, for Arrow looks once: its own pool would take a gigabyte."""
    asked = "import rota.histories.tables, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout == "system\n"


def test_the_limit_ends_with_the_run(lake, tmp_path):
    validated(lake, tmp_path, "--memory", "288")
    assert memory.resource.getrlimit(memory.resource.RLIMIT_DATA)[0] == memory._OWN


def test_few_files_of_a_table_are_open_at_a_time_and_names_are_read_when_asked_for(
    lake, tmp_path, monkeypatch
):
    """However many buckets there are: the driver has a share of the memory."""
    assert validated(lake, tmp_path, "--buckets", "40").exit_code == 1
    monkeypatch.setattr(tables, "MOST_FILES", 3)
    watched = Watched(tables._rows)
    monkeypatch.setattr(tables, "_rows", watched)
    whole = [(row["cluster"], row["group"]) for row in tables.rows(tmp_path, "verdicts")]
    assert whole == sorted(whole)
    assert len(watched.opened) == 40
    assert 1 < watched.most <= 3
    told = results.Names(tmp_path, len(whole))
    assert list(told) == [history_of(*key) for key in whole]
    assert told == {*told}
    assert f"{history_of(*whole[0])}?" not in told


class Watched:
    """Reads files, and counts those that are open at a time."""

    def __init__(self, read):
        self._read, self._open, self.most, self.opened = read, 0, 0, []

    def __call__(self, path, *more):
        self.opened.append(path)
        return self._watched(self._read(path, *more))

    def _watched(self, told):
        self._open += 1
        self.most = max(self.most, self._open)
        yield from told
        self._open -= 1
