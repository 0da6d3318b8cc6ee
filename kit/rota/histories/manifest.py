"""What a folder's tables were made of: sources and their digests, by what was judged, and where rows are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rota.histories.plan import Span
from rota.histories.shards import Shard
from rota.report.writing import write

NAME = "manifest.json"

SCHEMA = 1


class OtherRun(ValueError):
    """The folder has tables of something else. The message names cause and remedy."""


@dataclass(frozen=True)
class Round:
    """What was judged at one time.

    folder: of its rows, below `work`; sources: their names in the order of reading; again: conversations of
    earlier rounds that it has anew.
    """

    folder: str
    sources: tuple[str, ...]
    again: tuple[int, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """settings: by what is judged; parts, buckets: into how many events and groups are divided; shards: all
    that was read; rounds: oldest first; spans: by cluster; for_all: rows that all groups are told; judged:
    bucket → folder of its tables, below `work`.
    """

    settings: dict[str, Any]
    parts: int
    buckets: int
    shards: tuple[Shard, ...] = ()
    rounds: tuple[Round, ...] = ()
    spans: dict[str, Span] = field(default_factory=dict)
    for_all: int = 0
    judged: dict[int, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Replace what the folder has. Errors: CannotWrite."""
        write(folder / NAME, json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, indent=1))


def read(folder: Path, settings: dict[str, Any]) -> Manifest | None:
    """A folder's; None where it has none. Errors: OtherRun where it is of other settings, or damaged."""
    path = folder / NAME
    if not path.exists():
        return None
    begin_anew = "name an empty folder with --out"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        found = Manifest(
            told["settings"],
            told["parts"],
            told["buckets"],
            tuple(map(Shard.of, told["shards"])),
            tuple(Round(one["folder"], tuple(one["sources"]), tuple(one["again"])) for one in told["rounds"]),
            {cluster: Span(**span) for cluster, span in told["spans"].items()},
            told["for_all"],
            {int(number): one for number, one in told["judged"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OtherRun(f"{path} cannot be read ({error}); {begin_anew}") from None
    for name, value in settings.items():
        if (then := found.settings.get(name)) != value:
            raise OtherRun(f"{folder} has tables by {name} {then!r}, and this is {value!r}; {begin_anew}")
    return found
