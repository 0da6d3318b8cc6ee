"""The table of planted bugs that walks find, tests/generate/hunted.toml, which `walk_hunt.py` writes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rota.generate.verdicts import Walked
from rota.mutants.core import core_bugs
from rota.report.walks import TOLD

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "generate" / "hunted.toml"
UNFOUND = ROOT / "tests" / "generate" / "unfound.toml"

SEEDS = (1, 2, 3)
"""With which each bug is looked for."""


@dataclass(frozen=True)
class Hunted:
    """What became of the hunt for a bug with a seed.

    plan: the number of the walk that failed, from 0 upwards, None where none of a run did; seconds: of
    virtual time until it was over; nearest: the rule by which the answer was due that did not come; told: the
    rules that would explain it, likeliest first, empty where nobody has looked for them.
    """

    bug: str
    seed: int
    plan: int | None
    seconds: float
    nearest: str
    told: tuple[str, ...]

    @property
    def near(self) -> str:
        """How near what was told is: the bug's own "rule", it "among" the first, one of its "part", or
        "others"; else nothing.
        """
        rule = core_bugs()[self.bug].rule
        if not self.told:
            return ""
        if rule in self.told:
            return "rule" if self.told[0] == rule else "among"
        return "part" if self.told[0].partition(".")[0] == rule.partition(".")[0] else "others"


def rules_told(walked: Walked) -> tuple[str, ...]:
    """The rules that are told of a failure, at most `TOLD`, likeliest first."""
    rules = (walked.rule, *(one.rule for one in walked.suspects))
    return tuple(dict.fromkeys(rules))[:TOLD]


def hunted_bugs() -> Mapping[tuple[str, int], Hunted]:
    """The table: bug and seed -> what became of it. What was not looked for yet is not there."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    found: dict[tuple[str, int], Hunted] = {}
    for bug, by_seed in table.items():
        for name, one in by_seed.items():
            seed = int(name.removeprefix("seed-"))
            told = tuple(one.get("told", ()))
            found[bug, seed] = Hunted(
                bug, seed, one.get("plan"), one.get("seconds", 0.0), one.get("nearest", ""), told
            )
    return found


def unfound_bugs() -> Mapping[str, str]:
    """Bugs that walks miss with some seed -> why; written by hand."""
    table: dict[str, str] = tomllib.loads(UNFOUND.read_text(encoding="utf-8"))["unfound"]
    return table


def write(found: Iterable[Hunted]) -> None:
    """Write the table anew, in the order of the bugs and seeds."""
    by_bug: dict[str, list[Hunted]] = {name: [] for name in core_bugs()}
    for one in sorted(found, key=lambda one: one.seed):
        by_bug[one.bug].append(one)
    lines = [
        "# Written by tests/harness/walk_hunt.py: which walk of a run found a planted bug, with which seed."
    ]
    for bug, ones in by_bug.items():
        if ones:
            lines += ["", f"[{bug}]", *map(_line, ones)]
    TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _line(one: Hunted) -> str:
    if one.plan is None:
        return f"seed-{one.seed} = {{}}"
    told = ", ".join(f'"{rule}"' for rule in one.told)
    found = f'plan = {one.plan}, seconds = {one.seconds}, nearest = "{one.nearest}"'
    return f"seed-{one.seed} = {{ {found}, told = [{told}] }}"


def summary() -> Iterator[str]:
    """How many were found with each seed, and how near what was told is."""
    found = hunted_bugs().values()
    for seed in SEEDS:
        ones = [one for one in found if one.seed == seed]
        of_walks = [one for one in ones if one.plan is not None]
        near = [one.near for one in of_walks if one.near]
        if ones:
            nearest = sum(one.nearest == core_bugs()[one.bug].rule for one in of_walks)
            first, later, part, others = map(near.count, ("rule", "among", "part", "others"))
            yield (
                f"With seed {seed} walks find {len(of_walks)} of {len(ones)} that were looked for. The "
                f"answer that did not come was due by the bug's own rule {nearest} times. Of {len(near)} "
                f"failures that were explained the first rule told is the bug's own {first} times, the "
                f"second or third is {later} times; else the first is one of its part {part} times and "
                f"another one {others} times."
            )


def cell(bug: str) -> str:
    """For the page: the how manyth walk found it, with each seed."""
    found = hunted_bugs()
    told = []
    for seed in SEEDS:
        one = found.get((bug, seed))
        told.append("" if one is None else "none" if one.plan is None else str(one.plan + 1))
    return " · ".join(filter(None, told))
