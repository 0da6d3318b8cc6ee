"""Very many small groups, and if asked one large one: `python -m bench.histories_small OUT --groups N`.

A group has one member that joins, syncs, beats once or twice and leaves: some eleven events. A hundredth of
the groups is played, each with moments of its own, and written a hundred times under other names. With
`--large E` one group of eight members beats until it has some E events, 50,000 at most. What is written is
what `rota simulate --histories` writes, for `rota validate OUT/recordings --fresh --unordered --out DIR`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from rota.population.files import Wanted, write
from rota.population.shapes import BEAT, Life, Shape

COPIES = 100
OF_FILE = 10_000
SESSION = 45_000
EVENTS_OF_A_BEAT, MEMBERS, OFTEN = 2, 8, 1.0


def small(seed: str) -> Shape:
    """One member that stays for one heartbeat."""
    drawn = Random(seed)
    begins = drawn.uniform(0.0, 1.0)
    leaves = begins + 3.0 + BEAT + drawn.uniform(0.1, 2.0)  # after the first rebalance and a beat
    return Shape(SESSION, BEAT, 0.0, leaves + 1.0, (Life(begins, leaves),))


def large(seed: str, events: int) -> Shape:
    """Some members that beat until there are so many events."""
    seen = events / EVENTS_OF_A_BEAT / MEMBERS * OFTEN * 0.95
    return Shape(SESSION, OFTEN, 0.0, seen, tuple(Life(0.1 * place) for place in range(MEMBERS)))


def main(arguments: Sequence[str]) -> int:
    """Write them, and print how many events there are."""
    parser = argparse.ArgumentParser(prog="python -m bench.histories_small")
    parser.add_argument("out", type=Path)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--bugs", type=float, default=0.0, help="the share of servers with one")
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args(arguments)
    copied = min(COPIES, chosen.groups)
    wanted = Wanted(chosen.groups // copied, chosen.seed, chosen.bugs, copied, OF_FILE, small)
    made = write(wanted, chosen.out, chosen.processes)
    print(f"{made.histories:,} groups, {made.distinct:,} of them distinct: {made.events:,} events")
    if chosen.large:
        of_events = partial(large, events=chosen.large)
        whole = write(Wanted(1, chosen.seed + 1, shapes=of_events), chosen.out / "large")
        print(f"one group of {whole.events:,} events")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
