"""What a generator of histories leaves beside its recordings: how many are distinct, which have a bug."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rota.reading.merging import cluster_of

TRUTH = "truth.jsonl"
"""A line for each history whose server has a bug."""

REPORT = "histories.json"
"""What was written, as `rota.population.files.Written` has it."""

ABOVE = 2
"""How many folders above a recording are looked into."""

Key = tuple[str, str]


@dataclass
class Truth:
    """histories, copies among them; distinct: without; planted, visible: cluster and group of those whose
    server has a bug, and of those in whose answers one shows."""

    histories: int = 0
    distinct: int = 0
    planted: set[Key] = field(default_factory=set)
    visible: set[Key] = field(default_factory=set)


def beside(recordings: Iterable[Path]) -> Truth | None:
    """Of all recordings together; None where no generator has left anything there."""
    folders = {folder for path in recordings for folder in path.absolute().parents[:ABOVE]}
    made = [folder for folder in sorted(folders) if (folder / REPORT).is_file()]
    found = Truth()
    for folder in made:
        told = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        found.histories += told["histories"]
        found.distinct += told["distinct"]
        cluster, lines = cluster_of(folder), (folder / TRUTH).read_text(encoding="utf-8").splitlines()
        for one in map(json.loads, lines):
            key = cluster, one["group"]
            found.planted.add(key)
            found.visible |= {key} if one["shown"] else set()
    return found if made else None
