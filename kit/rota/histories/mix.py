"""Of what histories consist: requests, rebalances, what is distinct, and what a generator has planted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota.histories import pairs
from rota.histories.manifest import Manifest
from rota.histories.plan import Plan
from rota.histories.tables import parts_of, rows_as_they_lie
from rota.population.truth import Key, Truth, beside

WHOSE = "cluster", "group"


@dataclass(frozen=True)
class Made:
    """What a generator says of the histories, and what came of it.

    histories, copies among them; distinct: without; planted: of those judged, how many have a bug; visible:
    in how many answers one shows; found: how many of these are violated; missed, beside: by name, those that
    are not, and those violated in whose answers no bug shows.
    """

    histories: int
    distinct: int
    planted: int
    visible: int
    found: int
    missed: tuple[Key, ...] = ()
    beside: tuple[Key, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **{
                name: getattr(self, name) for name in ("histories", "distinct", "planted", "visible", "found")
            },
            "missed": len(self.missed),
            "violated_beside": len(self.beside),
        }


@dataclass
class Mix:
    """asked: requests by what they ask; still: groups without a rebalance; pairs: of a state and an input, as
    renamed, that the spec was asked of; made: None where no generator says anything of the histories."""

    asked: Mapping[str, int] = field(default_factory=dict)
    still: int = 0
    pairs: int = 0
    made: Made | None = None


def mix_of(plan: Plan, known: Manifest, asked: Mapping[str, int]) -> Mix:
    """Of what was judged. asked: requests by what they ask."""
    folders = (plan.work / folder for folder in known.judged.values())
    truth = beside(Path(path) for shard in known.shards for path in shard.paths)
    made = None if truth is None else _made(truth, _violated(plan.folder))
    return Mix(asked, _still(plan.folder), pairs.distinct(folders), made)


def _still(folder: Path) -> int:
    """Groups of which no rebalance is told."""
    found = 0
    for part in parts_of(folder, "verdicts"):
        told = rows_as_they_lie([folder / "incidents" / part.name], (*WHOSE, "rebalances"))
        moved = {_key(one) for one in told if one["rebalances"]}
        found += sum(_key(one) not in moved for one in rows_as_they_lie([part], WHOSE))
    return found


def _violated(folder: Path) -> Iterator[tuple[Key, bool]]:
    """Every history, and whether it is violated."""
    for one in rows_as_they_lie(parts_of(folder, "verdicts"), (*WHOSE, "verdict")):
        yield _key(one), one["verdict"] == "violated"


def _made(truth: Truth, violated: Iterable[tuple[Key, bool]]) -> Made:
    planted = visible = found = 0
    missed, others = list[Key](), list[Key]()
    for key, is_violated in violated:
        shows = key in truth.visible
        planted += key in truth.planted
        visible += shows
        found += shows and is_violated
        missed += [key] if shows and not is_violated else []
        others += [key] if is_violated and not shows else []
    return Made(
        truth.histories, truth.distinct, planted, visible, found, tuple(sorted(missed)), tuple(sorted(others))
    )


def _key(row: Mapping[str, Any]) -> Key:
    return row["cluster"], row["group"]
