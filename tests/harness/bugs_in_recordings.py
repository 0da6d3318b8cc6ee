"""The table of planted bugs in recordings, tests/validate/hunted.toml, which `recording_hunt.py` writes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rota.mutants.core import core_bugs

TABLE = Path(__file__).parents[1] / "validate" / "hunted.toml"
UNFOUND = Path(__file__).parents[1] / "validate" / "unfound.toml"

FOUND, UNDECIDED, EXPLAINED, MISSED = "found", "undecided", "explained", "missed"
"""What becomes of a recording in which a bug shows. explained: another order of what was under way at once,
or another moment that cannot be told apart, is one that the spec allows, to the walks' judge too."""


@dataclass(frozen=True)
class Became:
    """What became of the recordings in which a bug shows, with a seed.

    shown: how many there are; found, undecided, explained, missed: how many of these where the groups are
    said to be fresh; middle: how many are found where that is not said; plan: the first walk that is found
    both ways, else the first one that is found, -1 for none; told: by which rule; transactional: whether they
    are among the walks with transactions.
    """

    bug: str
    seed: int
    shown: int
    found: int
    undecided: int
    explained: int
    missed: int
    middle: int
    plan: int
    told: str
    transactional: bool = False


def of_line(line: Mapping[str, Any]) -> Became:
    """A line of the hunt as the table has it."""
    ones = line["recordings"]
    became = [_became(one["fresh"], one.get("explained", False)) for one in ones]
    found = [one for one, what in zip(ones, became, strict=True) if what == FOUND]
    both = [one for one in found if _became(one["middle"]) == FOUND]
    first = next(iter([*both, *found]), None)
    return Became(
        line["bug"],
        line["seed"],
        len(ones),
        *(became.count(what) for what in (FOUND, UNDECIDED, EXPLAINED, MISSED)),
        sum(_became(one["middle"]) == FOUND for one in ones),
        first["plan"] if first else -1,
        first["fresh"]["told"] if first else "",
        line.get("transactional", False),
    )


def _became(account: Mapping[str, Any], explained: bool = False) -> str:
    if account["verdict"] != "holds":
        return FOUND if account["verdict"] == "violated" else UNDECIDED
    return EXPLAINED if explained else MISSED


def bugs_in_recordings() -> Mapping[tuple[str, int], Became]:
    """The table: bug and seed -> what became of it."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        (bug, seed): Became(bug, seed, **one)
        for bug, by_seed in table.items()
        for seed, one in ((int(name.removeprefix("seed-")), one) for name, one in by_seed.items())
    }


def unfound_bugs() -> Mapping[str, str]:
    """Bugs of which a recording says nothing in which they show -> why; written by hand."""
    table: dict[str, str] = tomllib.loads(UNFOUND.read_text(encoding="utf-8"))["unfound"]
    return table


def write(found: Iterable[Became]) -> None:
    """Write the table anew, in the order of the bugs and seeds."""
    by_bug: dict[str, list[Became]] = {name: [] for name in core_bugs()}
    for one in sorted(found, key=lambda one: one.seed):
        by_bug[one.bug].append(one)
    lines = ["# Written by tests/harness/recording_hunt.py: recordings in which a planted bug shows."]
    for bug, ones in by_bug.items():
        if ones:
            lines += ["", f"[{bug}]", *map(_line, ones)]
    TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _line(one: Became) -> str:
    told = {name: value for name, value in vars(one).items() if name not in ("bug", "seed")}
    values = ", ".join(f"{name} = {json.dumps(value)}" for name, value in told.items())
    return f"seed-{one.seed} = {{ {values} }}"
