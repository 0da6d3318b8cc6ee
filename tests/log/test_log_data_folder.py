"""The folder around the partitions: whose it is, its lock, which group is where."""

import subprocess
import sys
from uuid import UUID

import pytest

from rota.log import Disk
from rota.log.data_folder import DataFolderError, kafka_uuid, locked, open_folder, partition_of


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("", 0), ("g", 3), ("simple", 26), ("polygenelubricants", 0), ("grüße", 23), ("🙂", 15)],
)  # fmt: skip
def test_the_partition_is_javas(group_id, partition):
    """As a JVM says; the hash of the fourth one has no absolute value."""
    assert partition_of(group_id, 50) == partition


def test_a_folder_is_found_again(tmp_path):
    path = str(tmp_path / "new")
    with locked(path):
        disk = Disk()
        made = open_folder(disk, path, 7)
        assert open_folder(disk, path, 7) == made
        made.prepare(3)
        made.prepare(3)
        assert made.present() == [3]
    partition = tmp_path / "new" / "__consumer_offsets-3"
    assert (
        partition / "partition.metadata"
    ).read_text() == f"version: 0\ntopic_id: {kafka_uuid(made.topic_id)}\n"
    assert (partition / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    assert kafka_uuid(UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_the_folder_itself_outlives_a_power_failure(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(Disk, "sync_folder", lambda disk, path: synced.append(path))
    for _ in range(2):
        with locked(str(tmp_path / "some" / "where")):
            pass
    assert synced == [str(tmp_path / "some"), str(tmp_path)]


def test_a_start_that_was_cut_short_is_no_foreign_folder(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / "rota-log.properties.new").write_text("vers")
    assert open_folder(Disk(), str(tmp_path), 7).present() == []


def spoiled(tmp_path, text):
    open_folder(Disk(), str(tmp_path), 7)
    (tmp_path / "rota-log.properties").write_text(text)


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda path: (path / "letter.txt").touch(), "is not a folder of rota's: it has letter.txt"),
        (lambda path: spoiled(path, "version=1\n"), "is damaged; restore it"),
        (lambda path: spoiled(path, "version=2\noffsets.topic.num.partitions=7\n"
         f"offsets.topic.id={UUID(int=1)}\n"), "has format 2, this rota knows 1; use"),
        (lambda path: open_folder(Disk(), str(path), 8), "set offsets.topic.num.partitions=8, not 7"),
    ],
)  # fmt: skip
def test_a_folder_that_is_not_ours_is_refused(tmp_path, prepare, told):
    prepare(tmp_path)
    with pytest.raises(DataFolderError, match=told):
        open_folder(Disk(), str(tmp_path), 7)


def test_a_partition_too_many_is_refused(tmp_path):
    folder = open_folder(Disk(), str(tmp_path), 7)
    (tmp_path / "__consumer_offsets-7").mkdir()
    with pytest.raises(DataFolderError, match="one more than the 7 partitions"):
        folder.present()


def test_a_file_in_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(DataFolderError, match="name a folder that can be written to"),
        locked(str(tmp_path / "file")),
    ):
        pass


def test_one_server_at_a_time(tmp_path):
    with (
        locked(str(tmp_path)),
        pytest.raises(DataFolderError, match="another server is using"),
        locked(str(tmp_path)),
    ):
        pass
    with locked(str(tmp_path)):
        pass


LOCK = "import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)"


def test_a_lock_of_kafkas_kind_counts(tmp_path):
    """Kafka's is a record lock, which another process holds or is refused."""
    lock = tmp_path / ".lock"
    with locked(str(tmp_path)):
        held = subprocess.run([sys.executable, "-c", LOCK, str(lock)], capture_output=True, check=False)
        assert b"BlockingIOError" in held.stderr
    program = f"{LOCK}; print(flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", program, str(lock)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(DataFolderError, match="another server is using"), locked(str(tmp_path)):
            pass
        other.stdin.close()
