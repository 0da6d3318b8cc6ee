"""Which planted bugs of the coordinator walks find, within what a run has by default.

    python tests/harness/walk_hunt.py [--seeds 1,2,3] [--explain 1] [--lines FILE] [--processes N] [BUG ...]

looks for each bug with each seed, in virtual time, and writes a line for each to FILE as it goes: what stands
there already is not looked for again. Without a BUG it looks for all that a client can see by the table of
what the cases see, and in the end it writes tests/generate/hunted.toml and the page from all lines. Which
rules would explain a failure takes one to twenty seconds of processor: --explain names the seeds for it.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cache, partial
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from harness.hunted_bugs import CLASSIC_HUNTS, SEEDS, Hunted, Hunts, rules_told
from harness.seen_bugs import PAGE, page, profile_for, seen_bugs
from rota.generate.hunt import Grounds, hunt
from rota.mutants.core import CoreBug, consumer_bugs, core_bugs

LINES = Path("build/hunt.jsonl")


WITH_TRANSACTIONS = 40
"""Walks with transactions that are looked at: of a run on both protocols one walk in seven has some."""


@cache
def grounds(seed: int, profile: str, transactional: bool = False) -> Grounds:
    """What a sound server says to the plans of a seed."""
    return Grounds(seed, profile, transactional=transactional)


def hunted(name: str, seed: int, explained: Sequence[int] = SEEDS) -> dict[str, Any]:
    """What became of the hunt for a bug with a seed, as a line has it: by walks without transactions, or by
    those that have some. explained: seeds with which.
    """
    bug, explains = core_bugs()[name], seed in explained
    line = line_of(CLASSIC_HUNTS, bug, grounds(seed, profile_for(bug)), explains)
    if line["told"]:
        return line
    ground = grounds(seed, profile_for(bug), transactional=True)
    other = line_of(CLASSIC_HUNTS, bug, ground, explains, WITH_TRANSACTIONS)
    return other if other["told"] else line


def line_of(
    hunts: Hunts, bug: CoreBug, ground: Grounds, explains: bool, most: int | None = None
) -> dict[str, Any]:
    """What became of a hunt, as a line has it. explains: whether what fails is made shorter and explained;
    most: walks, at most.
    """
    logging.disable()  # of the server, in which bugs raise
    since = time.process_time()
    found = hunt(bug, ground, explains=explains, most=most)
    failed, short = found.failed, found.shortest
    return {
        "bug": bug.name,
        "seed": ground.seed,
        "broken": hunts.rule_of(bug.name),
        "nearest": failed.rule if failed else "",
        "told": short.rule if short else failed.rule if failed else "",
        "among": rules_told(short) if short else [],
        "steps": len(short.played.plan.steps) if short else 0,
        "mistakes": list(map(str, short.suspects[:5])) if short else [],
        "plan": failed.played.plan.number if failed else -1,
        "transactional": ground.transactional,
        "walks": found.walks,
        "other": found.other,
        "undecided": found.undecided,
        "seconds": round(found.seconds, 1),
        "cause": list(failed.cause) if failed else [],
        "why": failed.why[:300] if failed else "",
        "processor": round(time.process_time() - since, 2),
    }


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """What was found until now."""
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def told(line: dict[str, Any]) -> str:
    """A line for people."""
    head = f"{line['bug']} ({line['broken']}), seed {line['seed']}:"
    spent = f"{line['walks']} walks, {line['processor']} s"
    if not line["told"]:
        return f"MISSED {head} {spent}, {line['other']} other, {line['undecided']} undecided"
    mark = "" if line["told"] == line["broken"] else f"by {line['told']}, "
    return f"found {head} {mark}{spent}"


def look(
    names: Sequence[str],
    seeds: Sequence[int],
    path: Path,
    processes: int,
    hunted: Callable[[str, int], dict[str, Any]] = hunted,
    told: Callable[[dict[str, Any]], str] = told,
) -> None:
    """Look for what is not in the file yet. hunted: makes a line of a bug and a seed; told: says it."""
    there = {(line["bug"], line["seed"]) for line in lines(path)}
    todo = [(name, seed) for seed in seeds for name in names if (name, seed) not in there]
    path.parent.mkdir(parents=True, exist_ok=True)
    bugs = {**core_bugs(), **consumer_bugs()}
    grounded = sorted(todo, key=lambda one: (one[1], profile_for(bugs[one[0]])))
    with (
        path.open("a", encoding="utf-8") as file,
        ExitStack() as stack,
    ):
        pools = [stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"))) for _ in range(processes)]
        # Half of the list each, so that hardly any two draw and play the same plans on a sound server.
        share = ceil(len(grounded) / processes) or 1
        asked = [pools[n // share].submit(hunted, *one) for n, one in enumerate(grounded)]
        for done in as_completed(asked):
            line = done.result()
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(told(line), flush=True)


def tabulate(hunts: Hunts, path: Path) -> None:
    """Write the table from all lines."""
    hunts.write(
        Hunted(
            line["bug"],
            line["seed"],
            line["plan"] if line["told"] else None,
            line["seconds"],
            line["nearest"],
            tuple(line["among"]),
            line.get("transactional", False),
        )
        for line in lines(path)
    )


def parser(description: str | None) -> argparse.ArgumentParser:
    """Reads what is asked for."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)


def asked_for(parser: argparse.ArgumentParser, lines: Path) -> argparse.Namespace:
    """What is to be looked for: bugs (`names`, `all` if none is named), `seeds`, `lines`, `processes`."""
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="of the plans")
    parser.add_argument("--lines", type=Path, default=lines, help="what was found until now")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("names", nargs="*", metavar="BUG")
    asked = parser.parse_args()
    asked.all = not asked.names
    asked.names = asked.names or [one.bug for one in seen_bugs()]
    asked.seeds = [int(seed) for seed in asked.seeds.split(",")]
    return asked


def explained_of(description: str | None, lines: Path) -> argparse.Namespace:
    """As `asked_for`, and seeds with which failures are made shorter and `explained`."""
    reads = parser(description)
    reads.add_argument(
        "--explain", default=",".join(map(str, SEEDS)), help="seeds with which it is explained"
    )
    asked = asked_for(reads, lines)
    asked.explained = [int(seed) for seed in asked.explain.split(",") if seed]
    return asked


def main() -> None:
    """Look for each, and tell."""
    asked = explained_of(__doc__, LINES)
    look(asked.names, asked.seeds, asked.lines, asked.processes, partial(hunted, explained=asked.explained))
    if asked.all:
        tabulate(CLASSIC_HUNTS, asked.lines)
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
