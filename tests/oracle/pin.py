"""What the lockstep machine reaches and which bugs it finds, as files that a test compares.

`python tests/oracle/pin.py` writes them anew: coverage.txt beside this file, docs/planted-bugs.md. Review the
difference like code: a pair that is gone is something that is not tested any more.
"""

from __future__ import annotations

from pathlib import Path

from rota.coordinator import MENDED, UNMENDED, Mends
from rota.mutants.core import bugs_of_dialogues, bugs_of_the_lockstep
from rota.oracle.bug_table import page
from rota.oracle.hunt import hunt
from rota.oracle.walk import Walk, walk

HERE = Path(__file__).resolve().parent
COVERAGE = HERE / "coverage.txt"
PAGE = HERE.parents[1] / "docs" / "planted-bugs.md"

EXAMPLES = 800
STEPS = 40
SHOWN = ("joins-answered-again", "batch-all-or-nothing", "late-answer-believed", "session-takes-parked-sync")
"""Bugs whose reports the page gives in full."""


def pinned_walk(mends: Mends = UNMENDED) -> Walk:
    """The walk with these mends; the coverage of that without is pinned."""
    return walk(EXAMPLES, STEPS, mends=mends)


def pinned() -> set[tuple[str, str]]:
    """Pairs (slug of a rule, state of the group before the step) that it has to reach."""
    lines = COVERAGE.read_text(encoding="utf-8").splitlines()
    return {(slug, state) for slug, state in (line.split() for line in lines)}


def main() -> None:
    """Write both files."""
    result, mended = pinned_walk(), pinned_walk(MENDED)
    for one in (result, mended):
        if one.found is not None:
            raise one.found
    lines = [f"{slug} {state}\n" for slug, state in sorted(result.visited)]
    COVERAGE.write_text("".join(lines), encoding="utf-8")
    bugs = bugs_of_the_lockstep()
    played = {False: result.examples, True: mended.examples}
    findings = [found for bug in bugs.values() if (found := hunt(bug, played[bug.mended])) is not None]
    missed = bugs.keys() - {finding.bug.name for finding in findings}
    PAGE.write_text(page(findings, list(bugs_of_dialogues().values()), SHOWN, STEPS), encoding="utf-8")
    print(f"{len(lines)} pairs, {len(findings)} bugs found, not found: {sorted(missed) or 'none'}")


if __name__ == "__main__":
    main()
