"""A server that keeps its groups: what is there after a restart, and what a disk does that fails."""

import errno
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from rota.coordinator import Append, ErrorCode, OffsetBatch, OffsetRecord
from rota.log import Disk, Fsync, LogOptions
from rota.server import DataDir, StorageError, running
from rota.server import group_log as group_logs
from rota.server.storage import Storage

SETTINGS = {"group.initial.rebalance.delay.ms": 0}


@pytest.fixture
def data_dir(tmp_path):
    return DataDir(str(tmp_path / "data"))


@pytest.fixture
def server(data_dir, connect):
    """Starts a server on the folder; gives a client of it."""

    @contextmanager
    def start(data=data_dir, **settings):
        named = {name.replace("_", "."): value for name, value in settings.items()}
        with running({**SETTINGS, **named}, data_dir=data) as address:
            one = connect(address)
            one.address = address
            one.call("Metadata", 9, topics=[{"name": "t"}], allow_auto_topic_creation=True)
            yield one

    return start


def commit(client, group, offset, metadata="", **more):
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": metadata}
    topics = [{"name": "t", "partitions": [partition]}]
    body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics, **more}
    (topic,) = client.call("OffsetCommit", 8, **body)["topics"]
    return topic["partitions"][0]["error_code"]


def committed(client, group):
    topics = client.call("OffsetFetch", 7, group_id=group, topics=None)["topics"]
    return [partition["committed_offset"] for topic in topics for partition in topic["partitions"]]


def stable(client, group="g"):
    """A member with an assignment, in generation 1."""
    protocols = [{"name": "range", "metadata": b"subscription"}]
    timeouts = {"session_timeout_ms": 20_000, "rebalance_timeout_ms": 30_000}
    joining = {"group_id": group, "member_id": "", "protocol_type": "consumer", "protocols": protocols}
    member = client.call("JoinGroup", 3, **joining, **timeouts)["member_id"]
    shares = [{"member_id": member, "assignment": b"share"}]
    syncing = {"group_id": group, "generation_id": 1, "member_id": member, "assignments": shares}
    assert client.call("SyncGroup", 3, **syncing)["error_code"] == 0
    return member


def states(client):
    return {group["group_id"]: group["group_state"] for group in client.call("ListGroups", 4)["groups"]}


def test_a_restart_changes_nothing(server):
    with server() as one:
        member = stable(one)
        assert commit(one, "g", 3, "kept", generation_id_or_member_epoch=1, member_id=member) == 0
        assert commit(one, "simple", 4) == 0
        described = one.call("DescribeGroups", 5, groups=["g", "simple"])
    for _ in range(2):
        with server() as one:
            assert (
                one.call("Heartbeat", 3, group_id="g", generation_id=1, member_id=member)["error_code"] == 0
            )
            assert one.call("DescribeGroups", 5, groups=["g", "simple"]) == described
            assert (committed(one, "g"), committed(one, "simple")) == ([3], [4])
            assert states(one) == {"g": "Stable", "simple": "Empty"}


def test_what_was_deleted_stays_so_with_its_offsets(server):
    with server() as one:
        assert commit(one, "g", 3) == 0
        assert commit(one, "h", 3) == 0
        assert one.call("DeleteGroups", 1, groups_names=["g"])["results"][0]["error_code"] == 0
        topics = [{"name": "t", "partitions": [{"partition_index": 0}]}]
        assert one.call("OffsetDelete", 0, group_id="h", topics=topics)["error_code"] == 0
    with server() as one:
        assert states(one) == {}
        assert committed(one, "g") == committed(one, "h") == []


def test_a_group_is_deleted_with_commits_that_the_log_has_not_answered_yet(server, connect, monkeypatch):
    write = Storage.write
    with server() as one:
        held = threading.Event()
        monkeypatch.setattr(Storage, "write", lambda *given: held.wait(10) and write(*given))
        other = connect(one.address)
        partition = {"partition_index": 0, "committed_offset": 2, "committed_metadata": ""}
        topics = [{"name": "t", "partitions": [partition]}]
        one.send(
            "OffsetCommit", 2, group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=topics
        )
        time.sleep(0.1)
        other.send("DeleteGroups", 1, groups_names=["g"])
        time.sleep(0.1)
        held.set()
        assert one.receive()["topics"][0]["partitions"][0]["error_code"] == 0
        assert other.receive()["results"][0]["error_code"] == 0
    with server() as one:
        assert states(one) == {}


def test_what_is_too_large_does_not_take_others_with_it(data_dir):
    storage = Storage.open(data_dir, 1, LogOptions(max_batch_bytes=400))
    records = (OffsetRecord("t", 0, 5, -1, "m" * size, 1) for size in (10, 500, 200, 200))
    appends = [Append(number, "g", OffsetBatch((record,))) for number, record in enumerate(records)]
    assert storage.write(appends) == [0, ErrorCode.MESSAGE_TOO_LARGE, 0, 0]
    storage.close()


