"""What the Spark engine uses of Spark, in this process: tasks one after the other, forgetful or repeated."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, ClassVar

from rota.explore.spark.worker import plain_round, round

Work = Callable[[int, Iterator[Any]], Iterable[Any]]


class Dataset:
    """An RDD that is computed anew whenever somebody looks, by as many tries as the context says."""

    def __init__(self, context: Context, parts: Callable[[], list[list[Any]]]) -> None:
        self.context, self._parts = context, parts
        self._kept: list[list[Any]] | None = None
        self._keep = False

    def parts(self) -> list[list[Any]]:
        if self._kept is not None:
            return self._kept
        parts = self._parts()
        if self._keep:
            self._kept = parts
        return parts

    def persist(self, level: Any = None) -> Dataset:
        self._keep = True
        return self

    def localCheckpoint(self) -> None: ...

    def unpersist(self) -> None:
        self._keep, self._kept = False, None

    def mapPartitionsWithIndex(self, work: Work, preservesPartitioning: bool = False) -> Dataset:
        def parts() -> list[list[Any]]:
            return [self.context.attempt(work, i, part) for i, part in enumerate(self.parts())]

        return Dataset(self.context, parts)

    def mapPartitions(self, work: Callable[[Iterator[Any]], Iterable[Any]]) -> Dataset:
        return Dataset(self.context, lambda: [list(work(iter(part))) for part in self.parts()])

    def map(self, work: Callable[[Any], Any]) -> Dataset:
        return self.mapPartitions(lambda part: map(work, part))

    def flatMap(self, work: Callable[[Any], Iterable[Any]]) -> Dataset:
        return self.mapPartitions(lambda part: (out for one in part for out in work(one)))

    def filter(self, test: Callable[[Any], bool]) -> Dataset:
        return self.mapPartitions(lambda part: filter(test, part))

    def partitionBy(self, count: int, whose: Callable[[Any], int]) -> Dataset:
        def parts() -> list[list[Any]]:
            dealt: list[list[Any]] = [[] for _ in range(count)]
            for part in self.parts():
                for key, value in part:
                    dealt[whose(key) % count].append((key, value))
            return dealt

        return Dataset(self.context, parts).persist()

    def collect(self) -> list[Any]:
        return [one for part in self.parts() for one in part]


class Context:
    """A SparkContext. forget: a new process for each task; tries: of each task, the last one counts."""

    uiWebUrl = None
    defaultParallelism = 3

    settings: ClassVar[dict[str, str]] = {}

    def __init__(self, forget: bool = False, tries: int = 1, master: str = "local[3,4]") -> None:
        self.forget, self.tries, self.master = forget, tries, master

    def parallelize(self, items: Iterable[Any], slices: int = 3) -> Dataset:
        kept = list(items)
        size = len(kept)
        cuts = [(i * size // slices, (i + 1) * size // slices) for i in range(slices)]
        return Dataset(self, lambda: [kept[a:b] for a, b in cuts])

    def union(self, sets: Iterable[Dataset]) -> Dataset:
        return Dataset(
            self, lambda: [list(chain(*parts)) for parts in zip(*(s.parts() for s in sets), strict=True)]
        )

    def broadcast(self, value: Any) -> Any:
        sent = pickle.loads(pickle.dumps(value))
        return type("Broadcast", (), {"value": sent, "destroy": staticmethod(lambda: None)})

    def runJob(
        self, rdd: Dataset, work: Callable[[Iterator[Any]], Iterable[Any]], partitions: list[int]
    ) -> list[Any]:
        parts = rdd.parts()
        return [one for number in partitions for one in work(iter(parts[number]))]

    def getConf(self) -> dict[str, str]:
        return self.settings

    def setJobDescription(self, words: str) -> None: ...

    def addPyFile(self, name: str) -> None: ...

    def setJobGroup(self, group: str, description: str) -> None: ...

    def cancelJobGroup(self, group: str) -> None: ...

    def attempt(self, work: Work, number: int, part: list[Any]) -> list[Any]:
        """A task, as often as asked; each try is given what arrives as it was."""
        out: list[Any] = []
        for _ in range(self.tries):
            if self.forget:
                round._WORKERS.clear()
                plain_round._WORKERS.clear()
            out = list(work(number, iter(copy.copy(part))))
        return out
