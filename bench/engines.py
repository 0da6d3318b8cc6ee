"""States per second of the engines, as ratios against the reference engine in one run.

    .venv/bin/python bench/engines.py [CONFIGURATION] [ROUNDS]

Each round runs reference, fast (cold) and fast (warm: with the tables of the cold run) in turn; medians are
printed. CONFIGURATION is one of scope small (default: fault), ROUNDS an odd number (default: 3).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

from rota.explore import Result, reference, tables
from rota.mutants import system
from rota.scopes import load


def measure(configuration: str, rounds: int) -> dict[str, float]:
    """Distinct states per second by engine: medians over the rounds."""
    settings = load("small").configuration(configuration).settings
    rates: dict[str, list[float]] = {}
    for _ in range(rounds):
        world = system(settings)
        learned = tables.Tables(world)
        runs: dict[str, Callable[[], Result]] = {
            "reference": lambda world=world: reference.explore(world),
            "fast, cold": lambda world=world, learned=learned: tables.explore(world, tables=learned),
            "fast, warm": lambda world=world, learned=learned: tables.explore(world, tables=learned),
        }
        answers = set()
        for name, run in runs.items():
            result = run()
            answers.add(result.answer)
            rates.setdefault(name, []).append(result.distinct / result.seconds)
        if len(answers) != 1:
            raise SystemExit("the engines do not agree; the rates mean nothing")
    return {name: median(values) for name, values in rates.items()}


def main(arguments: list[str]) -> None:
    """Print one line per engine."""
    configuration = arguments[0] if arguments else "fault"
    rounds = int(arguments[1]) if len(arguments) > 1 else 3
    rates = measure(configuration, rounds)
    print(f"{configuration}, medians of {rounds}")
    for name, rate in rates.items():
        print(f"  {name:<11} {rate:>9,.0f} states/s   {rate / rates['reference']:>6.1f} x reference")


if __name__ == "__main__":
    main(sys.argv[1:])
