"""`rota serve --data-dir` for `bench.server`: commits with each fsync policy, and starts from a large log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.server_client import commits, compiled_load, group, topic_of_one_partition
from bench.server_sides import Side, rota

from rota.coordinator import Append, OffsetBatch, OffsetRecord
from rota.log import Fsync, LogOptions
from rota.server.settings import default
from rota.server.storage import DataDir, Storage

POLICIES = ("never", "1000", "always")
"""Values of --fsync."""

OFFSETS_OF_A_GROUP = 100

_WRITTEN_AT_ONCE = 1_000
_COMMITTED_MS = 4_102_444_800_000
"""In 2100: nothing of it has expired."""

Round = Callable[[], Sequence[float]]


@contextmanager
def commit_rounds(side: Side, members: int, under_way: int, program: Path, seconds: float) -> Iterator[Round]:
    """Commits a second by the compiled client, and microseconds of the server's processor for each."""
    topic = topic_of_one_partition(side.address)
    with group(side.address, members) as connected:
        lines = commits(connected, topic)

        def run() -> Sequence[float]:
            before = side.cpu_seconds()
            answers, took = compiled_load(program, connected, lines, under_way, seconds)
            return answers / took, 1e6 * (side.cpu_seconds() - before) / answers

        yield run


@contextmanager
def kept_commit_rounds(
    policy: str, members: int, under_way: int, program: Path, seconds: float
) -> Iterator[Round]:
    """The same of a server with a data folder, which is empty at first, and this fsync policy."""
    with (
        TemporaryDirectory(prefix="rota-bench-") as folder,
        rota("--data-dir", folder, "--fsync", policy) as side,
        commit_rounds(side, members, under_way, program, seconds) as run,
    ):
        yield run


def all_alive(records: int) -> Iterator[Sequence[OffsetRecord]]:
    """Each group has committed its partitions once, all of them together: nothing is overtaken."""
    for _ in range(records // OFFSETS_OF_A_GROUP):
        yield tuple(_record(index, 1) for index in range(OFFSETS_OF_A_GROUP))


def overtaken(records: int) -> Iterator[Sequence[OffsetRecord]]:
    """Each group has committed one partition again and again: of a hundred records one counts."""
    for count in range(OFFSETS_OF_A_GROUP):
        for _ in range(records // OFFSETS_OF_A_GROUP):
            yield (_record(0, count),)


def write_log(folder: Path, commits_in_order: Iterable[Sequence[OffsetRecord]], groups: int) -> None:
    """A data folder with these commits, of so many groups in turn, as the server's own writer makes it."""
    options = LogOptions(fsync=Fsync.NEVER)
    storage = Storage.open(DataDir(str(folder)), int(default("offsets.topic.num.partitions")), options)
    appends = (
        Append(number, f"group-{number % groups}", OffsetBatch(tuple(records)))
        for number, records in enumerate(commits_in_order)
    )
    try:
        while some := list(islice(appends, _WRITTEN_AT_ONCE)):
            assert not any(storage.write(some))
    finally:
        storage.close()


@contextmanager
def log_start_rounds(
    commits_of: Callable[[int], Iterable[Sequence[OffsetRecord]]], records: int
) -> Iterator[Round]:
    """Seconds from the start of `rota serve` to the line that says where it listens, and its processor's."""
    with TemporaryDirectory(prefix="rota-bench-") as folder:
        write_log(Path(folder), commits_of(records), records // OFFSETS_OF_A_GROUP)

        def run() -> Sequence[float]:
            began = perf_counter()
            with rota("--data-dir", folder) as side:
                return perf_counter() - began, side.cpu_seconds()

        yield run


def _record(index: int, offset: int) -> OffsetRecord:
    return OffsetRecord("topic", index, offset, 0, "", _COMMITTED_MS)
