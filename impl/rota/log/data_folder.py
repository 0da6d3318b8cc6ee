"""The folder around the partitions of the offsets topic: whose it is, which groups are in which partition.

    rota-log.properties    the format's version, the number of partitions, the topic's id
    .lock                  held by the server that uses the folder, as Kafka does with its log folders
    __consumer_offsets-N   partition N, made when something is first written to it

A partition's folder is as Kafka has it, with `partition.metadata` (the topic's id, KIP-516) and
`leader-epoch-checkpoint` (KIP-101) beside its segments. Source: upstream's PartitionMetadataFile,
LeaderEpochCheckpointFile, GroupMetadataManager#partitionFor.
"""

from __future__ import annotations

import fcntl
import os
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID, uuid4

from rota.log.files import Disk, Files

TOPIC = "__consumer_offsets"
FORMAT = 1
"""The version of the folder's format."""

_MARKER, _LOCK = "rota-log.properties", ".lock"
_FOLDER = re.compile(re.escape(TOPIC) + r"-(0|[1-9][0-9]*)")


class DataFolderError(Exception):
    """A folder that cannot be used; the text says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A folder that is ours."""

    files: Files
    path: str
    partitions: int
    topic_id: UUID

    def folder(self, partition: int) -> str:
        """The path of a partition's folder."""
        return f"{self.path}/{TOPIC}-{partition}"

    def present(self) -> list[int]:
        """The partitions that have a folder, in order. Errors: DataFolderError for one too many; OSError."""
        found = sorted(
            int(match[1]) for name in self.files.names(self.path) if (match := _FOLDER.fullmatch(name))
        )
        if found and found[-1] >= self.partitions:
            raise DataFolderError(
                f"{self.folder(found[-1])} is one more than the {self.partitions} partitions of {self.path}; "
                "take it away, or take a folder with as many"
            )
        return found

    def prepare(self, partition: int) -> str:
        """Makes a partition's folder, if it is not there, with what Kafka wants in it. Errors: OSError."""
        folder = self.folder(partition)
        if not self.files.exists(folder):
            self.files.make_folder(folder)
            self.files.sync_folder(self.path)
        for name, text in {
            "partition.metadata": f"version: 0\ntopic_id: {kafka_uuid(self.topic_id)}\n",
            "leader-epoch-checkpoint": "0\n1\n0 0\n",
        }.items():
            if not self.files.exists(f"{folder}/{name}"):
                _write(self.files, folder, name, text)
        return folder


def open_folder(files: Files, path: str, partitions: int) -> DataFolder:
    """The folder at `path`, which is made if it is not there; the caller has locked it (see `locked`).

    Errors: DataFolderError for one that is somebody else's, of another format or another number of
    partitions, or cannot be read or written.
    """
    try:
        names = set(files.names(path)) - {_LOCK, f"{_MARKER}.new"}
        if _MARKER in names:
            return _known(files, path, partitions)
        if names:
            raise DataFolderError(
                f"{path} is not a folder of rota's: it has {min(names)} and no {_MARKER}; "
                "name an empty or a new one"
            )
        topic_id = uuid4()
        text = f"version={FORMAT}\noffsets.topic.num.partitions={partitions}\n"
        _write(files, path, _MARKER, f"{text}offsets.topic.id={topic_id}\n")
    except OSError as error:
        raise DataFolderError(_unusable(path, error)) from None
    return DataFolder(files, path, partitions, topic_id)


@contextmanager
def locked(path: str) -> Iterator[None]:
    """The folder, made if it is not there, is this server's alone within the block.

    The lock is both kinds that there are, since Kafka takes one and a second server in this process would not
    see that. Errors: DataFolderError.
    """
    try:
        _make(path)
        descriptor = os.open(f"{path}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DataFolderError(_unusable(path, error)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            text = f"another server is using {path}; stop it, or name another folder"
            raise DataFolderError(text) from None
        yield
    finally:
        os.close(descriptor)


KEPT_LENGTH = 100
"""Ids up to this length have their hash kept: it takes longer than all else that a commit does to its log."""


def partition_of(group_id: str, partitions: int) -> int:
    """The partition that a group's records are in: Java's hash of its id, without the sign."""
    signed = (_kept_hash if len(group_id) <= KEPT_LENGTH else _hash)(group_id)
    return 0 if signed == -(1 << 31) else abs(signed) % partitions


def _hash(group_id: str) -> int:
    """Java's of a string."""
    value = 0
    units = group_id.encode("utf-16-le", "surrogatepass")
    for index in range(0, len(units), 2):
        value = 31 * value + (units[index] | units[index + 1] << 8) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


_kept_hash = lru_cache(4_096)(_hash)


def kafka_uuid(value: UUID) -> str:
    """An id in Kafka's text form."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


def _make(path: str) -> None:
    """Makes a folder, and those that it is in, to be there after a power failure too. Errors: OSError."""
    missing, folder = [], os.path.abspath(path)
    while not os.path.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    os.makedirs(path, exist_ok=True)
    for made in missing:
        Disk().sync_folder(os.path.dirname(made))


def _known(files: Files, path: str, partitions: int) -> DataFolder:
    marker = f"{path}/{_MARKER}"
    file = files.open(marker)
    try:
        lines = file.read_at(0, file.size()).decode(errors="replace").splitlines()
    finally:
        file.close()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    try:
        version, count = int(found["version"]), int(found["offsets.topic.num.partitions"])
        topic_id = UUID(found["offsets.topic.id"])
    except (KeyError, ValueError):
        text = f"{marker} is damaged; restore it, or name another folder"
        raise DataFolderError(text) from None
    if version != FORMAT:
        raise DataFolderError(
            f"{path} has format {version}, this rota knows {FORMAT}; use the rota that made it"
        )
    if count != partitions:
        raise DataFolderError(
            f"{path} has {count} partitions, which decide where each group is; "
            f"set offsets.topic.num.partitions={count}, not {partitions}"
        )
    return DataFolder(files, path, count, topic_id)


def _write(files: Files, folder: str, name: str, text: str) -> None:
    """Writes a small file that is there whole or not at all."""
    path = f"{folder}/{name}"
    file = files.open(f"{path}.new", create=True)
    try:
        file.truncate(0)
        data = text.encode()
        while data:
            data = data[file.append(data) :]
        file.sync()
    finally:
        file.close()
    files.rename(f"{path}.new", path)
    files.sync_folder(folder)


def _unusable(path: str, error: OSError) -> str:
    return f"cannot use {path}: {error.strerror or error}; name a folder that can be written to"
