"""Which bugs planted in the consumer protocol walks find, within what a run has by default.

    python tests/harness/consumer_walk_hunt.py [--seeds 1,2,3] [--lines FILE] [--processes N] [BUG ...]

looks for each bug of the lockstep with each seed, in virtual time, as `walk_hunt.py` does for those of the
classic protocol; without a BUG it writes tests/generate/hunted_consumer.toml in the end, from all lines.
"""

from __future__ import annotations

import logging
import time
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harness.walk_hunt import asked_for, lines, look, parser, told
from rota.generate.hunt import Grounds, hunt
from rota.generate.plan import CONSUMER
from rota.mutants.core import consumer_bugs
from rota.spec import ROTA

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "generate" / "hunted_consumer.toml"
LINES = Path("build/hunt-consumer.jsonl")


@cache
def grounds(seed: int) -> Grounds:
    """What a sound server says to the plans of a seed."""
    return Grounds(seed, ROTA.name, protocol=CONSUMER)


def hunted(name: str, seed: int) -> dict[str, Any]:
    """What became of the hunt for a bug with a seed, as a line has it."""
    logging.disable()  # of the server, in which bugs raise
    bug, ground = consumer_bugs()[name], grounds(seed)
    since = time.process_time()
    found = hunt(bug, ground, explains=False)
    failed = found.failed
    return {
        "bug": name,
        "seed": seed,
        "broken": f"{CONSUMER}.{bug.rule}",
        "told": failed.rule if failed else "",
        "plan": failed.played.plan.number if failed else -1,
        "walks": found.walks,
        "other": found.other,
        "undecided": found.undecided,
        "why": failed.why[:300] if failed else "",
        "processor": round(time.process_time() - since, 2),
    }


def hunted_bugs() -> Mapping[str, Mapping[str, Any]]:
    """The table: bug -> "seed-N" -> `plan`, the walk that failed first, and `told`, the rule."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def write(found: Iterable[dict[str, Any]]) -> None:
    """Write the table anew, in the order of the bugs and seeds."""
    text = (
        "# Written by tests/harness/consumer_walk_hunt.py: which walk found a planted bug, with which seed.\n"
    )
    known = {(one["bug"], one["seed"]): one for one in found}
    for bug in consumer_bugs():
        ones = [known[each] for each in sorted(known) if each[0] == bug]
        text += f"\n[{bug}]\n" if ones else ""
        for one in ones:
            cells = f'{{ plan = {one["plan"]}, told = "{one["told"]}" }}' if one["told"] else "{}"
            text += f"seed-{one['seed']} = {cells}\n"
    TABLE.write_text(text, encoding="utf-8")


def main() -> None:
    """Look, tell, write."""
    asked = asked_for(parser(__doc__), LINES)
    names = [*consumer_bugs()] if asked.all else asked.names
    look(names, asked.seeds, asked.lines, asked.processes, hunted, told)
    if asked.all:
        write(lines(asked.lines))


if __name__ == "__main__":
    main()
