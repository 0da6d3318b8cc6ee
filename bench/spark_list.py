"""What `bench.spark` measures: systems, ways to explore them, and all measurements in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LOCAL = "local[2,4]"


@dataclass(frozen=True)
class Subject:
    """A system. kgroup: N, G, L, C, E, ND of KGROUP; else spec: scope and configuration of the spec.

    settings: `K=V` beside the configuration's own. states: about, for the order; the true count is measured.
    """

    name: str
    states: int
    kgroup: tuple[int, ...] = ()
    spec: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kgroup:
            return " ".join(
                f"{k}={v}" for k, v in zip(("N", "G", "L", "C", "E", "ND"), self.kgroup, strict=True)
            )
        return " ".join([*self.spec, *self.settings])


@dataclass(frozen=True)
class Way:
    """How to explore. engine: spark, fast or naive; options: for the engine, see `bench.spark_run`."""

    name: str
    engine: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """One run in a process of its own. limit: seconds after which it is ended."""

    group: str
    subject: Subject
    way: Way
    limit: float
    number: int = 1

    @property
    def name(self) -> str:
        """Unique among all of them."""
        return f"{self.group}/{self.subject.name}/{self.way.name}/{self.number}"

    def to_json(self) -> dict[str, Any]:
        """For the process that runs it."""
        return {"subject": asdict(self.subject), "way": asdict(self.way), "limit": self.limit}


def _kgroup(name: str, states: int, *settings: int) -> Subject:
    return Subject(name, states, kgroup=settings)


TINY = _kgroup("130k", 130_768, 2, 2, 2, 1, 1, 0)
SMALL = _kgroup("284k", 284_149, 2, 3, 2, 1, 1, 0)
M1 = _kgroup("M1", 1_163_343, 2, 2, 3, 2, 1, 0)
M2 = _kgroup("M2", 2_684_798, 3, 2, 2, 0, 1, 0)
M3 = _kgroup("M3", 8_897_403, 3, 2, 3, 0, 1, 0)
M4 = _kgroup("M4", 18_236_380, 3, 2, 4, 0, 1, 0)
L52 = _kgroup("52M", 52_000_000, 4, 2, 2, 0, 0, 0)
L125 = _kgroup("125M", 124_939_350, 3, 2, 2, 2, 1, 0)

SPEC_SMALL = Subject("spec-move-fault-commit", 1_208_693, spec=("standard", "move-fault-commit"))
SPEC_LARGE = Subject("spec-1e8", 100_000_000, spec=("nightly", "three-move-fault-commit"))

SUBJECTS = {one.name: one for one in (TINY, SMALL, M1, M2, M3, M4, L52, L125, SPEC_SMALL, SPEC_LARGE)}

STRICT = Way("strict", "spark", {"master": LOCAL})
FILES = Way("strict, files", "spark", {"master": LOCAL, "files": True})
VERDICT = Way("verdict only", "spark", {"master": LOCAL, "local_levels": 4})
VERDICT_FILES = Way("verdict only, files", "spark", {"master": LOCAL, "local_levels": 4, "files": True})
FAST_1 = Way("fast, 1 thread", "fast", {"threads": 1})
FAST_2 = Way("fast, 2 threads", "fast", {"threads": 2})
NAIVE = Way("naive", "naive", {"master": LOCAL})

SPARK_WAYS = (STRICT, FILES, VERDICT, VERDICT_FILES)
WAYS = {one.name: one for one in (*SPARK_WAYS, FAST_1, FAST_2, NAIVE)}

EXECUTORS = (1, 2, 4)
EXECUTOR_MIB = 1024


def on_executors(count: int, files: bool) -> Way:
    """Strict rounds on so many executors of one core each, four partitions whatever the number."""
    options = {"master": f"local-cluster[{count},1,{EXECUTOR_MIB}]", "partitions": 4, "files": files}
    return Way(f"{count} executors{', files' if files else ''}", "spark", options)


def _groups() -> Iterator[Measurement]:
    for way in (STRICT, FILES, VERDICT, NAIVE, FAST_2):
        yield Measurement("warm", TINY, way, 300)
    # the figures to reach: three runs each, in turn
    for number in (1, 2, 3):
        for way in (FAST_2, *SPARK_WAYS):
            if number == 1 or way is not VERDICT_FILES:
                yield Measurement("main", L52, way, 900, number)
    # growth, and beside it the naive design as far as it comes in ten minutes
    for subject in (TINY, SMALL, M1, M2, M3, M4, L125):
        for way in (FAST_2, STRICT, FILES, VERDICT):
            yield Measurement("growth", subject, way, 1800)
    for subject in (TINY, SMALL):
        yield Measurement("naive", subject, NAIVE, 600)
    # the model of costs
    for files in (True, False):
        for count in EXECUTORS:
            for subject in (M2, M3):
                yield Measurement("executors", subject, on_executors(count, files), 900)
    for subject, limit in ((SPEC_SMALL, 900), (SPEC_LARGE, 7200)):
        for way in (FAST_2, STRICT):
            yield Measurement("spec", subject, way, limit)


MEASUREMENTS = tuple(_groups())
"""All of them in their order; one that is there already is left out when they are run again."""


def large(subject: Subject, way: Way, limit: float) -> Measurement:
    """A measurement that is asked for on the command line."""
    return Measurement("asked", subject, way, limit)
