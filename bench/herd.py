"""What a change of membership costs in the three designs, for groups of 2 to 64 members, and how it grows.

    .venv/bin/python -m bench.herd [--sizes 2,4,8] [--seeds N] [--docs FOLDER]

Random runs of the models (see `rota.herd`), from seeds, so the same figures come out again. Writes herd.json
(every mean), images/herd.svg (the plot) and the table in designs.md below the folder of the docs. Nothing is
timed: it may run beside other things; all sizes take two minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.herd_plot import Curve, svg

from bench import figure
from rota.herd import CHANGES, COUNTS, SUBJECTS, exponent, simulated

ROOT = Path(__file__).resolve().parent.parent
SIZES = (2, 4, 8, 16, 32, 64)
SEEDS = 5

WORDS = {
    "watches": "members notified by ZooKeeper",
    "told": "members told by a heartbeat's answer",
    "requests": "requests of members",
    "nodes": "znodes read",
    "rebalances": "assignments computed",
}
BEGIN, END = "<!-- herd: written by python -m bench.herd -->", "<!-- end of herd -->"


@dataclass(frozen=True)
class Row:
    """Means over the seeds. members: when the change is over."""

    design: str
    change: str
    members: int
    seeds: int
    means: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {**vars(self), "means": dict(self.means)}


def measure(sizes: Sequence[int], seeds: int) -> Iterator[Row]:
    """Every design, change and size."""
    for name, subject in SUBJECTS.items():
        for change in CHANGES:
            for members in sizes:
                runs = [simulated(subject, members, change, seed) for seed in range(seeds)]
                means = {count: round(fmean(getattr(run, count) for run in runs), 2) for count in COUNTS}
                yield Row(name, change, members, seeds, means)


def rows_in(text: str) -> list[Row]:
    """The rows of a file."""
    return [Row(**row) for row in json.loads(text)["rows"]]


def points(rows: Sequence[Row], design: str, change: str, count: str) -> list[tuple[int, float]]:
    """(members, mean), smallest first."""
    chosen = [row for row in rows if (row.design, row.change) == (design, change)]
    return sorted((row.members, row.means[count]) for row in chosen)


def growth(curve: Sequence[tuple[float, float]]) -> str:
    """`n^1.2`, `constant`, or nothing where there is nothing to grow."""
    if all(number == 0 for _, number in curve):
        return ""
    power = exponent(curve)
    if power is None:
        return ""
    return "constant" if abs(power) < 0.005 else f"n^{power:.2f}"


def _cell(curve: Sequence[tuple[int, float]]) -> str:
    first, last = curve[0][1], curve[-1][1]
    if first == last:
        return f"{first:g}"
    return f"{first:g} … {last:,.0f}, {growth(curve)}"


def table(rows: Sequence[Row]) -> str:
    """A table for each change: from the smallest to the largest group, and the fitted growth."""
    sizes = sorted({row.members for row in rows})
    out = []
    for change in CHANGES:
        head = f"one more {change}s; {sizes[0]} … {sizes[-1]} members when it is over"
        out += [f"| {head} | {' | '.join(SUBJECTS)} |", "|---|" + "---|" * len(SUBJECTS)]
        for count, words in WORDS.items():
            cells = (_cell(points(rows, design, change, count)) for design in SUBJECTS)
            out.append(f"| {words} | {' | '.join(cells)} |")
        out.append("")
    return "\n".join(out).rstrip()


def plot(rows: Sequence[Row]) -> str:
    """What it costs that one leaves: who hears of it, what is computed, what members ask for."""
    panels = (("members that hear of one who leaves", ("watches", "told")),
              ("assignments computed", ("rebalances",)),
              ("requests and znodes read", ("requests", "nodes")))  # fmt: skip
    return svg([(title, [_curve(rows, design, counts) for design in SUBJECTS]) for title, counts in panels])


def _curve(rows: Sequence[Row], design: str, counts: Sequence[str]) -> Curve:
    """The sum of several counts."""
    curves = [points(rows, design, "leave", count) for count in counts]
    total = [(same[0][0], sum(mean for _, mean in same)) for same in zip(*curves, strict=True)]
    return Curve(design, growth(total), tuple(total))


def documents(rows: Sequence[Row], page: str) -> dict[str, str]:
    """What is written, by path below the docs. page: designs.md as it is. Errors: ValueError."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"designs.md has no place for the table; put it between {BEGIN} and {END}")
    lines = ",\n  ".join(json.dumps(row.as_json()) for row in rows)
    return {
        "herd.json": f'{{"schema": 1, "rows": [\n  {lines}\n]}}\n',
        "images/herd.svg": plot(rows),
        "designs.md": f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}",
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and write. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.herd", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="N,N",
                        help="members of the groups (default: %(default)s)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="runs each (default: 5)")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", metavar="FOLDER", help="where to write")
    given = parser.parse_args(arguments)
    if not figure.can_draw():
        parser.error(figure.MISSING)
    rows = []
    for row in measure([int(size) for size in given.sizes.split(",")], given.seeds):
        rows.append(row)
        numbers = ", ".join(f"{WORDS[count]} {mean:g}" for count, mean in row.means.items())
        print(f"{row.design}, one more {row.change}s, {row.members} members: {numbers}", flush=True)
    page = (given.docs / "designs.md").read_text(encoding="utf-8")
    for path, content in documents(rows, page).items():
        (given.docs / path).parent.mkdir(parents=True, exist_ok=True)
        (given.docs / path).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