class MeetingDisk(Disk):
    """A sync of a file ends when as many are under way as shall be at the same time."""

    together = threading.Barrier(1)

    def open(self, path, create=False):
        file = super().open(path, create)
        sync = file.sync

        def meeting():
            self.together.wait(30)
            sync()

        file.sync = meeting
        return file


def test_partitions_are_synced_at_the_same_time(data_dir):
    disk = MeetingDisk()
    storage = Storage.open(data_dir, 50, LogOptions(), disk)
    record = OffsetRecord("t", 0, 5, -1, "", 1)
    appends = [Append(number, str(number), OffsetBatch((record,))) for number in range(10)]
    assert storage.write(appends) == [0] * 10
    disk.together = threading.Barrier(10)
    assert storage.write(appends) == [0] * 10
    disk.together = threading.Barrier(1)
    storage.close()


def test_what_the_format_cannot_carry_does_not_either(data_dir):
    storage = Storage.open(data_dir, 1, LogOptions())
    record = OffsetRecord("t", 0, 5, -1, "", 1)
    appends = [
        Append(number, group, OffsetBatch((record,))) for number, group in enumerate(("g" * 40_000, "g"))
    ]
    assert storage.write(appends) == [ErrorCode.UNKNOWN_SERVER_ERROR, 0]
    storage.close()


def test_a_slow_disk_delays_only_what_waits_for_it(server, connect, monkeypatch):
    write, held = Storage.write, threading.Event()

    def slow(*given):
        held.wait(30)
        return write(*given)

    with server() as one:
        member = stable(one)
        monkeypatch.setattr(Storage, "write", slow)
        partition = {"partition_index": 0, "committed_offset": 2, "committed_metadata": ""}
        topics = [{"name": "t", "partitions": [partition]}]
        who = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": member}
        one.send("OffsetCommit", 2, **who, topics=topics)
        other = connect(one.address)
        for _ in range(20):
            assert (
                other.call("Heartbeat", 3, group_id="g", generation_id=1, member_id=member)["error_code"] == 0
            )
            assert committed(other, "g") == []
        held.set()
        assert one.receive()["topics"][0]["partitions"][0]["error_code"] == 0
        assert committed(other, "g") == [2]


def test_what_comes_while_the_disk_is_busy_is_written_together(server, connect, monkeypatch):
    write, sizes, held = Storage.write, [], threading.Event()

    def counted(storage, appends):
        sizes.append(len(appends))
        held.wait(10)
        return write(storage, appends)

    with server(offsets_topic_num_partitions=1) as one:
        monkeypatch.setattr(Storage, "write", counted)
        others = [connect(one.address) for _ in range(12)]
        partition = {"partition_index": 0, "committed_offset": 2, "committed_metadata": ""}
        topics = [{"name": "t", "partitions": [partition]}]
        for number, other in enumerate(others):
            who = {"group_id": f"g{number}", "generation_id_or_member_epoch": -1, "member_id": ""}
            other.send("OffsetCommit", 2, **who, topics=topics)
            time.sleep(0.1 if number == 0 else 0)
        one.call("ListGroups", 4)
        time.sleep(0.1)
        held.set()
        for other in others:
            assert other.receive()["topics"][0]["partitions"][0]["error_code"] == 0
    assert sizes == [1, 11]


class FullDisk(Disk):
    """Takes no byte more once it is full, as a disk does."""

    full = False

    def open(self, path, create=False):
        file = super().open(path, create)
        append = file.append

        def append_or_not(data):
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return append(data)

        file.append = append_or_not
        return file


def test_a_full_disk_is_told_and_nothing_is_acknowledged(server, monkeypatch):
    disk = FullDisk()
    opened = Storage.open
    monkeypatch.setattr(Storage, "open", staticmethod(lambda *given: opened(*given, disk)))
    not_coordinator = 16
    with server() as one:
        member = stable(one)
        assert commit(one, "simple", 1) == 0
        disk.full = True
        assert commit(one, "simple", 2) == not_coordinator
        assert committed(one, "simple") == [1]
        who = {"generation_id_or_member_epoch": 1, "member_id": member}
        assert commit(one, "g", 2, **who) == not_coordinator
        left = one.call("LeaveGroup", 2, group_id="g", member_id=member)
        assert left["error_code"] == not_coordinator
        disk.full = False
        assert commit(one, "simple", 3) == 0
    with server() as one:
        assert committed(one, "simple") == [3]
        assert committed(one, "g") == []


