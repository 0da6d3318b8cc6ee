"""Power that goes off at any call, a process that is killed at any call: what the log promises holds after
it.

Each sync, and each cut, is left out once: something must be lost then, and the shortest run that shows it is
printed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import islice
from operator import itemgetter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.crashing_disk import CrashingDisk
from harness.log_runs import FAMILIES, Life, Run, Violation, play, random_run, shrunk, violates
from harness.thinned import but, some
from rota.log import frames, partition, recovery
from rota.log.cleaner import Group
from rota.log.folder import CLEANED, SWAP, Folder, segment_name
from rota.log.sidecars import Sealed


@pytest.mark.parametrize(
    "every", [10, pytest.param(1, marks=pytest.mark.long)], ids=["a sample", "without leaving one out"]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_small_runs_keep_what_was_promised(family: str, every: int) -> None:
    """Each call the last one, and each of the survivals; a tenth where not all are asked for (-m long).

    What is planted below shows in that tenth of some family, too.
    """
    runs = 0
    for runs, run in enumerate(FAMILIES[family](), 1):
        if runs % every == 0:
            play(run)
    assert runs > 200, "the family has become too small to show anything"


@pytest.mark.parametrize("failing", [False, True], ids=["ending", "failing"])
@pytest.mark.parametrize("examples", but(["1500"], [400, 1500]))
def test_longer_runs_keep_what_was_promised(examples: int, failing: bool) -> None:
    """Up to four lives, ended in appends, rolls, compactions, recoveries; with calls that fail or without."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(seed=st.integers(0, 2**32))
    def keeps_what_was_promised(seed: int) -> None:
        run = random_run(random.Random(seed), failing)
        violation = violates(run)
        if violation is not None:
            raise violates(shrunk(run)) or violation

    keeps_what_was_promised()


def place() -> str:
    """Which function of the log has called the disk."""
    frame = sys._getframe(3)
    while frame.f_code.co_filename.endswith("folder.py") and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name


def forgetting(what: str, where: str) -> Callable[[CrashingDisk], CrashingDisk]:
    """A log that forgets one thing: a disk that does not do it when it is called from there."""

    def ignores(called: str, path: str) -> bool:
        return called == what and where in ("", place())

    def wrap(disk: CrashingDisk) -> CrashingDisk:
        disk.ignores = ignores
        return disk

    return wrap


FORGOTTEN = {
    ("sync", ""): "anything",
    ("sync_folder", ""): "anything",
    ("truncate", ""): "full disk",
    ("sync", "_force"): "anything",
    ("sync", "rewrite"): "compaction",
    ("sync", "write_segments"): "anything",
    ("sync", "_open_active"): "killed",
    ("sync_folder", "run"): "killed, recovery cut",
    ("sync_folder", "_adopted"): "anything",
    ("sync_folder", "write_segments"): "anything",
    ("sync_folder", "roll"): "anything",
    ("sync_folder", "put_in_place"): "compaction",
    ("truncate", "_cut_torn"): "full disk",
    ("truncate", "_cut_off"): "torn",
    ("truncate", "write_segments"): "full in listing",
    ("truncate", "rewrite"): "full in rewriting",
}
"""What is forgotten, and in which function ("": everywhere) → a family of runs that finds it."""

LESS_KNOWN = {
    (
        "sync_folder",
        "_open_active",
    ): "keeps what recovery renamed from a later swap of that name; no run so small",
    ("sync", "_note_synced"): "a note that is lost makes what follows it be judged less strictly, never lost",
    ("sync", "_adopted"): "these runs have no folder of another broker's; test_adoption has",
}
"""What may be forgotten in these runs, and why."""


def found(family: str, wrap: Callable[[CrashingDisk], CrashingDisk] = lambda disk: disk) -> Violation:
    """The first violation of a family, whose runs come shortest first."""
    found = next(filter(None, (violates(run, wrap) for run in FAMILIES[family]())), None)
    assert found is not None, "no run shows it"
    return found


@pytest.mark.parametrize(
    ("what", "where"), some(FORGOTTEN, 4, kind=itemgetter(0)), ids=lambda name: name or "everywhere"
)
def test_nothing_may_be_forgotten(what: str, where: str) -> None:
    violation = found(FORGOTTEN[what, where], forgetting(what, where))
    print(violation)
    assert "life 1: open" in str(violation)


def test_each_sync_and_cut_is_among_them() -> None:
    """A new one has to be shown to be needed."""
    seen: set[tuple[str, str]] = set()

    def collecting(disk: CrashingDisk) -> CrashingDisk:
        def ignores(called: str, path: str) -> bool:
            seen.add((called, place()))
            return False

        disk.ignores = ignores
        return disk

    for family in FAMILIES.values():
        for run in islice(family(), 0, None, 50):
            play(run, collecting)
    assert seen == {key for key in FORGOTTEN if key[1]} | LESS_KNOWN.keys()


def test_a_log_that_checks_no_crc_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = frames.head

    def unchecked(batch: bytes) -> frames.Head:
        base, _, _, _, _, _, last_delta = frames._HEAD.unpack_from(batch)
        return frames.Head(base, len(batch), base + last_delta + 1)

    monkeypatch.setattr(frames, "head", unchecked)
    violation = found("anything")
    print(violation)
    monkeypatch.setattr(frames, "head", checked)


def test_a_compaction_that_deletes_before_the_swap_is_synced_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hasty(folder: Folder, group: Group, decide: Callable[[], None]) -> None:
        base = group[0].base
        folder.rename(segment_name(base, CLEANED), segment_name(base, SWAP))
        for one in group[1:]:
            folder.unlink(segment_name(one.base))
        folder.rename(segment_name(base, SWAP), segment_name(base))
        decide()

    monkeypatch.setattr(partition, "put_in_place", hasty)
    print(found("compaction"))


def test_a_recovery_that_trusts_the_cache_after_a_failed_sync_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process before was told that a sync failed; what it wrote is in memory only and looks synced."""
    life = Life(("one", "three"))
    runs = [
        Run((Life(life.does, None, "kill", fails=((call, 5),)), Life(("one",)))) for call in range(30, 60)
    ]
    assert not any(map(violates, runs))
    monkeypatch.setattr(recovery, "_write_again", lambda *arguments: None)
    assert any(map(violates, runs))


def test_a_violation_is_told_as_a_run() -> None:
    """The shortest one, in words, with the calls of its last life."""
    wrap = forgetting("sync", "_force")
    long = next(
        run for seed in range(500) if violates(run := random_run(random.Random(seed)), wrap) is not None
    )
    short = shrunk(long, wrap)
    assert short.length <= long.length
    told = str(violates(short, wrap))
    assert "fsync" in told
    assert "power" in told
    assert "calls of the last life: " in told


def test_a_recovery_that_ends_a_swap_before_it_looks_whether_it_was_decided_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the list of segments does not have takes the place of what it has."""

    def hasty(self: recovery.Recovery, sealed: Sealed) -> None:
        name, swap = segment_name(sealed.base), segment_name(sealed.base, SWAP)
        if self.folder.exists(swap):
            self.folder.rename(swap, name)
        elif not self._is(name, sealed):
            raise self._damage(name, sealed)

    monkeypatch.setattr(recovery.Recovery, "_check_sealed", hasty)
    print(found("recovery"))
