"""Files of a search that was ended, damaged in every way: it is refused, or its answer is the one it has."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import toys

import rota.explore
from harness.spark_here import Context
from harness.thinned import some
from rota.explore import CheckpointError, Limits, Result
from rota.explore.cache import files
from rota.explore.cache.digest import digest_of
from rota.explore.checkpoint import Checkpoint
from rota.explore.fast import numpy_search, search
from rota.explore.manifest import MANIFEST
from rota.explore.spark import engine as spark
from rota.explore.spark import session
from rota.explore.spark.finished import NAME, Finished
from rota.explore.spark.worker import plain_round, round
from rota.explore.tables.arrays import Words

TINY = 1
"""Bytes of memory: all states that can be are on disk."""

EARLY, LATE = 3, 6
"""Levels after which searches are ended."""


class Died(BaseException):
    """Stands for the end of a process."""


def fast(limits: Limits, progress: Any) -> Result:
    return search.explore(toys.channel(), limits, progress=progress)


def on_disk(limits: Limits, progress: Any) -> Result:
    return search.explore(toys.channel(), replace(limits, memory=TINY, workers=2), progress=progress)


def on_spark(numba: bool) -> Callable[[Limits, Any], Result]:
    def explore(limits: Limits, progress: Any) -> Result:
        round._WORKERS.clear()
        plain_round._WORKERS.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spark, "look_at", lambda context, say: session.Cluster(numba, False))
            limits = replace(limits, memory=1 << 20)
            return spark.explore(toys.channel(), limits, context=Context(), progress=progress, partitions=2)

    return explore


WAYS: dict[str, Callable[[Limits, Any], Result]] = {
    "fast": fast,
    "on disk": on_disk,
    "spark": on_spark(True),
    "plain": on_spark(False),
}


@dataclass(frozen=True)
class Ended:
    """A search that was ended: what it comes to as a whole, its folder then, and some levels before."""

    explore: Callable[[Limits, Any], Result]
    whole: Result
    late: Path
    early: Path

    def goes_on(self, folder: Path) -> Result:
        return self.explore(Limits(checkpoint=folder, resume=True), None)


def until(depth: int) -> Callable[..., None]:
    def progress(at: int, *_: Any) -> None:
        if at >= depth:
            raise Died

    return progress


@pytest.fixture(scope="module", params=WAYS)
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    explore, place = WAYS[request.param], tmp_path_factory.mktemp("ended")
    late, early = place / "late", place / "early"
    with pytest.raises(Died):
        explore(Limits(checkpoint=late), until(EARLY))
    shutil.copytree(late, early)
    with pytest.raises(Died):
        explore(Limits(checkpoint=late, resume=True), until(LATE))
    return Ended(explore, explore(Limits(), None), late, early)


def refused(ended: Ended, folder: Path) -> str:
    """Going on is refused, in words that name a file or the folder, and what to do: these words."""
    with pytest.raises(CheckpointError) as caught:
        ended.goes_on(folder)
    said = str(caught.value)
    assert str(folder) in said
    assert "empty folder" in said
    return said


def exact(ended: Ended, folder: Path) -> None:
    """Going on gives the answer of the whole."""
    result = ended.goes_on(folder)
    assert (result.answer, result.violation) == (ended.whole.answer, ended.whole.violation)


def counting(folder: Path) -> list[Path]:
    """The files that a manifest names, by their paths within the folder; itself first."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    content = manifest["content"]
    names = [MANIFEST, *manifest["digests"]]
    for number, part in enumerate(content.get("parts", ())):
        runs = [*part["runs"], *(level["file"] for level in part["levels"])]
        present = [run["name"] for run in runs if run["states"]]
        indexed = [f"{name}.index" for name in present if content["compiled"]]
        names += [f"partition-{number:04d}/{name}" for name in dict.fromkeys([*present, *indexed])]
    names += [file["name"] for some in content.get("sent", ()) for file in some]
    return [folder / name for name in names]


def kind_of(path: Path) -> str:
    """What sort of file it is: files of one sort look alike."""
    kind = "block" if path.parent.name.startswith("out-") else path.name.partition("-")[0]
    return kind + path.suffix


