"""What a round costs: fitted on runs with 1 and 2 local executors, checked on 4, then told for N.

    seconds of a round      = a + (b * states + c * bytes exchanged) / executors that have a core
    core-seconds of a round = a' + b' * states + c' * bytes exchanged

Local executors share the cores of one machine. Four of them on two cores can show that the work does not grow
with their number (the core-seconds); that N machines do it in an N-th of the time is what the model says, and
the network between them is not in it. Coefficients are not negative, squares are weighted by 1 / seconds.
The first rounds, in which worker processes start and learn most, are a constant of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
from bench.spark_tables import name_of, rate

FITTED = (1, 2)
"""Executors of the runs that are fitted; those with more are predicted."""

START = 2
"""Rounds at the beginning that are told apart."""

ASKED = (1, 2, 4, 8, 16, 32, 64)
"""Executors for which a time is told."""


@dataclass(frozen=True)
class Fit:
    """Seconds of a round = fixed + per_state * states + per_byte * bytes; start: of the first rounds."""

    fixed: float
    per_state: float
    per_byte: float
    start: float = 0.0

    def seconds(self, rounds: Sequence[dict[str, Any]], executors: int = 1) -> float:
        """All rounds of a run, the work shared by so many."""
        rest = rounds[START:]
        work = sum(self.per_state * r["expanded"] + self.per_byte * r["sent_bytes"] for r in rest)
        return self.start + self.fixed * len(rest) + work / executors

    def __str__(self) -> str:
        return (
            f"{self.start:.1f} s at the start, {1000 * self.fixed:.0f} ms a round, "
            f"{1e6 * self.per_state:.2f} s a million states, {1e9 * self.per_byte:.1f} s a gigabyte"
        )


def fit(rows: Sequence[tuple[float, float, float]], seconds: Sequence[float]) -> Fit:
    """Least squares without negative coefficients: the best of all choices of terms that has none.

    Parameters: rows of (1, states, bytes), divided as the model says; seconds.
    """
    matrix, target = np.array(rows, float), np.array(seconds, float)
    weight = np.sqrt(1 / np.maximum(target, 0.05))
    best, least = np.zeros(3), float("inf")
    for size in (1, 2, 3):
        for chosen in combinations(range(3), size):
            some = matrix[:, chosen] * weight[:, None]
            found = np.linalg.lstsq(some, target * weight, rcond=None)[0]
            error = float(((some @ found - target * weight) ** 2).sum())
            if (found >= 0).all() and error < least:
                best, least = np.zeros(3), error
                best[list(chosen)] = found
    return Fit(*best.tolist())


def _executors(one: dict[str, Any]) -> int:
    return int(one["way"]["options"]["master"].partition("[")[2].partition(",")[0])


def _model(runs: Sequence[dict[str, Any]]) -> tuple[Fit, Fit]:
    """Seconds and core-seconds."""
    rounds = [
        (min(_executors(one), one["cores"]), r)
        for one in runs
        if _executors(one) in FITTED
        for r in one["rounds"][START:]
    ]
    begun = [one["rounds"][:START] for one in runs if _executors(one) in FITTED]
    wall, core = (fmean(sum(r[key] for r in first) for first in begun) for key in ("seconds", "core_seconds"))
    walls, cores = [r["seconds"] for _, r in rounds], [r["core_seconds"] for _, r in rounds]
    shared = [(1.0, r["expanded"] / n, r["sent_bytes"] / n) for n, r in rounds]
    whole = [(1.0, r["expanded"], r["sent_bytes"]) for _, r in rounds]
    return replace(fit(shared, walls), start=wall), replace(fit(whole, cores), start=core)


def lines(done: Sequence[dict[str, Any]]) -> list[str]:
    """The model of each exchange, how it fits, what it predicts; nothing if executors were not measured."""
    out: list[str] = []
    for files in (True, False):
        runs = [
            one
            for one in done
            if one["group"] == "executors" and one["end"] and one["way"]["options"]["files"] is files
        ]
        if {_executors(one) for one in runs} >= set(FITTED):
            out += _told("exchange by files" if files else "Spark's exchange, two copies kept", runs, done)
    return out


def _told(title: str, runs: Sequence[dict[str, Any]], done: Sequence[dict[str, Any]]) -> list[str]:
    wall, core = _model(runs)
    out = ["", f"cost of a round, {title}; fitted on {' and '.join(map(str, FITTED))} executors:",
           f"  seconds:      {wall}", f"  core-seconds: {core}",
           f"  {'':<10}{'executors':>10}{'seconds':>9}{'model':>9}{'':>6}{'core-s':>9}{'model':>9}",
           ]  # fmt: skip
    for one in sorted(runs, key=lambda one: (one["subject"]["states"], _executors(one))):
        rounds, count = one["rounds"], _executors(one)
        says, seconds = wall.seconds(rounds, min(count, one["cores"])), sum(r["seconds"] for r in rounds)
        cores = core.seconds(rounds)
        out.append(
            f"  {name_of(one):<10}{count:>10}{seconds:>9.1f}{says:>9.1f}{100 * (says / seconds - 1):>+5.0f}%"
            f"{one['core_seconds']:>9.1f}{cores:>9.1f}{100 * (cores / one['core_seconds'] - 1):>+5.0f}%"
            + ("" if count in FITTED else "  predicted")
            + (f"; they share {one['cores']} cores" if count > one["cores"] else "")
        )
    return [*out, *_predicted(wall, runs, done)]


def _predicted(wall: Fit, runs: Sequence[dict[str, Any]], done: Sequence[dict[str, Any]]) -> list[str]:
    """Times on N executors for the largest run with known rounds, and when the fast engine is beaten."""
    strict = [
        one
        for one in done
        if one["end"] and one["subject"]["kgroup"] and one["way"]["name"] in ("strict", "strict, files")
        and one["end"].get("outcome", "holds") == "holds"
    ]  # fmt: skip
    largest = max((*strict, *runs), key=lambda one: int(one["end"]["distinct"]))
    rounds, states = largest["rounds"], largest["end"]["distinct"]
    out = [f"  {name_of(largest)}, {states:,} states in {len(rounds)} rounds, by the model:"]
    times = {count: wall.seconds(rounds, count) for count in ASKED}
    out.append(
        "    "
        + ", ".join(f"{n}: {seconds:,.0f} s ({states / seconds:,.0f}/s)" for n, seconds in times.items())
    )
    for name in ("fast, 1 thread", "fast, 2 threads"):
        local = [one for one in done if one["way"]["name"] == name and one["end"]]
        same = [one for one in local if one["subject"] == largest["subject"]]
        if not local:
            continue
        beside = max(same or local, key=lambda one: int(one["end"]["distinct"]))
        seconds = states / rate(beside)
        cores = 1e6 * beside["core_seconds"] / beside["end"]["distinct"]
        enough = next((n for n in range(1, 1000) if wall.seconds(rounds, n) < seconds), None)
        out.append(
            f"    {name}: {rate(beside):,.0f}/s ({cores:.2f} "
            f"core-seconds a million, on {name_of(beside)}): "
            + (f"as fast from {enough} executors on" if enough else "no number of executors is as fast")
        )
    return out
