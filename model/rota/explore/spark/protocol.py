"""What the driver and the tasks of a run tell each other. Standard library only: any worker can read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from rota.explore.purity import NOTHING, Sampled
from rota.explore.result import Find, Suspect
from rota.kernel import SystemRef

Sent = tuple[int, Any]
"""What a task leaves behind: (partition, block) for another one, (number of partitions, `Answer`) last."""

TaskOutput = Iterator[Sent]


class Damaged(ValueError):
    """A file or block has not the content that it was written with."""


class NotShippable(Suspect):
    """A worker process could not rebuild the system, or not read a value of it."""


@dataclass(frozen=True)
class RunFile:
    """A file of states. words: of a state; digest: of the content."""

    name: str
    states: int
    words: int
    digest: str

    @property
    def index(self) -> str:
        """The name of the file beside it."""
        return f"{self.name}.index"


@dataclass(frozen=True)
class BlockFile:
    """A file with a block, as a path within the run's folder. digest: of the content."""

    name: str
    digest: str


@dataclass(frozen=True)
class Fields:
    """A layout of states as plain numbers: word, shift and mask of each machine's field."""

    word: tuple[int, ...]
    shift: tuple[int, ...]
    mask: tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """The new states of one round, in the order of their codes. fields: how they are packed."""

    file: RunFile
    fields: Fields


@dataclass(frozen=True)
class Part:
    """What a partition has. levels: one per round; runs: all its states in few files; fields: of the runs."""

    levels: tuple[Level, ...] = ()
    runs: tuple[RunFile, ...] = ()
    fields: Fields | None = None


@dataclass(frozen=True)
class Job:
    """What every task of a run knows.

    ref: of the system; properties: the names of those that are judged, for the driver may judge fewer than a
    worker's system has; run: a unique name; partitions: how many; deciding: the machines whose values decide
    who owns a state; folder: of all files, seen by all workers; None: every worker keeps its own; memory:
    bytes for one task; local_levels: how many levels a task goes by itself in a round; compiled: whether
    workers have numba;
    copied: whether levels are sent to the driver's keeping too, for workers that may be lost; ceiling: most
    bytes of data of a worker process, states included; None: no bound.
    """

    ref: SystemRef
    properties: tuple[str, ...]
    run: str
    partitions: int
    deciding: tuple[int, ...]
    folder: str | None
    memory: int
    local_levels: int = 1
    compiled: bool = True
    copied: bool = False
    ceiling: int | None = None


@dataclass(frozen=True)
class Order:
    """What is to be done in a round.

    parts: by partition; fields: how states are packed; deltas: all numbers handed out so far; wanted: the
    witnesses not seen yet; obsolete: files by partition that nobody needs any more; judged: by process, how
    many portions the driver has of what it has judged; kinds: the types that values are made of which were
    found so far, the only ones that a worker makes of what it reads.
    """

    round: int
    parts: tuple[Part, ...]
    fields: Fields | None
    deltas: tuple[Any, ...]
    wanted: frozenset[str]
    obsolete: tuple[tuple[str, ...], ...] = ()
    judged: Mapping[str, int] = field(default_factory=dict)
    kinds: frozenset[type] = frozenset()


@dataclass(frozen=True)
class Judged:
    """What a process has judged and the driver has not got, tasks before this one included.

    process: a name that no other process has; portions: how many there are, these included; keys: see
    `rota.explore.spark.combinations`.
    """

    process: str
    portions: int
    keys: bytes


@dataclass(frozen=True)
class Report:
    """A partition's round: its new states, what was found among them, and what expanding them gave.

    news: values without a number (`registry.News`), None in plain Python; sent: (addressee, file) of blocks,
    where files are exchanged; sent_bytes: of all blocks; obsolete: files that nobody needs once the round
    counts; sampled: how much was looked at twice; kinds: the types that values of this process are made of;
    types: what they claim, as `Encoding.claims`.
    """

    partition: int
    part: Part
    states: int
    digest: int
    witnesses: frozenset[str]
    bad_state: Find | None
    generated: int
    stuck: Find | None
    bad_step: Find | None
    fired: frozenset[str]
    news: Any
    judged: Judged
    sent_bytes: int
    python_calls: int
    sent: tuple[tuple[int, BlockFile], ...] = ()
    obsolete: tuple[str, ...] = ()
    sampled: Sampled = NOTHING
    kinds: frozenset[type] = frozenset()
    types: Mapping[bytes, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Copy:
    """A piece of a level's states, `offset` states from its beginning, as bytes."""

    partition: int
    round: int
    offset: int
    content: bytes


@dataclass(frozen=True)
class Missing:
    """A partition's files are not where its task ran. name: one of them."""

    partition: int
    name: str


Answer = Report | Missing | Exception


def level_name(round_: int, local: int) -> str:
    """How a level's file is called.

    What a task finds by itself beyond the first level depends on what its process knew before, so another
    try may find more or less of it: there each has a name of its own.
    """
    return f"level-{round_:05d}-{local:02d}" + (f"-{uuid4().hex[:12]}" if local else "")
