"""Judging many groups beside a plain job of Spark: `python -m bench.histories [--groups N] [--in FOLDER]`.

The groups are those of `rota simulate --histories`, or recordings in FOLDER. The plain job reads the same
lines, parses all fields, groups by source and group and counts (`bench/histories_plain.py`); `rota validate`
judges them with `--out`, in this process and on Spark, and plainly. Told are seconds of cores, of all
processes that a run starts, events for each, the ratio to the plain job's and the most memory. The verdicts
of the three must be the same bytes, or the benchmark ends with exit 1. Below some millions of events the
plain job is hardly more than the start of Spark, and the ratio says nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.spark_watch import Watched, run

LIMIT = 3_000.0
"""Seconds after which a run is ended."""

ROTA = [sys.executable, "-m", "rota"]
PLAIN = "plain job of Spark"
VIOLATED_OR_UNDECIDED = (0, 1, 3)


def judged(recordings: Path, folder: Path, name: str, *more: str) -> tuple[list[str], Path]:
    """A command that judges, and the file that it writes the verdicts to."""
    verdicts = folder / f"{name}.verdicts"
    report = ["--report", f"verdicts={verdicts}", "--quiet"]
    how = ["--fresh", "--unordered", "--set", "group.initial.rebalance.delay.ms=3000"]
    return [*ROTA, "validate", str(recordings), *how, *report, *more], verdicts


def measured(
    command: Sequence[str], folder: Path, name: str, allowed: Sequence[int]
) -> tuple[Watched, float]:
    """Run a command; what was seen and seconds of cores. Errors: SystemExit where it fails."""
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "TMPDIR": str(folder)}
    seen = run(command, environment, folder, folder / name, LIMIT)
    if seen.exit not in allowed:
        said = (folder / name).with_suffix(".err").read_text(errors="replace").splitlines()[-5:]
        raise SystemExit("\n".join([f"{name} ended with {seen.exit} {seen.ended}", *said]))
    return seen, seen.core_seconds(0.0, time.time())


def main(arguments: Sequence[str]) -> int:
    """Make the recordings, run all, print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.histories")
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in", dest="recordings", type=Path)
    parser.add_argument("--cores", type=int, default=2, help="of Spark, for both")
    parser.add_argument("--memory", type=int, help="MiB, of rota's processes together")
    parser.add_argument("--keep", type=Path, help="a folder for what is written; else it is removed")
    parser.add_argument("--only", choices=("here", "tables", "spark"), action="append")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="rota-histories-") as place:
        folder = chosen.keep or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        recordings = chosen.recordings or made(folder, chosen.groups, chosen.seed)
        more = ["--memory", str(chosen.memory)] if chosen.memory else []
        return table(recordings, folder, chosen.only or ("here", "tables", "spark"), chosen.cores, more)


def made(folder: Path, groups: int, seed: int) -> Path:
    """Recordings of so many groups."""
    told = ["--histories", str(groups), "--seed", str(seed), "--bugs", "0.01", "--out", str(folder / "made")]
    measured([*ROTA, "simulate", *told], folder, "simulate", (0,))
    return folder / "made" / "recordings"


def table(
    recordings: Path, folder: Path, ways: Sequence[str], cores: int = 2, more: Sequence[str] = ()
) -> int:
    """Print what each way costs; 1 where their verdicts differ. more: options of those that write tables."""
    events = sum(one.read_bytes().count(b"\n") for one in sorted(recordings.glob("**/*.jsonl")))
    tables = ["--out", str(folder / "tables"), *more]
    spark = ["--out", str(folder / "spark"), "--engine", "spark", "--master", f"local[{cores}]", *more]
    kinds = {"here": [], "tables": tables, "spark": spark}
    print(f"{events:,} events, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    plain = [sys.executable, "-m", "bench.histories_plain", str(recordings), f"local[{cores}]"]
    seen, base = measured(plain, folder, "plain", (0,))
    print(_line(PLAIN, events, base, base, seen), flush=True)
    verdicts = set()
    for way in ways:
        command, said = judged(recordings, folder, way, *kinds[way])
        seen, seconds = measured(command, folder, way, VIOLATED_OR_UNDECIDED)
        verdicts.add(said.read_bytes())
        print(_line(f"rota validate, {way}", events, seconds, base, seen), flush=True)
    print("verdicts: " + ("the same bytes" if len(verdicts) == 1 else "NOT THE SAME"))
    return 0 if len(verdicts) == 1 else 1


def _line(name: str, events: int, seconds: float, base: float, seen: Watched) -> str:
    rate = events / max(seconds, 1e-9)
    micro = 1e6 * seconds / max(events, 1)
    return (
        f"{name}: {seconds:.1f} s of cores, {rate:,.0f} events/s, {micro:.1f} us an event, "
        f"{base / max(seconds, 1e-9):.4f} of the plain job's rate, {seen.pss >> 20} MiB"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
