"""What the tables of a run tell, as the account of a run that judges by itself has it."""

from __future__ import annotations

import heapq
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from rota.histories import reading
from rota.histories.finishing import COMPARED
from rota.histories.judging import NOT_CHECKED, QUARANTINED
from rota.histories.manifest import Manifest
from rota.histories.mix import Mix, mix_of
from rota.histories.plan import Plan
from rota.histories.record import kept
from rota.histories.tables import parts_of, rows, rows_as_they_lie
from rota.histories.told import violation_of
from rota.reading import Tally
from rota.reading.tally import Quarantined
from rota.validate.account import MOST_NAMED, Account, history_of

WORST = 10
"""Groups that are named as longest without an assignment."""

OTHERS = "others"
"""The name for histories that are too many to be named."""


class Names(Set[str]):
    """Names of histories, which tables have and nobody else keeps: there may be millions of them.

    Parameters: folder, of the tables; number, how many they are; judged, whether only of those of which
    something was judged or is violated.
    """

    def __init__(self, folder: Path, number: int, judged: bool = False) -> None:
        self._folder, self._number, self._judged = folder, number, judged

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[str]:
        for row in rows(self._folder, "verdicts", ("cluster", "group", "judged", "violations")):
            if not self._judged or row["judged"] or row["violations"]:
                yield history_of(row["cluster"], row["group"])

    def __contains__(self, name: object) -> bool:
        return any(one == name for one in self)

    @classmethod
    def _from_iterable(cls, names: Iterable[str]) -> set[str]:  # type: ignore[override]
        return set(names)


@dataclass(frozen=True)
class Cause:
    """Why groups rebalanced. title: in two words; seconds: without an assignment, where that is visible."""

    title: str
    incidents: int
    seconds: float


@dataclass
class Results:
    """account: of all clusters, without standings; mix: of what they consist; compared, skews: as of
    `Clusters`; verdicts: how many histories have each; causes: of incidents, what cost most first; worst:
    groups that were longest without an assignment, and seconds."""

    account: Account
    mix: Mix
    compared: dict[str, int]
    skews: dict[str, float]
    verdicts: dict[str, int] = field(default_factory=dict)
    causes: list[Cause] = field(default_factory=list)
    worst: list[tuple[str, float]] = field(default_factory=list)


def results(plan: Plan, known: Manifest, tally: Tally) -> Results:
    """Of all tables. tally: is told what was read and what was not."""
    compared = kept(plan.work / COMPARED)
    mix = mix_of(plan, known, _read(plan, known, tally))
    found = Results(Account(), mix, compared["compared"], compared["skews"])
    account = found.account
    groups = histories = 0
    for row in rows_as_they_lie(parts_of(plan.folder, "verdicts"), ("judged", "violations", "verdict")):
        account.judged += row["judged"]
        account.found += row["violations"]
        found.verdicts[row["verdict"]] = found.verdicts.get(row["verdict"], 0) + 1
        groups, histories = groups + 1, histories + bool(row["judged"] or row["violations"])
    account.groups, account.histories = Names(plan.folder, groups), Names(plan.folder, histories, judged=True)
    for row in rows(plan.folder, "violations"):
        if len(account.violations) == MOST_NAMED:
            break
        told = violation_of(tuple(row.values()))
        account.violations.append(replace(told, history=history_of(row["cluster"], told.history)))
    for row in rows(plan.folder, "not_judged"):
        _not_judged(account, row)
    for row in rows(plan.folder, "late"):
        account.forgive(history_of(row["cluster"], row["group"]), row["what"], row["seconds"])
    reached = rows_as_they_lie(parts_of(plan.folder, "coverage"), ("rule", "state"))
    account.reached = {(row["rule"], row["state"]) for row in reached}
    found.causes, found.worst = _incidents(plan.folder)
    return found


def _incidents(folder: Path) -> tuple[list[Cause], list[tuple[str, float]]]:
    """Why groups rebalanced, and which were longest without an assignment."""
    incidents, worst = Counter[str](), list[tuple[float, str]]()
    seconds: dict[str, array[float]] = {}
    told = rows_as_they_lie(parts_of(folder, "incidents"), ("cluster", "group", "title", "seconds"))
    for (cluster, group), own in groupby(told, itemgetter("cluster", "group")):
        of_group = 0.0
        for row in own:
            incidents[row["title"]] += 1
            seconds.setdefault(row["title"], array("d")).append(row["seconds"] or 0.0)
            of_group += row["seconds"] or 0.0
        worst = heapq.nsmallest(WORST, [*worst, (-of_group, history_of(cluster, group))])
    found = [Cause(title, number, math.fsum(seconds[title])) for title, number in incidents.items()]
    costly = sorted(found, key=lambda one: (-one.seconds, -one.incidents, one.title))
    return costly, [(name, -lost) for lost, name in worst]


def verdict_lines(folder: Path) -> Iterator[str]:
    """The standing of each history, as `Account.verdicts` tells it."""
    for row in rows(folder, "verdicts"):
        told = {name: value for name, value in row.items() if name not in ("first", "last")}
        counts = {name: dict(told[name]) for name in ("rules", "causes")}
        yield json.dumps(told | counts)


def _not_judged(account: Account, row: dict[str, Any]) -> None:
    if row["fate"] == NOT_CHECKED:
        account.not_checked[row["why"], row["source"]] += row["events"]
    elif row["fate"] == QUARANTINED:
        account.quarantined += row["events"]
    else:
        group = history_of(row["cluster"], row["group"])
        if len(account.undecided) >= MOST_NAMED and (group, row["why"]) not in account.undecided:
            group = OTHERS
        account.undecided[group, row["why"]] += row["events"]


def _read(plan: Plan, known: Manifest, tally: Tally) -> dict[str, int]:
    """Tell a tally what was read. Returns requests by what they ask."""
    asked: dict[str, int] = {}
    for shard in known.shards:
        told = kept(reading.folder_of(plan, shard))
        tally.events += told["events"]
        tally.unread += told["unread"]
        tally.unknown += told["unknown"]
        if told["untimed"]:
            first, number = told["untimed"]
            tally.untimed = Quarantined(first, number + (tally.untimed.number if tally.untimed else 0))
        for why, (first, number) in told["reasons"].items():
            there = tally.quarantined.setdefault(why, Quarantined(first, 0))
            there.number += number
        tally.also_told += sum(number for _, number in told["reasons"].values()) - told["broken"]
        for api, number in told["asked"].items():
            asked[api] = asked.get(api, 0) + number
    return asked
