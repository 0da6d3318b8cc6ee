"""The picture on the front page: `python tests/docs/counterexample.py` draws it from the run, found anew."""

from __future__ import annotations

from pathlib import Path

from rota.explore import reference
from rota.mutants import system
from rota.scopes import load
from rota.trace import record, replay
from rota.trace.svg import svg
from rota.trace.telling import telling

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "counterexample.svg"
MUTANT, CONFIGURATION = "change-without-rebalance", "core"
"""The bug of docs/tutorial-find-a-bug.md, and where it dies."""


def picture() -> str:
    """The sequence chart of the shortest run, as a file of its own."""
    world = system(load("small").configuration(CONFIGURATION).settings, MUTANT)
    violation = reference.explore(world).violation
    assert violation is not None
    trace = record(world, violation.name, violation.start, violation.path)
    return svg(telling(trace, replay(trace, world)), standalone=True) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)
