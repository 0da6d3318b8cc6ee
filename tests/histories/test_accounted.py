"""Every event that is read is accounted for, or the run ends as an internal error and says how many are."""

from __future__ import annotations

import gc
import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, lines, own_nights, scattered
from harness.spark_here import Context
from rota.cli.main import main
from rota.explain.worst import Explainer
from rota.explore.collecting import rarely_collected
from rota.histories.on_spark import OnSpark, answer
from rota.histories.tasks import here
from rota.mutants.core import CoreBug, planted
from rota.validate import collecting
from rota.validate.account import Unaccounted


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Two nights, one event of them told twice, one that is no frame, one line that is no event."""
    folder = tmp_path_factory.mktemp("lake")
    scattered([*own_nights()[1], *own_nights()[3]], 2, folder / "frames", copies=1)
    beside = replace(own_nights()[1][0], group="", origin="elsewhere#1")
    (folder / "frames" / "more.jsonl").write_text(lines([beside]) + "no event\n")
    return folder / "frames"


def validated(lake, *more):
    found = CliRunner().invoke(main, ["validate", str(lake), "--unordered", *map(str, more)])
    return found.exit_code, found.stdout, found.stderr


def test_all_are_accounted_for(lake, tmp_path):
    code, said, _ = validated(lake, "--out", tmp_path, "--buckets", 2)
    assert code == validated(lake)[0] == 3, "one rests on what the broker runs with"
    events, *fates = map(int, re.search(r"events: (\d+) = (\d+) \D+(\d+) \D+(\d+) \D+(\d+) ", said).groups())
    assert events == sum(fates) > 80
    assert all(fates)


BUGS = (
    ("the plain run leaves out what comes second", "rota.cli.validate_run:Run.judged",
     "account.leave(TWICE, source, events)", "pass", True),
    ("what is about no group is not counted", "rota.validate.routing:Router._mark",
     "self._account.leave(MARKS if event.kind in _MARKS else OTHERS, FRAMES, 1)", "pass", True),
    ("a judge forgets what waits in the end", "rota.histories.judging:_History.leave",
     "self._history.end(self._ends)", "False", False),
    ("some rows are not routed", "rota.histories.routing:route",
     "own.add(row)", "own.add(row) if row[3] < 1_800_000_020 else None", False),
    ("an event is taken twice", "rota.histories.routing:route",
     "own.add(row)", "own.add(row), own.add(row)", False),
    ("a bucket's table is not written", "rota.histories.finishing:finish",
     "half.replace(target)", "half.replace(target if name != 'not_judged' else half)", False),
    ("what is told twice is nobody's", "rota.histories.routing:_means",
     '("", LEFT, 1, event.source.value, 0, TWICE)', '("", LEFT, 0, event.source.value, 0, TWICE)', False),
    ("a reader leaves out its last row", "rota.histories.runs:Runs.flush",
     "self._rows.sort()", "self._rows.sort(), self._rows.pop()", False),
)  # fmt: skip


@pytest.mark.parametrize(("name", "function", "old", "new", "plainly"), BUGS, ids=[one[0] for one in BUGS])
def test_what_is_lost_is_an_internal_error(lake, tmp_path, name, function, old, new, plainly):
    how = [] if plainly else ["--out", tmp_path, "--buckets", 2]
    with planted(CoreBug("", name, name, function, old, new)):
        code, _, said = validated(lake, *how)
    assert code == 4
    assert re.search(r"internal error: Unaccounted: of \d+ events( of \w*)? \d+ are accounted for", said)


def losing(kind, plan, ceiling, piece):
    """A worker that loses rows."""
    with planted(CoreBug("", "loses", "", *BUGS[2][1:4])):
        return answer(kind, plan, ceiling, piece)


def test_a_worker_that_loses_some_says_so(lake, tmp_path):
    as_tables([lake], tmp_path / "sound", terms_of(), run=OnSpark(Context()), unordered=True)
    with pytest.raises(Unaccounted, match="are accounted for"):
        as_tables(
            [lake], tmp_path / "losing", terms_of(), run=OnSpark(Context(), work=losing), unordered=True
        )


def looks_for_cycles(lake, out):
    """How often cycles of objects are looked for, for each task on Spark; whether what stays is put aside."""
    looks, kept = [], []

    def watched(*task):
        gc.callbacks.append(lambda phase, info: looks.append(phase == "start"))
        told = answer(*task)
        assert [[] for _ in range(100)], "it is looked when something is made"
        gc.callbacks.pop()
        kept.append(gc.get_freeze_count())
        return told

    with rarely_collected(200):
        as_tables([lake], out, terms_of(), run=OnSpark(Context(), work=watched), unordered=True)
    gc.unfreeze()
    return sum(looks) / len(kept), min(kept) > 0


def test_tasks_on_spark_look_for_cycles_once(lake, tmp_path, monkeypatch):
    assert looks_for_cycles(lake, tmp_path / "sound") == (1, True)
    with monkeypatch.context() as patch:
        patch.setattr(collecting, "gc", SimpleNamespace(collect=gc.collect, freeze=lambda: None))
        assert looks_for_cycles(lake, tmp_path / "not aside") == (1, False)
    monkeypatch.setattr(collecting, "uncollected", nullcontext)
    assert looks_for_cycles(lake, tmp_path / "often")[0] > 1


def left_of_tasks(lake, out, run):
    """Objects that told of rebalances and that tasks leave behind, on Spark or in this process."""
    as_tables([lake], out, terms_of(), run=run, unordered=True)
    gc.unfreeze()
    return sum(isinstance(one, Explainer) for one in gc.get_objects())


@pytest.mark.parametrize("run", [OnSpark(Context()), here], ids=["spark", "here"])
def test_tasks_leave_nothing_in_cycles(lake, tmp_path, run, monkeypatch):
    gc.collect()
    with rarely_collected(0):
        assert left_of_tasks(lake, tmp_path / "sound", run) == 0
        monkeypatch.setattr(collecting, "gc", SimpleNamespace(collect=lambda: 0, freeze=gc.freeze))
        assert left_of_tasks(lake, tmp_path / "leaks", run) > 0
