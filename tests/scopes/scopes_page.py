"""The tables of docs/scopes.md, from the scopes; `python tests/scopes/scopes_page.py` puts them in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rota.environment.world import DEFAULTS
from rota.scopes import Configuration, load, names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scopes.md"
MARK = re.compile(r"<!-- scope: (\S+) -->\n(?:\n(?:\|.*\n)+)?")

OTHERS = ("kafka-3.x", "kafka-2.1", "rota")
"""Profiles under which a configuration may be pinned beside the default."""


def own(scope: str) -> list[Configuration]:
    """The configurations of a scope that no scope before it has."""
    before = {one.name for other in names()[: names().index(scope)] for one in load(other).configurations}
    return [one for one in load(scope).configurations if one.name not in before]


def world(one: Configuration) -> str:
    """Who is there and what may happen: clients, settings that are not the usual ones, budgets."""
    settings = {**DEFAULTS, **one.settings}
    kinds = settings["clients"] or ("eager",) * len(settings["protocols"])
    parts = [", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))]
    if any(settings["instances"]):
        parts.append("ids " + " ".join(instance or "–" for instance in settings["instances"]))
    if len({*settings["protocols"]}) > 1 or len(settings["protocols"][0]) > 1:
        parts.append("several protocols")
    for name in ("join_version", "join_versions", "offsets", "max_size", "rebalance_timeout_ms",
                 "append_failure", "partitions", "settle"):  # fmt: skip
        if settings[name] != DEFAULTS[name]:
            parts.append(f"{name} {_value(settings[name])}")
    return "; ".join(parts)


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


def budget(one: Configuration) -> str:
    """What may happen, and how often."""
    return ", ".join(f"{kind} {times}" for kind, times in dict(one.settings.get("budget", ())).items()) or "–"


def over(one: Configuration) -> str:
    """The feature, and what it is added to."""
    return f"{one.feature} (to {one.compared_with})" if one.compared_with else "–"


def states(one: Configuration) -> str:
    """Distinct states, as pinned."""
    return "?" if one.size is None else f"{one.size:,}"


def table(configurations: Iterable[Configuration]) -> str:
    """A table in Markdown."""
    head = ("configuration", "adds", "clients and settings", "budgets", "states", "depth", "s", "also pinned")
    rows = [
        (
            f"`{one.name}`",
            over(one),
            world(one),
            budget(one),
            states(one),
            str((one.expected or {}).get("depth", "–")),
            "–" if one.seconds is None else f"{one.seconds:.0f}",
            ", ".join(profile for profile in OTHERS if one.counts(profile)) or "–",
        )
        for one in configurations
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))


def written(page: str) -> str:
    """The page with all its tables in it."""
    return MARK.sub(lambda found: f"<!-- scope: {found[1]} -->\n\n{table(own(found[1]))}", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