def test_a_record_that_is_too_large_is_refused_alone(server):
    unknown_server_error = -1
    with server(message_max_bytes=500) as one:
        assert commit(one, "g", 1, "m" * 600) == unknown_server_error
        assert commit(one, "g", 2, "m" * 300) == 0
        assert committed(one, "g") == [2]
    with server() as one:
        assert committed(one, "g") == [2]


def test_the_log_is_compacted_while_it_is_written(server, data_dir, monkeypatch):
    monkeypatch.setattr(group_logs, "COMPACTION_SECONDS", 0.05)
    with server(DataDir(data_dir.path, Fsync.NEVER), offsets_topic_segment_bytes=2048) as one:
        for offset in range(400):
            assert commit(one, "g", offset, "m" * 50) == 0
        deadline = time.monotonic() + 10
        while size(data_dir) > 8192 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert size(data_dir) <= 8192
        assert commit(one, "g", 400) == 0
    with server() as one:
        assert committed(one, "g") == [400]


def size(data_dir):
    folders = [path for path in os.scandir(data_dir.path) if path.is_dir()]
    files = [file for folder in folders for file in os.scandir(folder.path)]
    return sum(file.stat().st_size for file in files if file.name.endswith(".log"))


@pytest.mark.parametrize("fsync", Fsync)
def test_each_policy_keeps_what_a_stop_leaves(server, data_dir, fsync):
    data = DataDir(data_dir.path, fsync, fsync_interval_ms=20)
    with server(data) as one:
        assert commit(one, "g", 5) == 0
        time.sleep(0.1)
        assert commit(one, "g", 6) == 0
    with server(data) as one:
        assert committed(one, "g") == [6]


def test_a_damaged_folder_is_refused_and_given_back(server, data_dir, tmp_path):
    with server() as one:
        for offset in range(3):
            assert commit(one, "g", offset) == 0
    (segment,) = (tmp_path / "data").glob("*/*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:70] + bytes([whole[70] ^ 1]) + whole[71:])
    with pytest.raises(StorageError, match="cannot read"), server():
        pass
    segment.write_bytes(whole)
    with server() as one:
        assert committed(one, "g") == [2]


def test_two_servers_do_not_share_a_folder(server, connect):
    with server() as one:
        with pytest.raises(StorageError, match="another server is using"), server():
            pass
        assert commit(one, "g", 1) == 0


def test_a_torn_tail_is_cut_and_told(server, data_dir, tmp_path, caplog):
    with server() as one:
        assert commit(one, "g", 1) == 0
    (segment,) = (tmp_path / "data").glob("*/*.log")
    with segment.open("ab") as file:
        file.write(segment.read_bytes()[:50])
    with server() as one:
        assert committed(one, "g") == [1]
    assert "cut off the end, which was torn" in caplog.text


def test_options_reach_the_log(monkeypatch, server):
    seen = []
    opened = Storage.open

    def noted(data_dir, partitions, options):
        seen.append((partitions, options))
        return opened(data_dir, partitions, options)

    monkeypatch.setattr(Storage, "open", staticmethod(noted))
    with server(offsets_topic_num_partitions=3, message_max_bytes=9999):
        assert seen == [(3, LogOptions(max_batch_bytes=9999))]


STUCK = """
import sys, threading
from rota.cli.serve import serve
from rota.log import PartitionFiles
right = PartitionFiles.sync_if_due
begun = []

def sync_if_due(self, now_ms):
    if begun:
        print("stuck", flush=True)
        threading.Event().wait(60)
    begun.append(1)
    return right(self, now_ms)

PartitionFiles.sync_if_due = sync_if_due
serve(["--data-dir", sys.argv[1]])
"""
"""A server whose disk takes a minute for every sync but the first."""


def test_a_stop_does_not_wait_for_a_disk_that_is_stuck(data_dir, server, connect):
    """Neither does the process's end; what was acknowledged is there, what was not may be."""
    command = [sys.executable, "-c", STUCK, data_dir.path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        client = connect(process.stdout.readline().split()[-1])
        client.call("Metadata", 9, topics=[{"name": "t"}], allow_auto_topic_creation=True)
        assert commit(client, "g", 1) == 0
        partition = {"partition_index": 0, "committed_offset": 2, "committed_metadata": ""}
        topics = [{"name": "t", "partitions": [partition]}]
        who = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
        client.send("OffsetCommit", 2, **who, topics=topics)
        assert process.stdout.readline() == "stuck\n"
        begun = time.monotonic()
        process.terminate()
        told = process.stderr.read()
        assert process.wait(20) == 0
        assert time.monotonic() - begun < 20
    assert "the disk has not taken everything within 1 s" in told
    assert "Traceback" not in told
    (answer,) = client.receive()["topics"]
    assert answer["partitions"][0]["error_code"] == ErrorCode.NOT_COORDINATOR
    with server() as one:
        assert committed(one, "g") in ([1], [2])
