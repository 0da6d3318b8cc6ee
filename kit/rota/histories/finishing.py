"""The end of a run: what several sources tell is compared in the order of time, and tables are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shutil import rmtree

from rota.histories import tables
from rota.histories.manifest import Manifest
from rota.histories.plan import Plan
from rota.histories.reading import BROKEN_LINES, folder_of
from rota.histories.record import keep
from rota.histories.runs import HALVES, Row
from rota.histories.told import comparison_of, violation_row
from rota.validate.account import NOTHING, Account, Standing, history_of, verdict_of
from rota.validate.crossing import Crossing

COMPARED = "compared"
"""The folder below `work` whose record says what was compared."""

ORDER = itemgetter(0, 2, 3, 4, 5, 6)
"""Of a row of what is compared: its cluster, and its place among others."""


@dataclass
class Compared:
    """What came of comparisons. accounts: by cluster; compared, skews: as of `Crossing`."""

    accounts: dict[str, Account] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)
    skews: dict[str, float] = field(default_factory=dict)

    def standing(self, cluster: str, group: str) -> Standing | None:
        """What sources do not agree on of a group, if there is anything."""
        account = self.accounts.get(cluster)
        return None if account is None else account.standings.get((cluster, group))


def finish(plan: Plan, known: Manifest) -> None:
    """Write the tables, each file as a whole."""
    folders = {number: plan.work / one for number, one in sorted(known.judged.items())}
    compared = _compared(folders.values())
    disagree = {key for account in compared.accounts.values() for key in account.standings}
    for number, folder in folders.items():
        is_amended = bool(disagree) and not disagree.isdisjoint(_histories(folder))
        for name in tables.RESULTS:
            target = plan.folder / name / f"part-{number:05}.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            half = target.with_suffix(".half")
            if is_amended and name in ("verdicts", "violations"):
                _amend(name, folder / f"{name}.table", half, compared)
            else:
                half.write_bytes((folder / f"{name}.table").read_bytes())
            half.replace(target)
    _broken(plan, known)
    (plan.work / COMPARED).mkdir(parents=True, exist_ok=True)
    keep(plan.work / COMPARED, {"compared": dict(compared.compared), "skews": compared.skews})
    for half in plan.work.rglob(HALVES):  # of work that was killed
        rmtree(half, ignore_errors=True)


def _broken(plan: Plan, known: Manifest) -> None:
    """What could not be read, of nobody knows which group."""
    rows: list[Row] = []
    for shard in known.shards:
        told = tables.read(folder_of(plan, shard) / BROKEN_LINES)
        rows += [tuple(one.values()) for one in told]
    target = plan.folder / "quarantined" / "part-unread.parquet"
    half = target.with_suffix(".half")
    tables.write(half, sorted(rows, key=itemgetter(0)), tables.QUARANTINED)
    half.replace(target)


def _compared(folders: Iterable[Path]) -> Compared:
    """All comparisons, in the order of time."""
    found = Compared()
    rows: list[Row] = []
    for folder in folders:
        rows += [tuple(one.values()) for one in tables.read(folder / "compared.table")]
    rows.sort(key=ORDER)
    for cluster, own in groupby(rows, key=itemgetter(0)):
        account = found.accounts[cluster] = Account(cluster=cluster)
        crossing = Crossing(account)
        for row in own:
            crossing.take(comparison_of(row))
        found.compared += crossing.compared
        found.skews |= {history_of(cluster, pair): skew for pair, skew in crossing.skews.items()}
    return found


def _histories(folder: Path) -> set[tuple[str, str]]:
    """Whose rows a bucket has."""
    told = tables.read(folder / "open.table", ["cluster", "group"])
    return {(one["cluster"], one["group"]) for one in told}


def _amend(name: str, path: Path, target: Path, compared: Compared) -> None:
    """A table with what sources do not agree on."""
    schema = tables.RESULTS[name]
    rows = [tuple(one.values()) for one in tables.read(path)]
    if name == "verdicts":
        rows = [_standing(row, compared) for row in rows]
    else:
        own = _histories(path.parent)
        rows += [
            violation_row(cluster, one)
            for cluster, account in compared.accounts.items()
            for one in account.violations
            if (cluster, one.history) in own
        ]
        rows.sort(key=itemgetter(0, 1))
    tables.write(target, rows, schema)


def _standing(row: Row, compared: Compared) -> Row:
    """A verdict with what sources do not agree on."""
    told = dict(zip(tables.VERDICTS.names, row, strict=True))
    more = compared.standing(told["cluster"], told["group"])
    if more is None:
        return row
    rules = Counter(dict(told["rules"])) + Counter(dict(more.rules or NOTHING))
    told["rules"] = sorted(rules.items())
    told["violations"] = rules.total()
    told["verdict"] = verdict_of(len(rules), bool(told["causes"]), told["judged"])
    return tuple(told.values())
