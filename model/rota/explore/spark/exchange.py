"""How blocks of states get from partition to partition: Spark's shuffle, or files that all workers see.

An exchange has two methods: `inbox` is an RDD whose partitions have the blocks that were sent to them, and
`put` lets a task work on each and gives the answers. Of Spark only the RDD interface is used.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from rota.explore.cache.digest import digest_of
from rota.explore.spark.protocol import Answer, BlockFile, Damaged, Report, TaskOutput

Task = Callable[[int, Iterable[bytes]], TaskOutput]
"""A partition's round: its number and the blocks for it -> what it leaves behind."""

COPY = -1
"""Addressee of what is only kept: copies of levels, in case a worker is lost."""


class Incomplete(RuntimeError):
    """Not all that was sent has arrived. Spark has repeated a task of a round that is long over, in vain."""


class Exchange(Protocol):
    """Where blocks wait between two rounds."""

    def inbox(self) -> Any:
        """An RDD of what the last `put` has sent."""
        ...

    def put(self, round_: int, inbox: Any, task: Task) -> list[Answer]:
        """Run a task on each partition of an inbox; the answers in any order.

        Once more with the same inbox if a round was for nothing: then what it sent before is forgotten.
        """
        ...

    def asked(self, task: Callable[[int, Iterable[Any]], TaskOutput]) -> list[Any]:
        """The answers of a task that needs no blocks and sends none."""
        ...

    def close(self) -> None:
        """Let go of what Spark keeps."""
        ...


class Shuffle:
    """By Spark's shuffle.

    Parameters: context; partitions, of the run; lasting, whether there are executors that may be lost: then
    what is sent is kept by two of them, and a partition stays with its executor as long as that lives.
    A further partition receives the answers, so that they are fetched without reading any block.
    """

    def __init__(self, context: Any, partitions: int, lasting: bool) -> None:
        self._context, self._partitions, self._lasting = context, partitions, lasting
        self._kept: dict[int, Any] = {}
        self._anchor: Any = None
        if lasting:
            from pyspark import StorageLevel

            nothing = context.parallelize([(number, b"") for number in range(partitions + 1)])
            self._anchor = nothing.partitionBy(partitions + 1, _addressee).persist(StorageLevel.MEMORY_ONLY)
        self._arrived = self._anchor or context.parallelize((), partitions + 1)

    def inbox(self) -> Any:
        if self._anchor in (None, self._arrived):
            return self._arrived
        return self._context.union([self._anchor, self._arrived])

    def put(self, round_: int, inbox: Any, task: Task) -> list[Answer]:
        last = self._partitions

        def work(partition: int, arrived: Iterable[tuple[int, bytes]]) -> TaskOutput:
            if partition < last:
                blocks = _complete(arrived, last if round_ else 0)
                yield from _counted(task(partition, blocks), partition, last)
            _drain(arrived)

        # what is sent is not where it belongs: Spark must not take it for partitioned already
        sent = inbox.mapPartitionsWithIndex(work)
        if self._lasting:
            sent = self._keep(round_, sent).filter(lambda one: one[0] != COPY)
        self._arrived = sent.partitionBy(last + 1, _addressee)
        return [answer for _, answer in self._context.runJob(self._arrived, list, [last])]

    def restored(self, round_: int, task: Callable[[int, Iterable[Any]], TaskOutput]) -> list[Answer]:
        """Give each partition the copies of its levels from the rounds before one; the answers of a task."""
        kept = [self._kept[number].filter(lambda one: one[0] == COPY) for number in range(round_)]
        copies = self._context.union(kept).map(lambda one: (one[1].partition, one[1]))
        copies = copies.partitionBy(self._partitions + 1, _addressee)
        return self._answers(self._context.union([self._anchor, copies]), task)

    def asked(self, task: Callable[[int, Iterable[Any]], TaskOutput]) -> list[Any]:
        """The answers of a task that needs no blocks."""
        return self._answers(self._anchor or self._context.parallelize((), self._partitions + 1), task)

    def close(self) -> None:
        """See `Exchange`."""
        for one in (*self._kept.values(), *([] if self._anchor is None else [self._anchor])):
            one.unpersist()
        self._kept, self._anchor, self._arrived = {}, None, None

    def _answers(self, rdd: Any, task: Callable[[int, Iterable[Any]], TaskOutput]) -> list[Any]:
        last = self._partitions

        def work(partition: int, arrived: Iterable[tuple[int, Any]]) -> Iterator[Any]:
            if partition < last:
                yield from (answer for _, answer in task(partition, (one for _, one in arrived if one)))
            _drain(arrived)

        return rdd.mapPartitionsWithIndex(work).collect()  # type: ignore[no-any-return]

    def _keep(self, round_: int, sent: Any) -> Any:
        from pyspark import StorageLevel

        if round_ in self._kept:
            self._kept[round_].unpersist()
        sent.persist(StorageLevel.DISK_ONLY_2).localCheckpoint()
        self._kept[round_] = sent
        return sent


