"""What the lockstep machine reaches and which bugs it finds, as files that a test compares.

`python tests/oracle/pin.py` writes them anew: coverage.txt, whole_coverage.txt and the examples (`Kept`)
beside this file, and docs/planted-bugs.md. Review the difference like code: a pair that is gone is something
that is not tested any more. What is drawn changes with everything that is drawn from: so of the machine of
everything those former examples stay (`Kept.FURTHER`) that reach what it does not reach any more.
"""

from __future__ import annotations

import lzma
import pickle
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from rota.coordinator import MENDED, UNMENDED, CoordinatorConfig, GroupCoordinator, Mends
from rota.mutants.core import bugs_of_dialogues, bugs_of_everything, bugs_of_the_lockstep
from rota.oracle import Divergence
from rota.oracle.bug_table import page
from rota.oracle.hunt import hunt
from rota.oracle.lockstep import Input, Lockstep
from rota.oracle.offsets_lockstep import OffsetsLockstep
from rota.oracle.offsets_machine import EverythingFollowsSpec
from rota.oracle.walk import Walk, judged_beside, walk

HERE = Path(__file__).resolve().parent
COVERAGE = HERE / "coverage.txt"
WHOLE_COVERAGE = HERE / "whole_coverage.txt"
PAGE = HERE.parents[1] / "docs" / "planted-bugs.md"

EXAMPLES = 800
STEPS = 40
SHOWN = ("joins-answered-again", "batch-all-or-nothing", "late-answer-believed", "session-takes-parked-sync")
"""Bugs whose reports the page gives in full."""


def pinned_walk(mends: Mends = UNMENDED) -> Walk:
    """The walk with these mends; the coverage of that without is pinned."""
    return walk(EXAMPLES, STEPS, mends=mends)


def whole_walk() -> Walk:
    """The walk of the machine of everything, whose coverage is pinned too."""
    return walk(EXAMPLES, STEPS, machine=EverythingFollowsSpec)


PICKLED = 4
"""The version of the format, the same with every Python."""


class Kept(StrEnum):
    """Walks whose examples are kept: to play them takes a fifth of the time that drawing them takes.

    That the machine still makes them is told by bugs that are planted in a run of it (`test_lockstep`), and
    of all by what is marked `long`.
    """

    MEMBERS = "members"
    MENDED = "mended"
    EVERYTHING = "everything"
    FURTHER = "further"

    @property
    def mends(self) -> Mends:
        """Those of the coordinator."""
        return MENDED if self is Kept.MENDED else UNMENDED

    @property
    def kind(self) -> type[Lockstep]:
        """Of the lockstep."""
        return OffsetsLockstep if self in (Kept.EVERYTHING, Kept.FURTHER) else Lockstep

    @property
    def file(self) -> Path:
        """Where they are."""
        return HERE / "examples" / f"{self}.pickle.xz"

    def keep(self, examples: list[list[Input]]) -> None:
        """Write examples."""
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(lzma.compress(pickle.dumps(examples, PICKLED)))

    def examples(self) -> list[list[Input]]:
        """What was written."""
        found: list[list[Input]] = pickle.loads(lzma.decompress(self.file.read_bytes()))
        return found

    def walk(self) -> Walk:
        """What the machine would find in them."""
        return played(self.examples(), self.mends, self.kind)


def played(examples: Iterable[list[Input]], mends: Mends, kind: type[Lockstep]) -> Walk:
    """The walk that makes these examples, up to the first divergence."""
    walk = Walk()
    for inputs in examples:
        lockstep = kind(CoordinatorConfig(mends=mends), GroupCoordinator)
        try:
            for one in inputs:
                lockstep.do(one)
        except Divergence as found:
            walk.found = found
        walk.examples.append(lockstep.inputs)
        walk.visited |= lockstep.shadow.oracle.visited
        walk.found = walk.found or next(iter(lockstep.shadow.divergences), None)
        if walk.found is not None:
            break
    return walk


def examples_of_everything() -> list[list[Input]]:
    """Those that the machine of everything makes, and further ones."""
    return [*Kept.EVERYTHING.examples(), *Kept.FURTHER.examples()]


def reaching(examples: Iterable[list[Input]], pairs: set[tuple[str, str]]) -> list[list[Input]]:
    """Of some examples those that reach pairs which none before them has reached."""
    found, left = [], set(pairs)
    for one in examples if left else ():
        reached = left & played([one], UNMENDED, OffsetsLockstep).visited
        if reached:
            found.append(one)
            left -= reached
    return found


def pinned(file: Path = COVERAGE) -> set[tuple[str, str]]:
    """Pairs (slug of a rule, state of the group before the step) that a walk has to reach."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {(slug, state) for slug, state in (line.split() for line in lines)}


def beside_members(one: Walk) -> set[tuple[str, str]]:
    """What a walk reached of the rules that are not about members."""
    return {pair for pair in one.visited if pair[0] in judged_beside()}


def _write_pairs(file: Path, pairs: set[tuple[str, str]]) -> None:
    file.write_text("".join(f"{slug} {state}\n" for slug, state in sorted(pairs)), encoding="utf-8")


def main() -> None:
    """Write all files."""
    result, mended, made = pinned_walk(), pinned_walk(MENDED), whole_walk()
    further = reaching(examples_of_everything(), pinned(WHOLE_COVERAGE) - made.visited)
    whole = played([*made.examples, *further], UNMENDED, OffsetsLockstep)
    for one in (result, mended, made, whole):
        if one.found is not None:
            raise one.found
    for name, one in ((Kept.MEMBERS, result), (Kept.MENDED, mended), (Kept.EVERYTHING, made)):
        name.keep(one.examples)
    Kept.FURTHER.keep(further)
    _write_pairs(COVERAGE, result.visited)
    _write_pairs(WHOLE_COVERAGE, beside_members(whole))
    bugs = bugs_of_the_lockstep()
    examples = {False: result.examples, True: mended.examples}
    findings = [found for bug in bugs.values() if (found := hunt(bug, examples[bug.mended])) is not None]
    beside = bugs_of_everything()
    kept = [found for bug in beside.values() if (found := hunt(bug, whole.examples, OffsetsLockstep))]
    missed = {*bugs, *beside} - {finding.bug.name for finding in (*findings, *kept)}
    PAGE.write_text(page(findings, kept, list(bugs_of_dialogues().values()), SHOWN, STEPS), encoding="utf-8")
    pairs = len(result.visited) + len(beside_members(whole))
    print(f"{pairs} pairs, {len(findings) + len(kept)} bugs found, not found: {sorted(missed) or 'none'}")


if __name__ == "__main__":
    main()