def flipped(at: float) -> Callable[[bytes], bytes]:
    def flip(raw: bytes) -> bytes:
        place = min(int(at * len(raw)), len(raw) - 1)
        return raw[:place] + bytes([raw[place] ^ 4]) + raw[place + 1 :]

    return flip


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "first byte": flipped(0),
    "header": flipped(0.1),
    "body": flipped(0.6),
    "last byte": flipped(1),
    "empty": lambda raw: b"",
    "half": lambda raw: raw[: len(raw) // 2],
    "longer": lambda raw: raw + b"\0" * 8,
    "gone": lambda raw: None,
}


@pytest.mark.parametrize("damage", some(DAMAGES, 2))
def test_a_damaged_file_is_refused(damage: str, ended: Ended, tmp_path: Path) -> None:
    """One file of each sort, a different one for each damage; without its manifest a folder has nothing."""
    folder, at = tmp_path / "run", list(DAMAGES).index(damage)
    shutil.copytree(ended.late, folder)
    sorts: dict[str, list[Path]] = {}
    for path in counting(folder):
        sorts.setdefault(kind_of(path), []).append(path)
    assert len(sorts) >= 3
    for paths in sorts.values():
        path = paths[at % len(paths)]
        raw = path.read_bytes()
        harmed = DAMAGES[damage](raw)
        path.unlink() if harmed is None else path.write_bytes(harmed)
        if harmed is None and path.name == MANIFEST:
            path.write_bytes(raw)
            continue
        said = refused(ended, folder)
        assert path.name.removesuffix(".index") in said or "damaged" in said
        path.write_bytes(raw)
    exact(ended, folder)


def test_without_a_manifest_nothing_is_taken_over(ended: Ended, tmp_path: Path) -> None:
    shutil.copytree(ended.late, tmp_path / "run")
    (tmp_path / "run" / MANIFEST).unlink()
    exact(ended, tmp_path / "run")


