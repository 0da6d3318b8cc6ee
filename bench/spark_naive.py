"""What one writes first to explore on Spark: states as records, flatMap, distinct, subtract.

Each round expands the last level with `System.successors`, drops repeats and what is visited already, and
counts. Every tenth round the visited states and the level are checkpointed, or the lineage grows without
bound. No property is judged, no step is looked at: it does less than the engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from rota.kernel import State, System

EVERY = 10
"""Rounds between two checkpoints."""


@dataclass(frozen=True)
class Counted:
    """What it comes to. generated: 1 per initial state + transitions."""

    distinct: int
    generated: int
    depth: int
    seconds: float


def explore(context: Any, system: System, progress: Callable[[int, int, int, int, float], None]) -> Counted:
    """Visit every reachable state. context: a SparkContext with a folder for checkpoints."""
    from pyspark import StorageLevel

    started, count, keep = perf_counter(), context.defaultParallelism, StorageLevel.MEMORY_AND_DISK
    ref, transitions = system.ref, context.accumulator(0)
    assert ref is not None

    def successors(states: Iterator[State]) -> Iterator[State]:
        model, taken = ref.build(), 0
        for state in states:
            for transition in model.successors(state):
                taken += 1
                yield transition.target
        transitions.add(taken)

    visited = level = context.parallelize(system.initial_states(), count).persist(keep)
    initial = distinct = level.count()
    depth = 0
    while True:
        new = level.mapPartitions(successors).distinct(count).subtract(visited, count).persist(keep)
        before, visited = visited, visited.union(new).coalesce(count).persist(keep)
        if (depth + 1) % EVERY == 0:
            new.checkpoint()
            visited.checkpoint()
        found = new.count()
        visited.count()
        before.unpersist()
        if not found:
            return Counted(distinct, initial + transitions.value, depth, perf_counter() - started)
        depth, distinct, level = depth + 1, distinct + found, new
        progress(depth, distinct, found, initial + transitions.value, perf_counter() - started)
