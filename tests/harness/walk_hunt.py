"""Which planted bugs of the coordinator walks find: `python tests/harness/walk_hunt.py [NAME...]`."""

from __future__ import annotations

import argparse
import time

from rota.conformance.out_of_reach import OUT_OF_REACH
from rota.generate.hunt import BUDGET, hunt
from rota.generate.walks import AT_ONCE
from rota.mutants.core import CoreBug, core_bugs
from rota.report.walks import NOT_WALKED

GROUPS = 10
"""Groups that are walked on at once: fewer for longer than a run has, so that less is begun in vain."""

BESIDE_WALKS = {**OUT_OF_REACH, **NOT_WALKED}
"""Rules that walks do not come to: their bugs are not looked for."""


def in_reach() -> dict[str, CoreBug]:
    """The bugs that walks could find."""
    return {name: bug for name, bug in core_bugs().items() if bug.rule not in BESIDE_WALKS}


def main() -> None:
    """Look for each, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=BUDGET)
    parser.add_argument("--part", default="0/1", help="K/N: every Nth bug from the Kth on")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    first, of = map(int, asked.part.split("/"))
    chosen = {name: bug for name, bug in in_reach().items() if not asked.names or name in asked.names}
    found = 0
    for name, bug in list(chosen.items())[first::of]:
        since = time.process_time()
        hunted = hunt(bug, asked.seed, asked.seconds * AT_ONCE / GROUPS, at_once=GROUPS)
        failed, took = hunted.failed, time.process_time() - since
        found += failed is not None
        told = f"{failed.rule}: {failed.why[:150]}" if failed else f"{hunted.undecided} undecided"
        verdict = "found" if failed else "MISSED"
        print(f"{verdict} {bug.rule} {name}: {hunted.walks} walks, {took:.0f} s; {told}", flush=True)
    print(f"{found} of {len(list(chosen)[first::of])} found with seed {asked.seed}")


if __name__ == "__main__":
    main()
