"""The Spark engine measured: speed, cores, memory, disk; beside the naive design; and what a round costs.

    .venv/bin/python -m bench.spark --group main --group growth              run these, print tables
    .venv/bin/python -m bench.spark --table --plot docs/images/spark.svg     what was measured

Every measurement is a process of its own with a time limit (`bench/spark_list.py` has all of them; `--list`
prints them) and is appended to a file as one line of JSON. Run again, it goes on with what is missing; what
failed or was too slow is measured again with `--again`. Runs on the same system must have the same counts
and digest, from whatever engine, or the benchmark ends with exit 1. Another system: `--subject NAME`,
`--subject N=3,G=3,L=2,C=1,E=1,ND=0` or `--subject SCOPE/CONFIGURATION`, with `--way`, of those in `--list`.
Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.spark_list import MEASUREMENTS, SUBJECTS, WAYS, Measurement, Subject, large

from bench import figure, spark_model, spark_plot, spark_tables, spark_watch

ROOT = Path(__file__).parents[1]


def measure(one: Measurement, work: Path) -> dict[str, Any]:
    """Run a measurement; what is known of it, as JSON. work: where it may write, on the disk that counts."""
    work.mkdir(parents=True, exist_ok=True)
    roots = os.pathsep.join(str(ROOT / part) for part in ("", "model", "impl", "proofs", "kit"))
    with TemporaryDirectory(dir=work, prefix="run-") as place:
        folder, plan = Path(place, "files"), Path(place, "measurement.json")
        folder.mkdir()
        plan.write_text(json.dumps(one.to_json()), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": roots, "TMPDIR": str(folder)}
        command = [sys.executable, "-m", "bench.spark_run", str(plan), str(folder)]
        load = os.getloadavg()[0]
        seen = spark_watch.run(command, environment, folder, Path(place, "said"), one.limit)
        events = _events(Path(place, "said.out"))
        complaint = Path(place, "said.err").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    record = {
        "name": one.name,
        "group": one.group,
        "subject": asdict(one.subject),
        "way": asdict(one.way),
        "load_before": round(load, 2),
        "cores": os.cpu_count(),
        "limit": one.limit,
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    end, begin = events.get("end", [None])[0], events.get("begin", [None])[0]
    rounds = events.get("round", [])
    if begin:
        until = end["at"] if end else (rounds[-1]["at"] if rounds else begin["at"])
        record["core_seconds"] = round(seen.core_seconds(begin["at"], until), 2)
        record["partitions"] = begin.get("partitions")
        for earlier, later in zip([begin, *rounds], rounds, strict=False):
            later["core_seconds"] = round(seen.core_seconds(earlier["at"], later["at"]), 2)
    record |= {
        name: getattr(seen, name) for name in ("pss", "anonymous", "java", "files", "taken", "processes")
    }
    if end is None:
        record["failed"] = seen.ended or f"exit {seen.exit}: {' '.join(complaint[-1:])[:500]}"
    record |= {"end": end, "rounds": rounds, "notes": [note["text"] for note in events.get("note", [])]}
    return record


def _events(path: Path) -> dict[str, list[dict[str, Any]]]:
    events: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("{"):
            event = json.loads(line)
            events.setdefault(event["event"], []).append(event)
    return events


def known(path: Path) -> list[dict[str, Any]]:
    """What was measured; of one that was measured again the last."""
    if not path.exists():
        return []
    every = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return list({one["name"]: one for one in every}.values())


def differing(done: Sequence[dict[str, Any]]) -> list[str]:
    """Sentences on counts that are not the same for the same system."""
    first: dict[tuple[str, str], tuple[Any, str]] = {}
    out = []
    for one in done:
        if not one["end"] or one["end"].get("verdict", "holds") != "holds":
            continue
        for field in ("distinct", "generated", "depth", "digest"):
            value = one["end"].get(field)
            if value is None:
                continue
            subject = json.dumps(one["subject"], sort_keys=True)
            expected, by = first.setdefault((subject, field), (value, one["name"]))
            if value != expected:
                out.append(f"{one['name']}: {field} is {value}, and {expected} by {by}")
    return out


def _asked(given: argparse.Namespace) -> list[Measurement]:
    """The measurements named on the command line."""
    if given.subject:
        subjects = [SUBJECTS.get(text) or _subject(text, tuple(given.set)) for text in given.subject]
        ways = [WAYS[name] for name in given.way or ["strict"]]
        more = {"max_states": given.max_states, "memory": given.memory and given.memory << 20}
        more = {name: value for name, value in more.items() if value}
        variation = "".join(f", {name.replace('_', ' ')} {value}" for name, value in more.items())
        ways = [replace(way, name=way.name + variation, options={**way.options, **more}) for way in ways]
        return [large(subject, way, given.limit) for subject in subjects for way in ways]
    chosen = [one for one in MEASUREMENTS if one.group in given.group]
    return [one for one in chosen if not given.way or one.way.name in given.way]


def _subject(text: str, settings: tuple[str, ...]) -> Subject:
    if "=" in text:
        values = dict(part.split("=") for part in text.split(","))
        numbers = tuple(int(values[name]) for name in ("N", "G", "L", "C", "E", "ND"))
        return Subject(text, 0, kgroup=numbers)
    scope, _, configuration = text.partition("/")
    return Subject(f"{text} {' '.join(settings)}".strip(), 0, spec=(scope, configuration), settings=settings)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    groups = dict.fromkeys(one.group for one in MEASUREMENTS)
    add("--json", type=Path, default=ROOT / "rota-out" / "bench" / "spark.jsonl", metavar="PATH",
        help="where measurements are appended (default: rota-out/bench/spark.jsonl)")  # fmt: skip
    add("--group", action="append", default=[], choices=groups, help="run these; repeatable")
    add("--way", action="append", choices=WAYS, metavar="NAME", help="only this way; repeatable")
    add("--subject", action="append", metavar="NAME", help="run this system; repeatable")
    add(
        "--set",
        action="append",
        default=[],
        metavar="K=V",
        help="a setting for --subject SCOPE/CONFIGURATION",
    )
    add("--limit", type=float, default=3600, metavar="SECONDS", help="for each --subject (default: 3600)")
    add("--max-states", type=int, metavar="N", help="for --subject: give up beyond")
    add("--memory", type=int, metavar="MIB", help="for --subject: for tasks")
    add("--work", type=Path, default=ROOT / "rota-out" / "bench" / "spark", metavar="DIR",
        help="what runs write, gone after each (default: rota-out/bench/spark)")  # fmt: skip
    add("--again", action="store_true", help="what failed is measured again")
    add("--list", action="store_true", help="what there is, and whether it was measured")
    add("--table", action="store_true", help="run nothing, print the tables")
    add("--plot", type=Path, metavar="PATH", help="write a plot of what was measured, SVG")
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _list(done: Sequence[dict[str, Any]]) -> None:
    state = {one["name"]: one.get("failed") or "measured" for one in done}
    for one in MEASUREMENTS:
        print(f"{one.name:<44} {str(one.subject)[:40]:<40} {state.get(one.name, '-')}")
    print("ways: " + "; ".join(WAYS))


def main(arguments: Sequence[str]) -> int:
    """Measure what is missing, print. Returns the exit code, 1 if counts differ, 2 for a bad command."""
    given = _arguments(arguments)
    if given.list:
        _list(known(given.json))
        return 0
    if given.plot and not figure.can_draw():
        _say(f"bench: {figure.MISSING}")
        return 2
    there = {one["name"]: one for one in known(given.json)}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    for one in () if given.table else _asked(given):
        before = there.get(one.name)
        if before and not (given.again and before.get("failed")):
            continue
        _say(f"{time.strftime('%H:%M:%S')} {one.name}")
        record = measure(one, given.work)
        _say("         " + (record.get("failed") or spark_tables.brief(record)))
        with given.json.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    done = known(given.json)
    for line in (*spark_tables.lines(done), *spark_model.lines(done)):
        print(line)
    if given.plot and any(one["end"] for one in done):
        given.plot.parent.mkdir(parents=True, exist_ok=True)
        given.plot.write_text(spark_plot.plot(done), encoding="utf-8")
    for line in (wrong := differing(done)):
        _say(f"bench: {line}; the figures mean nothing")
    return 1 if wrong else 0


def _stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)  # so that what runs is ended, not left behind
    sys.exit(main(sys.argv[1:]))
