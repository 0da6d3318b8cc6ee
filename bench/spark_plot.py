"""The plot of `bench.spark`: states per second against states, as far as each way came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.peers.plot import Line, Style, chart
from bench.spark_tables import rate

STYLES: Mapping[str, tuple[str, Style]] = {
    "fast, 1 thread": ("fast engine, 1 thread", Style("#c0392b")),
    "fast, 2 threads": ("fast engine, 2 threads", Style("#c0392b", dashed=True)),
    "strict": ("Spark, Spark's exchange", Style("#1f618d")),
    "strict, files": ("Spark, exchange by files", Style("#1e8449")),
    "verdict only": ("Spark, verdict only", Style("#8e44ad")),
    "verdict only, files": ("Spark, verdict only, files", Style("#8e44ad", dashed=True)),
    "naive": ("naive RDD design", Style("#7f8c8d")),
}
"""By way: its name in the plot and how it is drawn."""


def plot(done: Sequence[dict[str, Any]]) -> str:
    """KGROUP only, as lines are of one kind of state; medians of several runs; nothing for nothing."""
    points: dict[str, dict[int, list[float]]] = {}
    for one in done:
        way = one["way"]["name"]
        if one["end"] and one["subject"]["kgroup"] and one["group"] != "warm" and way in STYLES:
            points.setdefault(way, {}).setdefault(one["end"]["distinct"], []).append(rate(one))
    lines = [
        Line(*STYLES[way], tuple((states, median(rates)) for states, rates in sorted(points[way].items())))
        for way in STYLES
        if way in points
    ]
    return chart(lines) if lines else ""
