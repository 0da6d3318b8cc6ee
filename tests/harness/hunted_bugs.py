"""The tables of planted bugs that walks find, which `walk_hunt.py` and `consumer_walk_hunt.py` write."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rota.generate.verdicts import CONSUMER_RULES, Walked
from rota.mutants.core import CoreBug, consumer_bugs, core_bugs
from rota.report.walks import TOLD

FOLDER = Path(__file__).parents[1] / "generate"

SEEDS = (1, 2, 3)
"""With which each bug is looked for."""


@dataclass(frozen=True)
class Hunted:
    """What became of the hunt for a bug with a seed.

    plan: the number of the walk that failed, from 0 upwards, None where none of a run did; seconds: of
    virtual time until it was over; nearest: the rule by which the answer was due that did not come; told: the
    rules that would explain it, likeliest first, empty where nobody has looked for them; transactional,
    whether it is one of the walks with transactions, which have numbers of their own.
    """

    bug: str
    seed: int
    plan: int | None
    seconds: float
    nearest: str
    told: tuple[str, ...]
    transactional: bool = False

    @property
    def in_words(self) -> str:
        """The how manyth walk found it."""
        if self.plan is None:
            return "none"
        return f"t{self.plan + 1}" if self.transactional else str(self.plan + 1)


def rules_told(walked: Walked) -> tuple[str, ...]:
    """The rules that are told of a failure, at most `TOLD`, likeliest first."""
    rules = (walked.rule, *(one.rule for one in walked.suspects))
    return tuple(dict.fromkeys(rules))[:TOLD]


@dataclass(frozen=True)
class Hunts:
    """The hunts for the bugs of one protocol.

    table: what was found; unfound: why bugs are missed, written by hand; by: the script that writes the
    table; bugs: that are planted, by name; prefix: what the names of their rules begin with in reports.
    """

    table: Path
    unfound: Path
    by: str
    bugs: Callable[[], Mapping[str, CoreBug]]
    prefix: str = ""

    def rule_of(self, bug: str) -> str:
        """The rule that a bug breaks, as reports call it."""
        return self.prefix + self.bugs()[bug].rule

    def found(self) -> Mapping[tuple[str, int], Hunted]:
        """Bug and seed -> what became of it. What was not looked for yet is not there."""
        table = tomllib.loads(self.table.read_text(encoding="utf-8"))
        found: dict[tuple[str, int], Hunted] = {}
        for bug, by_seed in table.items():
            for name, one in by_seed.items():
                seed = int(name.removeprefix("seed-"))
                rest = one.get("plan"), one.get("seconds", 0.0), one.get("nearest", "")
                with_some = one.get("transactional", False)
                found[bug, seed] = Hunted(bug, seed, *rest, tuple(one.get("told", ())), with_some)
        return found

    def reasons(self) -> Mapping[str, str]:
        """Bugs that walks miss with some seed -> why."""
        table: dict[str, str] = tomllib.loads(self.unfound.read_text(encoding="utf-8"))["unfound"]
        return table

    def write(self, found: Iterable[Hunted]) -> None:
        """Write the table anew, in the order of the bugs and seeds."""
        by_bug: dict[str, list[Hunted]] = {name: [] for name in self.bugs()}
        for one in sorted(found, key=lambda one: one.seed):
            by_bug[one.bug].append(one)
        lines = [f"# Written by {self.by}: which walk of a run found a planted bug, with which seed."]
        for bug, ones in by_bug.items():
            if ones:
                lines += ["", f"[{bug}]", *map(_line, ones)]
        self.table.write_text("\n".join([*lines, ""]), encoding="utf-8")

    def near(self, one: Hunted) -> str:
        """How near what was told is: the bug's own "rule", it "among" the first, one of its "part", or
        "others"; else nothing.
        """
        rule = self.rule_of(one.bug)
        if not one.told:
            return ""
        if rule in one.told:
            return "rule" if one.told[0] == rule else "among"
        return "part" if _part(one.told[0]) == _part(rule) else "others"

    def summary(self) -> Iterator[str]:
        """How many were found with each seed, and how near what was told is."""
        found = self.found().values()
        for seed in SEEDS:
            ones = [one for one in found if one.seed == seed]
            of_walks = [one for one in ones if one.plan is not None]
            near = [each for one in of_walks if (each := self.near(one))]
            if ones:
                nearest = sum(one.nearest == self.rule_of(one.bug) for one in of_walks)
                told = (
                    f"With seed {seed} walks find {len(of_walks)} of {len(ones)} that were looked for. The "
                    f"answer that did not come was due by the bug's own rule {nearest} times."
                )
                yield told + _explained(near)

    def cell(self, bug: str) -> str:
        """For the page: the how manyth walk found it, with each seed."""
        found = self.found()
        told = []
        for seed in SEEDS:
            one = found.get((bug, seed))
            told.append("" if one is None else one.in_words)
        return " · ".join(filter(None, told))


def _part(rule: str) -> str:
    return rule.rpartition(".")[0] if rule.startswith(CONSUMER_RULES) else rule.partition(".")[0]


def _line(one: Hunted) -> str:
    if one.plan is None:
        return f"seed-{one.seed} = {{}}"
    told = ", ".join(f'"{rule}"' for rule in one.told)
    found = f'plan = {one.plan}, seconds = {one.seconds}, nearest = "{one.nearest}"'
    found += ", transactional = true" if one.transactional else ""
    return f"seed-{one.seed} = {{ {found}, told = [{told}] }}"


def _explained(near: Sequence[str]) -> str:
    """How near the rules are that explain failures, where some were explained."""
    if not near:
        return ""
    first, later, part, others = map(near.count, ("rule", "among", "part", "others"))
    return (
        f" Of {len(near)} failures that were explained the first rule told is the bug's own {first} times, "
        f"the second or third is {later} times; else the first is one of its part {part} times and another "
        f"one {others} times."
    )


CLASSIC_HUNTS = Hunts(
    FOLDER / "hunted.toml", FOLDER / "unfound.toml", "tests/harness/walk_hunt.py", core_bugs
)
CONSUMER_HUNTS = Hunts(
    FOLDER / "hunted_consumer.toml",
    FOLDER / "unfound_consumer.toml",
    "tests/harness/consumer_walk_hunt.py",
    consumer_bugs,
    CONSUMER_RULES,
)
