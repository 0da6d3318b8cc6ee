"""What the lockstep of the consumer protocol reaches and which bugs it finds, as files that a test compares.

`PYTHONPATH=tests python tests/oracle/consumer_pin.py` writes them anew: consumer_coverage.txt, the
examples of the machine and of each bug, and docs/planted-consumer-bugs.md. Review the difference like
code. With names of bugs behind it, only these are hunted, and what shows the others is kept.
"""

from __future__ import annotations

import lzma
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from oracle.consumer_courses import COURSES
from rota.mutants.core import CoreBug, consumer_bugs, planted
from rota.oracle.bug_table import AMONG, ITSELF, OTHER, TRIED
from rota.oracle.consumer_hunt import OUT_OF_REACH, hunted, replay, walked
from rota.oracle.consumer_inputs import Input
from rota.oracle.report import Divergence
from rota.oracle.walk import Walk

HERE = Path(__file__).resolve().parent
COVERAGE = HERE / "consumer_coverage.txt"
EXAMPLES = HERE / "examples" / "consumer.pickle.xz"
SHORTEST = HERE / "examples" / "consumer_bugs.pickle.xz"
PAGE = HERE.parents[1] / "docs" / "planted-consumer-bugs.md"

NUMBER, STEPS = 320, 30
PICKLED = 4

HEAD = """# Bugs planted in the consumer protocol

Each rule of the spec of the consumer protocol that the lockstep reaches has at least one bug in rota's
coordinator (`kit/rota/mutants/consumer_bugs.toml`). Heartbeats and other requests, changes of topics, timers,
answers of the log and coordinators that read it go to coordinator and spec side by side, in virtual time.
After every step answers, records, timers, the group and what is told of it must be the same, where the target
may be any outcome that the spec allows the assignor. What was found is made shorter until nothing can be left
out; `make test` plays that anew.

This page is written by `PYTHONPATH=tests python tests/oracle/consumer_pin.py`. *Steps*: of the shortened
dialogue. *Reported by*: the rule that the report names, where that is not the bug's own; *own rule*:
where the report has that one. Out of reach, and why:
"""


def walk() -> Walk:
    """The walk whose coverage and examples are kept."""
    return walked(NUMBER, STEPS)


def _kept(file: Path) -> Any:
    return pickle.loads(lzma.decompress(file.read_bytes()))


def _keep(file: Path, value: object) -> None:
    file.write_bytes(lzma.compress(pickle.dumps(value, PICKLED)))


def examples() -> list[list[Input]]:
    """The machine's examples."""
    found: list[list[Input]] = _kept(EXAMPLES)
    return found


def shortest() -> Mapping[str, list[Input]]:
    """By the name of a bug the inputs that show it."""
    found: Mapping[str, list[Input]] = _kept(SHORTEST)
    return found


def pinned() -> set[tuple[str, str]]:
    """Pairs (slug of a rule, state of the group before the step) that the walk has to reach."""
    lines = COVERAGE.read_text(encoding="utf-8").splitlines()
    return {(slug, state) for slug, state in (line.split(" ", 1) for line in lines)}


def where_named(bug: CoreBug, found: Divergence) -> str:
    """Where the report has the bug's own rule."""
    if found.rule == bug.rule:
        return ITSELF
    if bug.rule in found.rules:
        return AMONG
    return TRIED if bug.rule in found.passed else OTHER


def page(findings: Iterable[tuple[CoreBug, int, Divergence]]) -> str:
    """The page of bugs, each with the steps and the divergence that show it."""
    return "\n".join((HEAD, *_lines(findings), ""))


def _lines(findings: Iterable[tuple[CoreBug, int, Divergence]]) -> Iterator[str]:
    yield from (f"- `{slug}`: {why}." for slug, why in OUT_OF_REACH.items())
    yield ""
    yield "| rule | bug | what differed | steps | reported by | own rule |"
    yield "|---|---|---|---|---|---|"
    for bug, steps, found in findings:
        named = where_named(bug, found)
        reported = ("", "") if named == ITSELF else (f"`{found.rule}`", named)
        what = found.headline.rpartition(" [")[0] or found.headline
        cells = (f"`{bug.rule}`", f"{bug.name}: {bug.meaning}", what.replace("|", "\\|"), steps, *reported)
        yield f"| {' | '.join(map(str, cells))} |"


def draw() -> None:
    """Write the examples and what they reach. Errors: Divergence."""
    result = walk()
    if result.found is not None:
        raise result.found
    _keep(EXAMPLES, result.examples)
    lines = "".join(f"{slug} {state}\n" for slug, state in sorted(result.visited))
    COVERAGE.write_text(lines, encoding="utf-8")


def _hunted(name: str) -> list[Input] | None:
    bug = consumer_bugs()[name]
    found = hunted(bug, COURSES) or hunted(bug, examples())
    return None if found is None else found[0]


def hunt(names: Sequence[str] = ()) -> None:
    """Write what shows the bugs, by short courses, else by the examples that are kept.

    names: those that are hunted, all if there are none.
    """
    bugs = consumer_bugs()
    showing: dict[str, list[Input] | None] = dict(shortest()) if names else {}
    with ProcessPoolExecutor(2) as pool:
        for name, inputs in zip(names or bugs, pool.map(_hunted, names or bugs), strict=True):
            print(f"{name}: {'not found' if inputs is None else len(inputs)}", flush=True)
            showing[name] = inputs
    kept: dict[str, list[Input]] = {}
    findings: list[tuple[CoreBug, int, Divergence]] = []
    for bug in bugs.values():
        inputs = showing.get(bug.name)
        if inputs is None:
            continue
        with planted(bug):
            found, _, _ = replay(inputs)
        if found is not None:
            kept[bug.name] = inputs
            findings.append((bug, len(inputs), found))
    _keep(SHORTEST, kept)
    PAGE.write_text(page(findings), encoding="utf-8")
    print(f"{len(kept)} of {len(bugs)} bugs found")


if __name__ == "__main__":
    if not sys.argv[1:]:
        draw()
    hunt(sys.argv[1:])