def test_files_that_changed_places_are_refused(ended: Ended, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(ended.late, folder)
    tried = 0
    for one, other in pairwise(sorted(counting(folder), key=lambda path: (kind_of(path), path))):
        left, right = one.read_bytes(), other.read_bytes()
        if left != right and kind_of(one) == kind_of(other):
            one.write_bytes(right)
            other.write_bytes(left)
            refused(ended, folder)
            one.write_bytes(left)
            other.write_bytes(right)
            tried += 1
    assert tried >= 3
    exact(ended, folder)


def test_an_older_file_in_a_newer_ones_place_is_refused(ended: Ended, tmp_path: Path) -> None:
    """Well-formed, of the same run, of the level before."""
    folder, last = tmp_path / "run", dict[str, Path]()
    shutil.copytree(ended.late, folder)
    for path in sorted(counting(folder)):
        older, last[kind_of(path)] = last.get(kind_of(path), path), path
        raw = path.read_bytes()
        if older.read_bytes() != raw:
            path.write_bytes(older.read_bytes())
            refused(ended, folder)
            path.write_bytes(raw)
    exact(ended, folder)


def test_an_older_manifest_is_gone_on_with_or_refused(ended: Ended, tmp_path: Path) -> None:
    """Where all that it names is still there it is as good as it was; Spark deletes blocks that were read."""
    folder = tmp_path / "run"
    shutil.copytree(ended.late, folder)
    shutil.copy(ended.early / MANIFEST, folder / MANIFEST)
    if all(path.exists() for path in counting(folder)):
        exact(ended, folder)
    else:
        refused(ended, folder)
    shutil.copytree(ended.early, tmp_path / "early")
    exact(ended, tmp_path / "early")


def test_files_of_another_run_are_refused(ended: Ended, tmp_path: Path) -> None:
    """Of the same system, ended one level later."""
    other, folder = tmp_path / "other", tmp_path / "run"
    with pytest.raises(Died):
        ended.explore(Limits(checkpoint=other), until(LATE + 1))
    shutil.copytree(ended.late, folder)
    shutil.copy(other / MANIFEST, folder / MANIFEST)
    refused(ended, folder)


# ---- files that somebody has made


class Marks:
    """Its pickle makes a folder when it is read."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.place),)


def signed(folder: Path) -> None:
    """Give a manifest the digests of the files that are there, and its own."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    content = manifest["content"]
    for name in manifest["digests"]:
        manifest["digests"][name] = digest_of((folder / name).read_bytes())
    for number, part in enumerate(content.get("parts", ())):
        for run in (*part["runs"], *(level["file"] for level in part["levels"])):
            if run["states"]:
                path = folder / f"partition-{number:04d}" / run["name"]
                run["digest"] = digest_of(path.read_bytes())
    for file in (file for sent in content.get("sent", ()) for file in sent):
        file["digest"] = digest_of((folder / file["name"]).read_bytes())
    del manifest["digest"]
    digest = digest_of(json.dumps(manifest, sort_keys=True).encode())
    (folder / MANIFEST).write_text(json.dumps({"digest": digest, **manifest}), encoding="utf-8")


def crafted(raw: bytes, place: Path, scratch: Path) -> Iterator[bytes]:
    """Contents that make a folder if somebody unpickles or imports them: bare, as long, and in the format."""
    bare = pickle.dumps(Marks(place))
    yield bare
    yield bare.ljust(len(raw), b"\0")[: len(raw)]
    with zipfile.ZipFile(scratch, "w") as archive:
        archive.writestr("__main__.py", f"import os\nos.mkdir({str(place)!r})\n")
        archive.writestr("states.npy", bare)
    yield scratch.read_bytes()
    if raw.startswith(files.MAGIC):
        about, parts = files.unpacked(raw)
        yield files.packed(about, dict.fromkeys(parts, bare))
        if about:
            yield files.packed({name: [["os", "mkdir"]] for name in about}, parts)
        head = json.dumps({"about": about, "parts": [("states", 8, ["|O", 1])]}).encode()
        content = len(head).to_bytes(8, "big") + head + bytes(8)
        yield files.MAGIC + bytes.fromhex(digest_of(content)) + content


@pytest.mark.parametrize("with_digests", [False, True], ids=["planted", "planted with digests"])
def test_a_crafted_file_runs_nothing(with_digests: bool, ended: Ended, tmp_path: Path) -> None:
    folder, mark = tmp_path / "run", tmp_path / "mark"
    shutil.copytree(ended.late, folder)
    there = (folder / MANIFEST).read_bytes()
    for path in {kind_of(path): path for path in counting(folder)}.values():
        raw = path.read_bytes()
        for content in crafted(raw, mark, tmp_path / "scratch"):
            path.write_bytes(content)
            if with_digests and path.name != MANIFEST:
                signed(folder)
            refused(ended, folder)
            assert not mark.exists()
            path.write_bytes(raw)
            (folder / MANIFEST).write_bytes(there)
    exact(ended, folder)
    pickle.loads(pickle.dumps(Marks(mark)))
    assert mark.exists(), "who unpickles it would have been seen"


def unpickling(tree: ast.Module) -> Iterator[str]:
    """What a module has that makes anything of bytes but values: imports, calls, arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from (name for name in names if name.partition(".")[0] in UNPICKLERS)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            last = called.rpartition(".")[2]
            if last in ("load", "loads", "eval", "exec", "fromstring") and called not in KNOWN:
                yield called
            yield from (word.arg for word in node.keywords if word.arg == "allow_pickle")


UNPICKLERS = frozenset({"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"})


KNOWN = frozenset({"json.loads", "store.load"})
"""Calls that sound like it: the latter is of tables, by the kernel's decoder."""


PIPES = frozenset({"elsewhere.py", "purity.py"})
"""What a process sends to one that it has started, over a pipe, or copies for itself, is no file."""


def test_no_module_of_the_engines_unpickles() -> None:
    modules = sorted(Path(rota.explore.__path__[0]).rglob("*.py"))
    assert len(modules) > 50
    for module in modules:
        if module.name in PIPES:
            continue
        assert not list(unpickling(ast.parse(module.read_text(encoding="utf-8")))), module
    for planted in (
        "import pickle",
        "from pickle import loads as json",
        "import numpy as np\nnp.load(path)",
        "np.memmap(path, allow_pickle=True)",
        "def late():\n    from marshal import loads",
        "eval(text)",
    ):
        assert list(unpickling(ast.parse(planted))), planted


# ---- processes that are killed


class Cut:
    """The file system, until the process is killed: at some call, half of which is done; nothing after it."""

    CALLS = ("write_bytes", "replace", "unlink", "mkdir", "open")

    def __init__(self, patch: pytest.MonkeyPatch, last: int) -> None:
        self.calls, self._last = 0, last
        for name in self.CALLS:
            patch.setattr(Path, name, self._cut(name, getattr(Path, name)))

    def _cut(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Path, *given: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls < self._last:
                return real(path, *given, **named)
            if self.calls == self._last and name == "write_bytes":
                with open(path, "wb") as file:
                    file.write(given[0][: len(given[0]) // 2])
            raise Died

        return call


def small(limits: Limits, progress: Any) -> Result:
    return search.explore(toys.counters(2, 2), limits, progress=progress)


@pytest.mark.parametrize(
    ("explore", "stride"),
    [
        (small, 3),
        pytest.param(small, 1, marks=pytest.mark.long),
        (fast, 13),
        pytest.param(WAYS["spark"], 23, marks=pytest.mark.long),
        (WAYS["plain"], 17),
    ],
)
def test_killed_at_any_call_it_goes_on_from_the_level_before(
    explore: Callable[[Limits, Any], Result], stride: int, tmp_path: Path
) -> None:
    last, whole = 0, explore(Limits(), None)
    while True:
        last += stride
        folder = tmp_path / str(last)
        with pytest.MonkeyPatch.context() as patch:
            cut = Cut(patch, last)
            with suppress(Died):
                explore(Limits(checkpoint=folder), None)
        if cut.calls < last:
            break
        committed = (folder / MANIFEST).exists()
        result = explore(Limits(checkpoint=folder, resume=True), None)
        assert (result.answer, result.violation) == (whole.answer, whole.violation)
        assert ("resumed" in result.stats) == committed
        shutil.rmtree(folder)
    assert last > 7 * stride


# ---- mistakes planted in the engine's own writing


def test_a_checkpoint_that_skips_a_state_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = Checkpoint.save

    def skips(self: Checkpoint, layout: Any, levels: list[list[Words]], *rest: Any) -> None:
        save(self, layout, [[array[:-1] for array in level] for level in levels], *rest)

    monkeypatch.setattr(Checkpoint, "save", skips)
    with pytest.raises(Died):
        fast(Limits(checkpoint=tmp_path), until(LATE))
    with pytest.raises(CheckpointError, match="its states are not those that were counted"):
        fast(Limits(checkpoint=tmp_path, resume=True), None)


def test_a_checkpoint_that_mixes_up_two_levels_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = Checkpoint.levels
    monkeypatch.setattr(Checkpoint, "levels", lambda self, values: reversed(list(levels(self, values))))
    with pytest.raises(Died):
        fast(Limits(checkpoint=tmp_path), until(LATE))
    with pytest.raises(CheckpointError, match="its states are not those that were counted"):
        fast(Limits(checkpoint=tmp_path, resume=True), None)


# ---- finished configurations, kept tables


@pytest.fixture
def record(tmp_path: Path) -> Finished:
    return Finished(tmp_path / "one", toys.broken("step"), Limits(resume=True), {})


def test_a_damaged_record_is_none_and_runs_nothing(record: Finished, tmp_path: Path) -> None:
    result = search.explore(toys.broken("step"))
    record.write(result)
    assert record.read() == result
    path, mark = tmp_path / "one" / NAME, tmp_path / "mark"
    raw = path.read_bytes()
    for content in (*(harm(raw) for harm in DAMAGES.values()), *crafted(raw, mark, tmp_path / "scratch")):
        path.unlink() if content is None else path.write_bytes(content)
        with suppress(CheckpointError):  # one that says to be of another search
            assert record.read() is None
        assert not mark.exists()
        path.write_bytes(raw)
    assert record.read() == result


def test_tables_of_another_system_in_this_ones_place_are_not_used(tmp_path: Path) -> None:
    limits = Limits(cache=tmp_path)
    whole = {size: numpy_search.explore(toys.ring(size), limits).answer for size in (3, 4)}
    one, other = sorted(tmp_path.iterdir())
    left, right = one.read_bytes(), other.read_bytes()
    one.write_bytes(right)
    other.write_bytes(left)
    for size in (3, 4):
        result = numpy_search.explore(toys.ring(size), limits)
        assert result.answer == whole[size]
