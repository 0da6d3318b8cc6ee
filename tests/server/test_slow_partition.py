"""A partition of the log whose disk hangs holds up the groups in it, and nobody else."""

import asyncio
import threading
from contextlib import nullcontext

import pytest

from harness.crashing_disk import CrashingDisk, Survival
from rota.coordinator import Append, OffsetBatch, OffsetRecord, TransactionMarker
from rota.log import LogOptions
from rota.log.data_folder import partition_of
from rota.server import DataDir, group_log, storage
from rota.server.group_log import DiskLog
from rota.server.settings import Settings
from rota.server.storage import Storage

PARTITIONS = 4
SLOW = 2
DATA = DataDir("/data")


class SlowDisk(CrashingDisk):
    """Calls about one partition's folder wait until `goes_on`, once it is `slow`."""

    def __init__(self):
        super().__init__()
        self.slow = False
        self.goes_on, self.met = threading.Event(), threading.Event()

    def called(self, what, path, changes=True):
        if self.slow and f"-{SLOW}/" in path:
            self.met.set()
            assert self.goes_on.wait(30)
        super().called(what, path, changes)


class Writing:
    """A log on a slow disk, in which a group of each partition has been written; `codes` are its answers."""

    patience = 30.0

    def __init__(self, sync_seconds=None):
        self.disk = SlowDisk()
        self.storage = Storage.open(DATA, PARTITIONS, LogOptions(), self.disk)
        self.codes = {}
        self.number = 0
        self.log = DiskLog(asyncio.get_running_loop(), self.codes.__setitem__, self.storage, sync_seconds)
        names = (f"g{number}" for number in range(100))
        self.groups = {partition_of(name, PARTITIONS): name for name in names}

    def commit(self, partition):
        """Appends an offset; the append's id."""
        return self.append(OffsetBatch((OffsetRecord("t", 0, self.number + 1, -1, "", 1),)), partition)

    def append(self, record, partition=0):
        self.number += 1
        self.log.append(Append(self.number, self.groups[partition], record))
        return self.number

    async def answered(self, *numbers):
        """Waits until these have an answer."""
        async with asyncio.timeout(self.patience):
            while not self.codes.keys() >= set(numbers):
                await asyncio.sleep(0.001)


def played(play, **options):
    """Runs `play(writing)`, with all partitions there and the slow one hanging; then all goes on."""

    async def main():
        writing = Writing(**options)
        await writing.answered(*[writing.commit(each) for each in range(PARTITIONS)])
        writing.disk.slow = True
        try:
            await play(writing)
        finally:
            writing.disk.goes_on.set()
        async with asyncio.timeout(30):
            await writing.log.drain()
        await writing.log.close(30)
        assert set(writing.codes) == set(range(1, writing.number + 1))
        assert set(writing.codes.values()) == {0}
        again = Storage.open(DATA, PARTITIONS, LogOptions(), writing.disk.powered_again(Survival("none")))
        found = {group.group_id: group.offsets[0][1].offset for group in again.groups()}
        again.close()
        return writing, found

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nobody else is there to lock out."""
    monkeypatch.setattr(storage, "locked", lambda path: nullcontext())


async def others_go_on(writing):
    slow = writing.commit(SLOW)
    for _ in range(5):
        others = [writing.commit(each) for each in range(PARTITIONS) if each != SLOW]
        await writing.answered(*others)
    behind = writing.commit(SLOW)
    await writing.answered(writing.commit(0))
    assert writing.disk.met.is_set()
    assert not {slow, behind} & set(writing.codes)


def test_groups_in_other_partitions_go_on():
    writing, found = played(others_go_on)
    assert found[writing.groups[SLOW]] > found[writing.groups[1]]


def test_planted_bug_one_partition_is_written_after_the_other(monkeypatch):
    monkeypatch.setattr(group_log, "WRITTEN_AT_ONCE", 0)
    monkeypatch.setattr(Writing, "patience", 0.5)
    with pytest.raises(TimeoutError):
        played(others_go_on)


def test_compaction_and_syncs_by_the_clock_hold_up_nobody_either(monkeypatch):
    monkeypatch.setattr(group_log, "COMPACTION_SECONDS", 0.001)

    async def play(writing):
        await others_go_on(writing)
        await asyncio.sleep(0.05)
        await writing.answered(writing.commit(1))

    played(play, sync_seconds=0.001)


def test_the_end_of_a_transaction_is_behind_all_and_before_all_that_follow():
    written = []

    async def play(writing):
        write = writing.storage.write

        def noted(appends):
            written.extend(each.append_id for each in appends)
            return write(appends)

        writing.storage.write = noted
        slow, other = writing.commit(SLOW), writing.commit(0)
        end = writing.append(TransactionMarker(7, True))
        after = writing.commit(0)
        await writing.answered(other)
        writing.disk.goes_on.set()
        await writing.answered(slow, end, after)
        last = writing.commit(0)
        await writing.answered(last)
        assert set(written[:2]) == {slow, other}
        assert written[2:] == [end, after, last]

    played(play)


def test_the_coordinator_knows_where_its_groups_are():
    config = Settings.of({"offsets.topic.num.partitions": 7}).coordinator
    names = [f"group-{number}" for number in range(50)] + ["", "x" * 500]
    assert [config.partition_of(name) for name in names] == [partition_of(name, 7) for name in names]
    assert len({config.partition_of(name) for name in names}) == 7
