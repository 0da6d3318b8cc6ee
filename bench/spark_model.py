"""What a round costs: fitted on runs with 1 and 2 local executors, checked on 4, then extrapolated to N.

    core-seconds of a round = a + d * executors + b * states + c * bytes exchanged
    seconds of a round      = a' + (d * executors + b' * states + c' * bytes exchanged) / cores at work

Cores at work are as many as there are executors, or cores if those are fewer: local executors share the
cores of one machine. d is what a round costs each executor whatever is in it, and is taken from the
core-seconds. Four executors on two cores show whether work grows with their number as the model says; that N
machines do theirs at the same time is what the model adds, and the network between them is not in it.
Coefficients are not negative, squares are weighted by 1 / seconds. The first rounds, in which worker
processes start and learn most, are distinguished: so many core-seconds, and so many more for each executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
from bench.spark_tables import name_of, rate

FITTED = (1, 2)
"""Executors of the runs that are fitted; those with more are predicted."""

START = 2
"""Rounds at the beginning that are distinguished."""

ASKED = (1, 2, 4, 8, 16, 32, 64)
"""Executors for which a time is predicted."""


@dataclass(frozen=True)
class Fit:
    """Seconds of a round = fixed + each * executors + per_state * states + per_byte * bytes; begin and
    begin_each: of the first rounds, in all and for each executor.
    """

    fixed: float
    each: float
    per_state: float
    per_byte: float
    begin: float = 0.0
    begin_each: float = 0.0

    def seconds(self, rounds: Sequence[dict[str, Any]], executors: int, cores: int = 1) -> float:
        """All rounds of a run, what is done in executors shared by so many cores."""
        rest = rounds[START:]
        work = sum(self.per_state * r["expanded"] + self.per_byte * r["sent_bytes"] for r in rest)
        every = (self.begin_each + self.each * len(rest)) * executors
        return self.begin + self.fixed * len(rest) + (every + work) / cores

    def __str__(self) -> str:
        return (
            f"{self.begin:.1f} + {self.begin_each:.1f} s an executor at the start, "
            f"{1000 * self.fixed:.0f} + {1000 * self.each:.0f} ms an executor each round, "
            f"{1e6 * self.per_state:.2f} s a million states, {1e9 * self.per_byte:.1f} s a gigabyte"
        )


def fit(rows: Sequence[tuple[float, ...]], seconds: Sequence[float]) -> list[float]:
    """Least squares without negative coefficients: the best of all choices of terms that has none.

    Parameters: rows, a number for each term; seconds.
    """
    matrix, target = np.array(rows, float), np.array(seconds, float)
    weight = np.sqrt(1 / np.maximum(target, 0.05))
    terms = matrix.shape[1]
    best, least = np.zeros(terms), float("inf")
    for size in range(1, terms + 1):
        for chosen in combinations(range(terms), size):
            some = matrix[:, chosen] * weight[:, None]
            found = np.linalg.lstsq(some, target * weight, rcond=None)[0]
            error = float(((some @ found - target * weight) ** 2).sum())
            if (found >= 0).all() and error < least:
                best, least = np.zeros(terms), error
                best[list(chosen)] = found
    return best.tolist()  # type: ignore[no-any-return]


def _executors(one: dict[str, Any]) -> int:
    return int(one["way"]["options"]["master"].partition("[")[2].partition(",")[0])


def model(runs: Sequence[dict[str, Any]]) -> tuple[Fit, Fit]:
    """Seconds and core-seconds."""
    known = [one for one in runs if _executors(one) in FITTED]
    rounds = [(_executors(one), _at_work(one), r) for one in known for r in one["rounds"][START:]]
    begun = [(_executors(one), _at_work(one), _sums(one["rounds"][:START])) for one in known]
    fixed, each, *per = fit(
        [(1.0, n, r["expanded"], r["sent_bytes"]) for n, _, r in rounds],
        [r["core_seconds"] for *_, r in rounds],
    )
    begin, begin_each = fit([(1.0, n) for n, _, _ in begun], [r["core_seconds"] for *_, r in begun])
    whole = Fit(fixed, each, *per, begin, begin_each)
    fixed, *per = fit(
        [(1.0, r["expanded"] / m, r["sent_bytes"] / m) for _, m, r in rounds],
        [r["seconds"] - each * n / m for n, m, r in rounds],
    )
    begin = fmean(r["seconds"] - begin_each * n / m for n, m, r in begun)
    return Fit(fixed, each, *per, begin, begin_each), whole


def _at_work(one: dict[str, Any]) -> int:
    """Cores that executors can be on."""
    return min(_executors(one), int(one["cores"]))


def _sums(rounds: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {key: sum(r[key] for r in rounds) for key in ("seconds", "core_seconds")}


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
            out += _section("exchange by files" if files else "Spark's exchange, two copies kept", runs, done)
    return out


def _section(title: str, runs: Sequence[dict[str, Any]], done: Sequence[dict[str, Any]]) -> list[str]:
    wall, core = model(runs)
    out = ["", f"cost of a round, {title}; fitted on {' and '.join(map(str, FITTED))} executors:",
           f"  seconds:      {wall}", f"  core-seconds: {core}",
           f"  {'':<10}{'executors':>10}{'seconds':>9}{'model':>9}{'':>6}{'core-s':>9}{'model':>9}",
           ]  # fmt: skip
    for one in sorted(runs, key=lambda one: (one["subject"]["states"], _executors(one))):
        rounds, count = one["rounds"], _executors(one)
        says, seconds = wall.seconds(rounds, count, _at_work(one)), sum(r["seconds"] for r in rounds)
        cores = core.seconds(rounds, count)
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
        and one["end"].get("verdict", "holds") == "holds"
    ]  # fmt: skip
    largest = max((*strict, *runs), key=lambda one: int(one["end"]["distinct"]))
    rounds, states = largest["rounds"], largest["end"]["distinct"]
    out = [f"  {name_of(largest)}, {states:,} states in {len(rounds)} rounds, by the model:"]
    times = {count: wall.seconds(rounds, count, count) for count in ASKED}
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
        enough = next((n for n in range(1, 1000) if wall.seconds(rounds, n, n) < seconds), None)
        out.append(
            f"    {name}: {rate(beside):,.0f}/s ({cores:.2f} "
            f"core-seconds a million, on {name_of(beside)}): "
            + (f"as fast from {enough} executors on" if enough else "no number of executors is as fast")
        )
    return out
