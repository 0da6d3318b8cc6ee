"""The configurations of the older designs, each with what must come out of it, and how they are built.

A suite is a TOML file beside this module. expected: the verdict, what is violated after how many steps if
anything is, and the counts that every engine must reproduce (a violated one's end with its last level).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rota.designs import server_side_world, watchers_world
from rota.kernel import RuleTable, System, SystemRef


@dataclass(frozen=True)
class Design:
    """A design. rules: its table; world: makes a system from a table, a reference and settings; file: of its
    suite; omitted: what the model leaves out."""

    name: str
    rules: RuleTable
    world: Callable[..., System]
    file: str
    omitted: tuple[str, ...]


WATCHERS = Design(
    name="watchers",
    rules=watchers_world.RULES,
    world=watchers_world.world,
    file="watchers.toml",
    omitted=(
        "committed offsets",
        "several topics and streams",
        "answers of ZooKeeper that are lost",
        "how long back-offs take: what they outlast is a setting",
    ),
)

SERVER_SIDE = Design(
    name="server-side",
    rules=server_side_world.RULES,
    world=server_side_world.world,
    file="server_side.toml",
    omitted=(
        "committed offsets",
        "several topics",
        "answers that are lost",
        "a coordinator that has lost its group and does not know",
        "lag in what a new coordinator reads from ZooKeeper",
    ),
)

DESIGNS: Mapping[str, Design] = {one.name: one for one in (WATCHERS, SERVER_SIDE)}


@dataclass(frozen=True)
class Configuration:
    """A small world. cause: what it has that may break the design, nothing where all is well."""

    name: str
    about: str
    cause: str
    settings: Mapping[str, Any]
    expected: Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """The configurations of a design."""

    design: Design
    about: str
    configurations: tuple[Configuration, ...]

    def configuration(self, name: str) -> Configuration:
        """The configuration of that name. Errors: KeyError."""
        return {one.name: one for one in self.configurations}[name]


def load(design: str) -> Suite:
    """The suite of a design. Errors: KeyError for a design that is not one of the older ones."""
    one = DESIGNS[design]
    raw = tomllib.loads(files("rota.designs").joinpath(one.file).read_text(encoding="utf-8"))
    return Suite(one, raw["about"], tuple(_configuration(each) for each in raw["configuration"]))


def _configuration(raw: Mapping[str, Any]) -> Configuration:
    """Lists become tuples and the budget pairs, so that settings are hashable and travel to workers."""
    settings: dict[str, Any] = dict(raw["settings"])
    if "wishes" in settings:
        settings["wishes"] = tuple(settings["wishes"])
    if "budget" in settings:
        settings["budget"] = tuple(sorted(settings["budget"].items()))
    return Configuration(raw["name"], raw["about"], raw.get("cause", ""), settings, raw.get("expected", {}))


def system(design: str, settings: Mapping[str, Any]) -> System:
    """The world of a design, which worker processes can rebuild. Errors: KeyError, ValueError."""
    shipped = (("design", design), ("settings", tuple(sorted(settings.items()))))
    return DESIGNS[design].world(ref=SystemRef("rota.designs.suites:rebuild", shipped), **settings)


def rebuild(design: str, settings: tuple[tuple[str, Any], ...]) -> System:
    """`system`, from settings that were shipped to another process."""
    return system(design, dict(settings))
