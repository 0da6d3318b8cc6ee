"""The whole folder on a disk that loses power at any call: what was acknowledged is loaded again."""

from contextlib import nullcontext

import pytest

from harness.crashing_disk import CrashingDisk, PowerCut, Survival
from rota.coordinator import Append, OffsetBatch, OffsetRecord
from rota.log import LogOptions
from rota.server import DataDir, StorageError, storage
from rota.server.storage import Storage

OPTIONS = LogOptions(segment_bytes=400)
DATA = DataDir("/data")
GROUPS = ("a", "b", "c")
ROUNDS = 8
SURVIVALS = (Survival("all"), Survival("none"), *(Survival("seed", seed) for seed in range(3)))


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nobody else is there to lock out, and one thing happens after the other."""
    monkeypatch.setattr(storage, "locked", lambda path: nullcontext())
    monkeypatch.setattr(storage, "PARTITIONS_AT_ONCE", 1)


def live(disk, sent, acknowledged):
    """A server's life: commits, one for each group at a time, and a compaction in the middle."""
    kept = Storage.open(DATA, 2, OPTIONS, disk)
    for offset in range(ROUNDS):
        appends = [
            Append(number, group, OffsetBatch((OffsetRecord("t", 0, offset, -1, "m" * 60, 1),)))
            for number, group in enumerate(GROUPS)
        ]
        sent.update(dict.fromkeys(GROUPS, offset))
        for group, code in zip(GROUPS, kept.write(appends), strict=True):
            if code == 0:
                acknowledged[group] = offset
        if offset == ROUNDS // 2:
            for _ in kept.compacting():
                pass
    kept.close()


def loaded(disk):
    kept = Storage.open(DATA, 2, OPTIONS, disk)
    found = {group.group_id: group.offsets[0][1].offset for group in kept.groups()}
    kept.close()
    return found


def check(found, sent, acknowledged):
    """Each group has what was acknowledged last, or what was sent after that."""
    for group in GROUPS:
        assert acknowledged.get(group, -1) <= found.get(group, -1) <= sent.get(group, -1)


def test_what_was_acknowledged_is_there_wherever_the_power_goes_off():
    whole = CrashingDisk()
    live(whole, {}, {})
    assert len(whole.calls) > 150
    for call in range(len(whole.calls)):
        disk, sent, acknowledged = CrashingDisk(), {}, {}
        disk.cut_at = call
        with pytest.raises(PowerCut):
            live(disk, sent, acknowledged)
        for survival in SURVIVALS:
            check(loaded(disk.powered_again(survival)), sent, acknowledged)


@pytest.mark.parametrize("forgotten", ["sync", "sync_folder"])
def test_a_sync_that_is_forgotten_is_noticed(forgotten):
    disk, sent, acknowledged = CrashingDisk(), {}, {}
    disk.ignores = lambda what, path: what == forgotten
    live(disk, sent, acknowledged)
    with pytest.raises((AssertionError, StorageError)):
        check(loaded(disk.powered_again(Survival("none"))), sent, acknowledged)
