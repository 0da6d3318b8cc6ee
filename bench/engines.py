"""States per second and memory of rota's engines, beside other model checkers on the same model.

    .venv/bin/python -m bench.engines [--json PATH] [--plot PATH]

The model is KGROUP: `bench/kgroup.py` for rota, `bench/peers/stateright` for Stateright, `bench/peers/spin`
for Spin. Every tool must have the same counts, or the benchmark ends with exit 1. Each search is a process of
its own; the tools take turns, A B C A B C, and medians are printed. A tool that is not there is named with
the remedy. Seconds are those of the search as each tool reports them; memory is the process's peak (which the
system never tells smaller than this program's own, some 17 MiB). Under symmetry, states/s counts the states
that the orbits stand for.
Run it on a quiet machine: it takes a while. Any other tool takes part with --peer:

    .venv/bin/python -m bench.engines --instance M4 --tool "rota fast" --peer "mine, 2=search -w 2 {N} {G}"
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers.instances import CURVE, INSTANCES, TABLES, Instance
from bench.peers.plot import svg
from bench.peers.rounds import Differ, Row, measure
from bench.peers.tools import REFERENCE, ROOT, TOOLS, Failed, other

from bench import figure


def lines(instance: Instance, rows: Sequence[Row]) -> list[str]:
    """The table of an instance; the last columns: how many times as fast as the row rota's engines are."""
    counts, settings = instance.counts, " ".join(f"{name}={value}" for name, value in instance.named.items())
    ours = [row for row in rows if row.tool.family == "rota" and row.tool is not REFERENCE]
    head = f"{'':<36}{'distinct':>11}{'generated':>12}{'depth':>6}{'seconds':>9}{'states/s':>11}{'MiB':>7}"
    heads = [f"{row.tool.name} is" for row in ours]
    out = [
        f"{instance.name}: {settings}: {counts.distinct:,} states, {counts.generated:,} generated, "
        f"depth {counts.depth}; medians of {len(rows[0].runs) if rows else 0}",
        f"{head}{'B/state':>9}" + "".join(f"  {each:>14}" for each in heads),
    ]
    for row in rows:
        seen = row.counts
        ratios = "".join(
            f"  {mine.rate / row.rate:>{max(len(each), 14) - 2}.3g} x"
            for mine, each in zip(ours, heads, strict=True)
        )
        out.append(
            f"  {row.tool.name:<34}{seen.distinct:>11,}{seen.generated:>12,}"
            f"{'-' if seen.depth is None else seen.depth:>6}{row.seconds:>9.2f}{row.rate:>11,.0f}"
            f"{row.peak_kib / 1024:>7,.0f}{row.bytes_per_state:>9.0f}{ratios}"
        )
    return out


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.engines", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures there")
    parser.add_argument(
        "--plot", type=Path, metavar="PATH", help="write a plot over growing instances there, SVG"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each tool (default: 3)")
    parser.add_argument("--instance", action="append", choices=sorted(INSTANCES), metavar="NAME",
                        help=f"only this one of {', '.join(INSTANCES)}; repeatable")  # fmt: skip
    parser.add_argument(
        "--tool", action="append", metavar="TEXT", help="only tools whose name has it; repeatable"
    )
    parser.add_argument(
        "--peer",
        action="append",
        type=other,
        default=[],
        metavar="NAME=COMMAND",
        help="one more tool, which prints distinct=…, generated=… and perhaps depth=…, seconds=…; {N}, {G} "
        "and so on stand for the instance's settings; repeatable, whatever --tool says",
    )
    parser.add_argument(
        "--limit", type=float, default=3600, metavar="SECONDS", help="for one run (default: 3600)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "rota-out" / "bench", metavar="DIRECTORY",
                        help="what is built (default: rota-out/bench)")  # fmt: skip
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Returns the exit code: 1 if counts differ or a tool fails, 2 for a bad command."""
    given = _arguments(arguments)
    tools = [tool for tool in TOOLS if not given.tool or any(text in tool.name for text in given.tool)]
    tools += given.peer
    asked = [INSTANCES[name] for name in given.instance] if given.instance else list(TABLES)
    if not tools or given.rounds < 1:
        _say("bench: nothing to run: no tool has that in its name, or no rounds")
        return 2
    if given.plot and not figure.can_draw():
        _say(f"bench: {figure.MISSING}")
        return 2
    rows: list[Row] = []
    missing: dict[str, str] = {}
    try:
        for instance in [*asked, *(one for one in CURVE if given.plot and one not in asked)]:
            rounds = given.rounds if instance in asked else 1
            found, without = measure(tools, instance, rounds, given.out.resolve(), given.limit, _say)
            rows += found
            missing |= without
            if instance in asked:
                print("\n".join(lines(instance, found)), end="\n\n", flush=True)
    except (Differ, Failed) as error:
        _say(f"bench: {error}; the figures mean nothing")
        return 1
    for name, reason in missing.items():
        print(f"not there: {name}: {reason}")
    _write(given, rows, missing)
    return 0


def _write(given: argparse.Namespace, rows: Sequence[Row], missing: dict[str, str]) -> None:
    record = {
        "schema": 1,
        "cores": os.cpu_count(),
        "rows": [row.report() for row in rows],
        "missing": missing,
    }
    curve = [row for row in rows if row.instance in CURVE]
    for path, content in (
        (given.json, json.dumps(record, indent=2) + "\n"),
        (given.plot, svg(curve) if curve else ""),
    ):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")


def _stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)  # so that what runs is ended, not left behind
    sys.exit(main(sys.argv[1:]))
