"""Which bugs planted in the consumer protocol walks find, within what a run has by default.

    python tests/harness/consumer_walk_hunt.py [--seeds 1,2,3] [--explain 1] [--lines FILE] [BUG ...]

looks for each bug of the lockstep with each seed, in virtual time, as `walk_hunt.py` does for those of the
classic protocol; without a BUG it writes tests/generate/hunted_consumer.toml in the end, from all lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from harness.hunted_bugs import CONSUMER_HUNTS, SEEDS
from harness.walk_hunt import explained_of, line_of, look, tabulate, told
from rota.generate.hunt import Grounds
from rota.generate.plan import CONSUMER
from rota.mutants.core import consumer_bugs
from rota.spec import ROTA

LINES = Path("build/hunt-consumer.jsonl")


@cache
def grounds(seed: int) -> Grounds:
    """What a sound server says to the plans of a seed."""
    return Grounds(seed, ROTA.name, protocol=CONSUMER)


def hunted(name: str, seed: int, explained: Sequence[int] = SEEDS) -> dict[str, Any]:
    """What became of the hunt for a bug with a seed, as a line has it. explained: seeds with which."""
    return line_of(CONSUMER_HUNTS, consumer_bugs()[name], grounds(seed), seed in explained)


def main() -> None:
    """Look, tell, write."""
    asked = explained_of(__doc__, LINES)
    names = [*consumer_bugs()] if asked.all else asked.names
    look(names, asked.seeds, asked.lines, asked.processes, partial(hunted, explained=asked.explained), told)
    if asked.all:
        tabulate(CONSUMER_HUNTS, asked.lines)


if __name__ == "__main__":
    main()
