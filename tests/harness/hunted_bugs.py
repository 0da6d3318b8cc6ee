"""The table of planted bugs that walks find, tests/generate/hunted.toml, which `walk_hunt.py` writes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rota.mutants.core import core_bugs

TABLE = Path(__file__).parents[2] / "tests" / "generate" / "hunted.toml"

SEEDS = (1, 2, 3)
"""With which each bug was looked for."""


@dataclass(frozen=True)
class Hunted:
    """How a bug was found, by seed.

    walks: the how manyth walk failed, 0 where none of a run did; seconds: of virtual time until then; told:
    the rule that was told, empty where none was.
    """

    bug: str
    walks: tuple[int, ...]
    seconds: tuple[float, ...]
    told: tuple[str, ...]

    @property
    def found(self) -> int:
        """With how many seeds."""
        return sum(number > 0 for number in self.walks)

    def near(self) -> Iterator[str]:
        """How near what was told is: the bug's own rule, one of its part, or another, for each seed."""
        rule = core_bugs()[self.bug].rule
        for told in filter(None, self.told):
            same_part = told.partition(".")[0] == rule.partition(".")[0]
            yield "rule" if told == rule else "part" if same_part else "others"


def hunted_bugs() -> Mapping[str, Hunted]:
    """The table, by bug."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))["bug"]
    return {
        one["bug"]: Hunted(one["bug"], *(tuple(one[name]) for name in ("walks", "seconds", "told")))
        for one in entries
    }


def write(found: Iterable[Hunted]) -> None:
    """Write the table anew."""
    lines = [
        "# Written by tests/harness/walk_hunt.py: with seeds 1, 2, 3, see tests/harness/hunted_bugs.py.",
        "",
    ]
    for one in found:
        lines += [
            "[[bug]]",
            f'bug = "{one.bug}"',
            f"walks = {list(one.walks)}",
            f"seconds = {list(one.seconds)}",
            f"told = [{_texts(one.told)}]",
            "",
        ]
    TABLE.write_text("\n".join(lines), encoding="utf-8")


def _texts(values: Sequence[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)
