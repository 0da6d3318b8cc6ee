"""The tables of `bench.spark`: from measurements, as they were appended, to lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median
from typing import Any

NARROW = 1000
"""A round with fewer new states is a narrow one: what it takes is what a round takes whatever is in it."""

Measured = dict[str, Any]
GIB = 1 << 30


def rate(one: Measured) -> float:
    """Distinct states per second of the search."""
    return float(one["end"]["distinct"]) / max(float(one["end"]["seconds"]), 0.001)


def name_of(one: Measured) -> str:
    """What is measured, without its group and number."""
    return str(one["subject"]["name"])


def brief(one: Measured) -> str:
    """A measurement in one line."""
    end, rounds = one["end"], [r for r in one["rounds"] if "seconds" in r]
    parts = [
        f"{end['distinct']:,} states in {end['seconds']:.1f} s: {rate(one):,.0f}/s",
        f"{one['core_seconds']:,.0f} core-seconds",
        f"{one['anonymous'] / GIB:.2f} GiB ({one['pss'] / GIB:.2f} with mapped files)",
        f"disk {one['files'] / end['distinct']:.1f} B/state",
    ]
    if rounds:
        widest = max(rounds, key=lambda r: float(r["expanded"]))
        narrow = [r["seconds"] for r in rounds if r["expanded"] < NARROW]
        stats = end["stats"]
        parts += [
            f"exchanged {stats['exchanged_bytes'] / end['distinct']:.1f} B/state",
            f"widest round {widest['expanded']:,} states in {widest['seconds']:.1f} s",
            f"narrow rounds {median(narrow):.2f} s" if narrow else "no narrow round",
            f"merging {100 * stats['seconds_merging'] / end['seconds']:.1f} % of the driver's time",
        ]
    return "; ".join(parts)


def _row(way: str, runs: Sequence[Measured]) -> str:
    ended = [one for one in runs if one["end"]]
    if not ended:
        return f"  {way:<34}{runs[-1].get('failed', '')[:90]}"
    one = min(ended, key=lambda run: abs(run["end"]["seconds"] - median(r["end"]["seconds"] for r in ended)))
    end, stats = one["end"], one["end"].get("stats") or {}
    rounds = [r for r in one["rounds"] if "expanded" in r]
    narrow = [r["seconds"] for r in rounds if r["expanded"] < NARROW]
    widest = max(rounds, key=lambda r: int(r["expanded"]), default=None)
    states = end["distinct"]

    def optional(value: float | None, form: str, width: int) -> str:
        return f"{'-' if value is None else format(value, form):>{width}}"

    return (
        f"  {way:<34}{states:>13,}{end['seconds']:>9.1f}{rate(one):>11,.0f}"
        f"{1e6 * one['core_seconds'] / states:>9.2f}{one['anonymous'] / GIB:>8.2f}{one['pss'] / GIB:>7.2f}"
        f"{one['files'] / states:>7.1f}"
        + optional(stats.get("exchanged_bytes", 0) / states if rounds else None, ".1f", 7)
        + optional(widest["seconds"] if widest else None, ".1f", 8)
        + optional(median(narrow) if narrow else None, ".2f", 8)
        + optional(100 * stats["seconds_merging"] / end["seconds"] if rounds else None, ".1f", 7)
        + f"{len(ended):>5}{'' if end.get('verdict', 'holds') == 'holds' else '  ' + end['verdict']}"
    )


HEAD = (
    f"  {'':<34}{'states':>13}{'s':>9}{'states/s':>11}{'core-s/M':>9}{'GiB':>8}{'mapped':>7}"
    f"{'disk':>7}{'sent':>7}{'widest':>8}{'narrow':>8}{'merge%':>7}{'runs':>5}"
)
"""GIB: memory that no file backs, of all processes; mapped: with pages of files; disk, sent: bytes per state;
widest, narrow: seconds of rounds; merge%: of the driver; the row is the run with the median time."""


def lines(done: Sequence[Measured]) -> list[str]:
    """A table for each system, by its number of states; then the engine beside the naive design."""
    if not done:
        return ["nothing is measured yet; --list tells what there is"]
    out = [
        "GiB: peak memory that no file backs, of all processes; mapped: with pages of files; core-s/M:",
        "seconds of cores for a million states; disk, sent: bytes a state; widest, narrow: seconds a round.",
    ]
    ordered = sorted((one for one in done if one["group"] != "warm"), key=_size)
    for subject, some in groupby(ordered, key=name_of):
        runs = list(some)
        subject = runs[0]["subject"]
        settings = " ".join(map(str, subject["kgroup"] or (*subject["spec"], *subject["settings"])))
        out += ["", f"{subject}: {settings}", HEAD]
        ways = dict.fromkeys(one["way"]["name"] for one in runs)
        out += [_row(way, [one for one in runs if one["way"]["name"] == way]) for way in ways]
    return [*out, *_beside_naive(done)]


def _size(one: Measured) -> tuple[float, str]:
    return (one["subject"]["states"] or (one["end"] or {}).get("distinct", 0), name_of(one))


def _beside_naive(done: Sequence[Measured]) -> list[str]:
    ours = [one for one in done if one["way"]["name"] == "strict" and one["end"]]
    out = ["", "the engine (strict, default exchange) beside the naive design:"]
    for naive in sorted((one for one in done if one["group"] == "naive"), key=_size):
        mine = [rate(one) for one in ours if one["subject"] == naive["subject"] and one["group"] != "warm"]
        if mine and naive["end"]:
            times = median(mine) / rate(naive)
            out.append(
                f"  {name_of(naive):<10} {naive['end']['distinct']:>12,} states: "
                f"{median(mine):>10,.0f}/s and {rate(naive):>8,.0f}/s: {times:.1f} times as fast"
            )
        elif naive.get("failed"):
            last = naive["rounds"][-1]["distinct"] if naive["rounds"] else 0
            out.append(f"  {name_of(naive):<10} naive: {naive['failed']}, at {last:,} states")
    return out if len(out) > 2 else []
