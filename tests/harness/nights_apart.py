"""Nights of several groups in files, judged by one run and as tables."""

from __future__ import annotations

import random
from functools import cache
from itertools import count

from harness import scenes
from harness.recorded_frames import recorded
from rota.histories import tasks
from rota.histories.pipeline import Pipeline
from rota.histories.plan import Plan
from rota.histories.record import kept
from rota.histories.results import results, verdict_lines
from rota.history import line_of
from rota.mutants.core import core_bugs, planted
from rota.reading import ReadOptions, Tally, read_by_cluster
from rota.reading.unordered import TWICE
from rota.validate.validation import Clusters

NAMES = ("rejoining", "sessions", "offsets")

ROWS = 40
"""Rows of a sorted file: small, so that several of them are merged."""


@cache
def own_nights():
    """Events of each group on connections of its own; one breaks the protocol."""
    with planted(core_bugs()["described-while-rebalancing"]):
        bad = recorded(scenes.late_members, "kafka-4.x")
    return [bad, *(recorded(getattr(scenes, name), "kafka-4.x") for name in NAMES)]


def lines(events):
    """As a file has them."""
    return "".join(f"{line_of(one)}\n" for one in events)


def scattered(events, files, folder, copies=0, seed=1):
    """Events in any order among files, some of them told twice."""
    drawn = random.Random(seed)
    told = [*events, *drawn.sample(events, copies)]
    drawn.shuffle(told)
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"{number}.jsonl").write_text(lines(told[number::files]))
    return folder


def in_one_run(paths, terms, **how):
    """(account, clusters) of all that is read."""
    tally, clusters = Tally(), Clusters(terms)
    for cluster, event in read_by_cluster([*map(str, paths)], options=ReadOptions(**how), tally=tally):
        clusters.take(cluster, event)
    account = clusters.end()
    for source, events in tally.twice.items():
        account.leave(TWICE, source, events)
    assert account.events == tally.events
    account.quarantined += tally.broken - tally.also_told
    return account, clusters


class Counting:
    """A runner that counts, and stops before a piece if it is told to."""

    def __init__(self, stop=None):
        self.done, self._stop, self._number = [], stop, count()

    def __call__(self, kind, plan, pieces):
        if kind == tasks.DIGEST:
            return tasks.here(kind, plan, pieces)
        for piece in pieces:
            if next(self._number) == self._stop:
                raise KeyboardInterrupt
            self.done.append(kind)
            tasks.here(kind, plan, [piece])
        return []


def as_tables(paths, out, terms, run=tasks.here, piece=64 << 20, buckets=3, **how):
    """A pipeline that has made its tables, and its manifest."""
    plan = Plan(out, terms, ReadOptions(**how), 1, 1, ROWS)
    pipeline = Pipeline(plan, {"terms": str(terms), "how": str(how)}, run, lambda line: None, buckets, piece)
    return pipeline, pipeline.tables([*map(str, paths)])


def told(pipeline, known):
    """What tables tell."""
    found = results(pipeline.plan, known, pipeline.tally)
    account = found.account
    assert account.events == pipeline.tally.events
    account.quarantined += pipeline.tally.broken - pipeline.tally.also_told
    return found


def verdicts(out):
    """What became of each history."""
    return [*verdict_lines(out)]


def files(out):
    """Every file of the tables, with its bytes."""
    return {str(one.relative_to(out)): one.read_bytes() for one in sorted(out.glob("*/part-*.parquet"))}


def judged(known, pipeline):
    """How many histories were judged by the last round."""
    last = known.rounds[-1].folder.rpartition("/")[2]
    return sum(kept(one)["judged"] for one in (pipeline.plan.work / "judged" / last).iterdir())
