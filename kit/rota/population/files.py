"""Many histories in files: recordings as `rota record` writes them, and beside them what is true of each."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from rota.history import Kind
from rota.population.histories import group_of, simulated
from rota.population.recorded import frames_of
from rota.population.renamed import Line, copies
from rota.population.shapes import Shape
from rota.population.truth import REPORT, TRUTH

RECORDINGS = "recordings"


@dataclass(frozen=True)
class Wanted:
    """histories: without copies; copied: of each, itself among them; bugs: the share of servers with one;
    of_file: histories of a file, copies among them, which is put in order in memory; shapes: draws the shape
    of a group, None: as `rota.population.shapes` does."""

    histories: int
    seed: int = 0
    bugs: float = 0.0
    copied: int = 1
    of_file: int = 100
    shapes: Callable[[str], Shape] | None = None

    @property
    def together(self) -> int:
        """Histories of a file, without their copies."""
        return max(1, self.of_file // self.copied)


@dataclass
class Written:
    """What was written. histories, copies among them; distinct: without; requests: by what they ask; planted,
    visible: histories with a bug, and those in whose answers one shows."""

    histories: int = 0
    distinct: int = 0
    events: int = 0
    members: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    planted: int = 0
    visible: int = 0

    def add(self, other: Written) -> None:
        """What another process has written."""
        for name in ("histories", "distinct", "events", "members", "planted", "visible"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.requests += other.requests

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        asked = self.requests.total()
        beats = self.requests["Heartbeat"] / asked if asked else None
        return {**vars(self), "requests": dict(self.requests.most_common()), "heartbeats": beats}


def write(wanted: Wanted, folder: Path, processes: int = 1) -> Written:
    """Recordings, some histories a file, with TRUTH and REPORT beside them."""
    (folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
    starts = range(0, wanted.histories, wanted.together)
    work = partial(_file, wanted, folder)
    if processes > 1:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            told = list(pool.map(work, starts))
    else:
        told = [work(start) for start in starts]
    total = Written()
    with (folder / TRUTH).open("w", encoding="utf-8") as truth:
        for written, lines in told:
            total.add(written)
            truth.writelines(lines)
    asked = {"seed": wanted.seed, "bugs": wanted.bugs, "copied": wanted.copied}
    report = json.dumps({**asked, **total.as_json()}, indent=2)
    (folder / REPORT).write_text(f"{report}\n", encoding="utf-8")
    return total


def _file(wanted: Wanted, folder: Path, start: int) -> tuple[Written, list[str]]:
    """The histories of a file. Returns what was written, and lines of what is true."""
    written, truth = Written(), list[str]()
    told: list[list[Line]] = []
    for number in range(start, min(start + wanted.together, wanted.histories)):
        one = simulated(wanted.seed, number, wanted.bugs, wanted.shapes)
        events = frames_of(one.played, f"{one.group}.jsonl")
        told += copies(events, number, wanted.copied, wanted.seed)
        written.distinct += 1
        written.histories += wanted.copied
        written.members += wanted.copied * len(one.shape.lives)
        written.events += wanted.copied * len(events)
        for event in events:
            if event.kind is Kind.REQUEST:
                written.requests[event.data["api"]] += wanted.copied
        if one.bug is not None:
            written.planted += wanted.copied
            written.visible += wanted.copied * bool(one.shown)
            about = {"bug": one.bug.name, "rule": one.bug.rule, "shown": one.shown}
            groups = (group_of(number, copy) for copy in range(wanted.copied))
            truth += [json.dumps({"group": group, **about}) + "\n" for group in groups]
    with (folder / RECORDINGS / f"{start:08}.jsonl").open("wb") as file:
        for _, line in sorted(chain.from_iterable(told), key=itemgetter(0)):
            file.write(line + b"\n")
    return written, truth