class Files:
    """By files in a folder that driver and workers see.

    Parameters: context; partitions, of the run; folder; sent, by partition: the files with blocks for it.
    What was sent two rounds ago is deleted.
    """

    def __init__(
        self, context: Any, partitions: int, folder: Path, sent: Sequence[tuple[BlockFile, ...]] = ()
    ) -> None:
        self._context, self._partitions, self._folder = context, partitions, folder
        self.sent = tuple(sent) or ((),) * partitions

    def inbox(self) -> Any:
        return self._context.parallelize(self.sent, self._partitions)

    def put(self, round_: int, inbox: Any, task: Task) -> list[Answer]:
        folder, count = self._folder, self._partitions

        def work(partition: int, files: Iterable[tuple[BlockFile, ...]]) -> Iterator[Answer]:
            blocks = (_read(folder, file) for some in files for file in some)
            answer = _posted(task(partition, blocks), folder, outbox(partition, round_))
            shutil.rmtree(Path(folder, outbox(partition, round_ - 2)), ignore_errors=True)
            yield answer

        answers: list[Answer] = inbox.mapPartitionsWithIndex(work).collect()
        mail = [one for answer in answers if isinstance(answer, Report) for one in answer.sent]
        self.sent = tuple(tuple(file for to, file in mail if to == number) for number in range(count))
        return answers

    def asked(self, task: Callable[[int, Iterable[Any]], TaskOutput]) -> list[Any]:
        """The answers of a task that needs no blocks."""
        places = self._context.parallelize(range(self._partitions), self._partitions)
        return [answer for _, answer in places.flatMap(lambda number: task(number, ())).collect()]

    def close(self) -> None:
        """See `Exchange`."""


def outbox(partition: int, round_: int) -> str:
    """The folder of the blocks that a partition sends in a round."""
    return f"partition-{partition:04d}/out-{round_:05d}"


def _drain(arrived: Iterable[Any]) -> None:
    """Read what is left, for Spark ends worker processes that do not."""
    for _ in arrived:
        pass


def _addressee(number: int) -> int:
    return number


def _counted(output: TaskOutput, sender: int, last: int) -> TaskOutput:
    """What a task sends, its answer to the last partition; at the end how many blocks there were."""
    sent = [0] * last
    for to, content in output:
        if 0 <= to < last:
            sent[to] += 1
        yield to, content
    yield from ((to, (sender, count)) for to, count in enumerate(sent))


def _complete(arrived: Iterable[tuple[int, Any]], senders: int) -> Iterator[bytes]:
    """The blocks that arrived, from so many senders. Errors: Incomplete, at the end."""
    blocks, told = 0, dict[int, int]()
    for _, one in arrived:
        if isinstance(one, tuple):
            told[one[0]] = one[1]
        elif one:
            blocks += 1
            yield one
    if len(told) != senders or sum(told.values()) != blocks:
        raise Incomplete(f"{blocks} blocks from {len(told)} of {senders} senders, not {sum(told.values())}")


def _read(folder: Path, file: BlockFile) -> bytes:
    """A block. Errors: FileNotFoundError, Damaged."""
    path = Path(folder, file.name)
    content = path.read_bytes()
    if digest_of(content) != file.digest:
        raise Damaged(f"{path} is not as it was written, or of another round or run")
    return content


def _posted(output: TaskOutput, folder: Path, place: str) -> Answer:
    """Write what a task sends, under names that no other try of it has; its answer tells of the files."""
    token, answer = uuid4().hex[:12], None
    files: list[tuple[int, BlockFile]] = []
    Path(folder, place).mkdir(parents=True, exist_ok=True)
    try:
        for to, content in output:
            if isinstance(content, bytes):
                file = BlockFile(f"{place}/{token}-{len(files):06d}", digest_of(content))
                files.append((to, file))
                Path(folder, file.name).write_bytes(content)
            else:
                answer = content
    except OSError as error:
        return error
    assert answer is not None
    return replace(answer, sent=tuple(files)) if isinstance(answer, Report) else answer
