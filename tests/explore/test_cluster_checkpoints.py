"""The Spark engine's checkpoints without Spark: it dies in every round, disks are full, files are damaged."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import toys

from harness.spark_here import Context
from harness.thinned import but
from rota.explore import CheckpointError, Limits, reference
from rota.explore.cache import folder as writing
from rota.explore.fast import search
from rota.explore.spark import engine as spark
from rota.explore.spark import session
from rota.explore.spark.answers import NoSpace
from rota.explore.spark.worker import plain_round, round
from rota.explore.spark.worker.visited import _Writer
from rota.kernel import System

SMALL = 1 << 20


class Died(BaseException):
    """Stands for the end of the driver's process."""


@pytest.fixture(autouse=True)
def _new_process() -> None:
    round._WORKERS.clear()
    plain_round._WORKERS.clear()


def run(system: System, folder: Path, die_after: int | None = None, resume: bool = False, **how: Any) -> Any:
    """Explore with a checkpoint; the driver dies once round `die_after` is done, before it is committed."""

    def dies(depth: int, *_: Any) -> None:
        if depth == die_after:
            raise Died

    limits = Limits(memory=SMALL, checkpoint=folder, resume=resume)
    return spark.explore(system, limits, context=Context(forget=True), progress=dies, **how)


def begun(system: System, folder: Path, rounds: int = 6, **how: Any) -> Path:
    """A folder with a search that ended in the round after."""
    with pytest.raises(Died):
        run(system, folder, rounds, **how)
    return folder


def resumed(system: System, folder: Path, **how: Any) -> Any:
    return run(system, folder, resume=True, **how)


@pytest.fixture
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether workers have numba."""
    monkeypatch.setattr(spark, "look_at", lambda context, say: session.Cluster(request.param, False))


both = pytest.mark.parametrize(
    "workers",
    [pytest.param(True, id="numba", marks=pytest.mark.long), pytest.param(False, id="plain")],
    indirect=True,
)


# ---- the driver dies


@both
@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("name", [pytest.param("die-hard-9", marks=pytest.mark.long), "broken-safety"])
def test_the_driver_dies_in_every_round(name: str, tmp_path: Path) -> None:
    system = toys.ALL[name]()
    slow = reference.explore(system)
    with pytest.raises(Died):
        run(system, tmp_path, 0)
    for depth in range(1, slow.depth if slow.violation else slow.depth + 1):
        with pytest.raises(Died):
            run(system, tmp_path, depth, resume=True)
    fast = resumed(system, tmp_path)
    assert fast.answer == slow.answer
    assert fast.violation == slow.violation


@pytest.mark.parametrize("when", but(["1", "5"], [1, 2, 5, 6]))
def test_the_driver_dies_before_and_after_each_file_of_a_commit(
    when: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, writes, original = toys.channel(), [0], writing.write

    def dying(when: int, before: bool) -> Callable[..., None]:
        def write(path: Path, content: bytes) -> None:
            writes[0] += 1
            if not (before and writes[0] == when):
                original(path, content)
            if writes[0] == when:
                raise Died

        return write

    slow = reference.explore(system)
    for before in (True, False):
        folder, writes[0] = tmp_path / f"{before}", 0
        monkeypatch.setattr(writing, "write", dying(when, before))
        with pytest.raises(Died):
            run(system, folder)
        monkeypatch.setattr(writing, "write", original)
        assert resumed(system, folder).answer == slow.answer


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
import toys
from harness.spark_here import Context
from rota.explore import Limits
from rota.explore.spark import engine as spark

def progress(depth, *_):
    if depth == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

limits = Limits(memory=1 << 20, checkpoint=Path(sys.argv[2]), resume=True)
spark.explore(toys.channel(), limits, context=Context(), progress=progress)
"""


def test_the_drivers_process_is_killed_and_another_goes_on(tmp_path: Path) -> None:
    for depth in (1, 4):
        given = [sys.executable, "-c", CHILD, str(Path(toys.__file__).parent), str(tmp_path), str(depth)]
        assert subprocess.run(given).returncode == -signal.SIGKILL
    result = resumed(toys.channel(), tmp_path)
    assert result.answer == reference.explore(toys.channel()).answer


# ---- disks are full


def test_a_small_disk_is_full_and_made_larger(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=150k", "tmpfs", str(tmp_path)]
    if os.getuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        with pytest.raises(NoSpace, match=r"no space is left .*; make room and go on with --resume"):
            run(toys.channel(), tmp_path)
        assert json.loads((tmp_path / "manifest.json").read_bytes())["level"] > 0
        subprocess.run(["mount", "-o", "remount,size=50m", str(tmp_path)], check=True)
        assert resumed(toys.channel(), tmp_path).answer == reference.explore(toys.channel()).answer
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("what", ["level", "block", "manifest"])
def test_no_space_for_a_file_of_any_kind(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers: dict[str, tuple[Any, str]] = {
        "level": (_Writer, "append"),
        "block": (Path, "write_bytes"),
        "manifest": (writing, "write"),
    }
    whose, method = writers[what]
    original, calls = getattr(whose, method), [0]

    def full(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] > 8:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*given)

    monkeypatch.setattr(whose, method, full)
    with pytest.raises(NoSpace, match="go on with --resume"):
        run(toys.channel(), tmp_path)
    monkeypatch.setattr(whose, method, original)
    assert resumed(toys.channel(), tmp_path).answer == reference.explore(toys.channel()).answer


def test_a_full_disk_of_sparks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> Any:
        raise RuntimeError("Job aborted: java.io.IOException: No space left on device")

    monkeypatch.setattr(Context, "runJob", full)
    with pytest.raises(NoSpace, match="begin again, or name a --checkpoint DIR"):
        spark.explore(toys.ring(), context=Context())


# ---- files are damaged


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def _later_round(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace('"round": 6', '"round": 5'), encoding="utf-8")


KINDS = {
    "manifest": "manifest.json",
    "numbers": "numbers-00001",
    "judged": "judged-00001",
    "level": "partition-*/level-00003-00",
    "index": "partition-*/level-00003-00.index",
    "run": "partition-*/run-of-*[0-9]",
    "block": "partition-*/out-00005/*",
}


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return begun(toys.channel(), tmp_path_factory.mktemp("half") / "run")


@pytest.fixture(scope="module")
def half_plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark, "look_at", lambda context, say: session.Cluster(False, False))
        return begun(toys.channel(), tmp_path_factory.mktemp("half") / "run")


def damaged(folder: Path, half: Path, kind: str, harm: Callable[[Path], None]) -> None:
    """Going on with a copy in which one file is harmed is refused, and costs no other file."""
    shutil.copytree(half, folder)
    chosen = sorted(folder.glob(KINDS[kind]))[0]
    harm(chosen)
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match=r"(begin again in|or give) an empty folder"):
        resumed(toys.channel(), folder)
    for name in KINDS.values():
        assert all(path.read_bytes() == there[path] for path in folder.glob(name))


@pytest.mark.parametrize(
    ("kind", "harm"),
    [
        pytest.param(kind, harm, id=f"{kind} {how}")
        for kind in KINDS
        for how, harm in (("flipped", _flip), ("cut", _cut), ("missing", Path.unlink))
        if (kind, how) != ("manifest", "missing")  # without it there is nothing to go on with
    ],
)
def test_a_damaged_file_is_refused(kind: str, harm: Any, half: Path, tmp_path: Path) -> None:
    damaged(tmp_path / "run", half, kind, harm)


@pytest.mark.parametrize("workers", [False], indirect=True)
@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("harm", [_flip, _cut, Path.unlink], ids=["flipped", "cut", "missing"])
@pytest.mark.parametrize("kind", ["level", "block"])
def test_a_damaged_file_of_plain_workers_is_refused(
    kind: str, harm: Any, half_plain: Path, tmp_path: Path
) -> None:
    damaged(tmp_path / "run", half_plain, kind, harm)


def test_a_manifest_that_says_something_else_is_refused(half: Path, tmp_path: Path) -> None:
    damaged(tmp_path / "run", half, "manifest", _later_round)


def test_unharmed_it_goes_on(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half, tmp_path / "run")
    assert resumed(toys.channel(), tmp_path / "run").answer == reference.explore(toys.channel()).answer


# ---- folders of others


def test_a_folder_is_not_taken_over_unasked(half: Path) -> None:
    with pytest.raises(CheckpointError, match="holds a search already; give --resume, or an empty folder"):
        run(toys.channel(), half)


@pytest.mark.parametrize(
    ("system", "how", "what"),
    [
        (toys.ring(), {}, "its system differs"),
        (toys.channel(total=5), {}, "its settings differs"),
        (toys.channel(), {"local_levels": 2}, "its local levels differs"),
    ],
    ids=["system", "settings", "local levels"],
)
def test_a_folder_of_another_search_is_refused(
    system: System, how: dict[str, Any], what: str, half: Path
) -> None:
    before = sorted(half.rglob("*"))
    with pytest.raises(CheckpointError, match=what):
        resumed(system, half, **how)
    assert sorted(half.rglob("*")) == before


def test_workers_that_have_numba_now_are_told_from_those_that_had_none(half_plain: Path) -> None:
    with pytest.raises(CheckpointError, match="begun by workers with no numba, and these have numba"):
        resumed(toys.channel(), half_plain)


def test_folders_of_other_engines_are_refused(half: Path, tmp_path: Path) -> None:
    limits = Limits(checkpoint=tmp_path)
    search.explore(toys.channel(), replace(limits, max_states=20))
    with pytest.raises(CheckpointError, match="its engine differs"):
        resumed(toys.channel(), tmp_path)
    with pytest.raises(CheckpointError, match="its engine differs"):
        search.explore(toys.channel(), Limits(checkpoint=half, resume=True))


# ---- what is left over


def test_what_did_not_count_is_swept_away(half: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(half, folder)
    left = [
        folder / "manifest.json.4711-a.half",
        folder / "numbers-00099.4711-a.half",
        folder / "partition-0001" / "level-00006-00.abc.part",
        folder / "partition-0001" / "out-00007" / "block",
    ]
    left[-1].parent.mkdir()
    for path in left:
        path.write_bytes(b"half")
    assert resumed(toys.channel(), folder).answer == reference.explore(toys.channel()).answer
    assert not [path for path in left if path.exists()]


def test_a_violation_found_out_of_order_has_a_folder_within(tmp_path: Path) -> None:
    system = toys.broken("safety")
    result = run(system, tmp_path, local_levels=3)
    assert result.violation == reference.explore(system).violation
    assert (tmp_path / spark.STRICT / "manifest.json").exists()
    assert resumed(system, tmp_path, local_levels=3).violation == result.violation
