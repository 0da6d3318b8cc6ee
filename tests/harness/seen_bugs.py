"""The tables of planted bugs that the cases see, and of those that none can see, with the reason.

`python tests/harness/bitten.py` measures and writes the first one, `tests/conformance/seen_bugs.toml`;
`tests/conformance/unseen_bugs.toml` is written by hand. `python tests/harness/seen_bugs.py` writes
docs/bugs-on-the-wire.md from both.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.hunted_bugs import CLASSIC_HUNTS, Hunts
from rota.conformance.out_of_reach import OUT_OF_REACH
from rota.mutants.core import CoreBug, core_bugs

ROOT = Path(__file__).parents[2]
SEEN = ROOT / "tests" / "conformance" / "seen_bugs.toml"
UNSEEN = ROOT / "tests" / "conformance" / "unseen_bugs.toml"
PAGE = ROOT / "docs" / "bugs-on-the-wire.md"

RULE = "rule"
"""How near the cases are that see a bug: of its own rule. Else of the same "part", or of "others"."""


@dataclass(frozen=True)
class Seen:
    """How a bug is seen: by this case, with this verdict, which is one of the bug's own rule or not."""

    bug: str
    case: str
    verdict: str
    near: str


def profile_for(bug: CoreBug) -> str:
    """The profile whose server shows the bug."""
    return "rota" if bug.mended else "kafka-4.x"


def seen_bugs() -> list[Seen]:
    """The table of those that are seen, in the order of the bugs."""
    return [Seen(**entry) for entry in tomllib.loads(SEEN.read_text(encoding="utf-8"))["bug"]]


def unseen_bugs() -> Mapping[str, str]:
    """Bugs that no case can see → why; where no case is about the rule, what that would take."""
    table: dict[str, str] = tomllib.loads(UNSEEN.read_text(encoding="utf-8"))["unseen"]
    by_rule = {bug.name: OUT_OF_REACH[bug.rule] for bug in core_bugs().values() if bug.rule in OUT_OF_REACH}
    seen = {one.bug for one in seen_bugs()}
    return {name: why for name, why in {**by_rule, **table}.items() if name not in seen}


def write(found: Iterable[Seen]) -> None:
    """Write the table anew, and the page."""
    lines = ["# Written by tests/harness/bitten.py.", ""]
    for one in found:
        entry = (f'{name} = "{value}"' for name, value in vars(one).items())
        lines += ["[[bug]]", *entry, ""]
    SEEN.write_text("\n".join(lines), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


HEAD = """\
# Planted bugs on the wire

A bug that is [planted in the coordinator](planted-bugs.md) is in rota's own server, too, of which a client
sees nothing but answers and the time that they take. The table says which case of `rota conform` sees it:
there the server with the bug gets the verdict, as Kafka to the letter or, where the bug breaks one of rota's
mends, as rota. A *violation* breaks what clients depend on, the others are deviations.

This page is written by `python tests/harness/bitten.py`, which also holds the bugs to the other direction: it
replays what every case makes the server ask of its coordinator to a coordinator that has the bug. What then
differs, differs only in cases whose dialogues ask for the bug's rule.

Nobody thought of a bug when walks were made (`rota conform --generate`): the last column says the how manyth
walk of a run of a minute finds it, with the seeds 1, 2 and 3, in virtual time, where a walk has the server to
itself and may kill it. `python tests/harness/walk_hunt.py` measures it. Numbers with a *t* are of walks with
transactions, of which a run on both protocols has one in seven, and of which forty are looked at for what no
other walk of the minute finds; walks of the consumer protocol, which share the minute, are counted apart.
"""

VERDICTS = {"fail": "violation", "died": "violation, it dies", "lenient": "deviation", "noted": "noted"}


@dataclass(frozen=True)
class WirePage:
    """A page of bugs on the wire: how it begins, the bugs, those that are seen, why others are not, hunts.

    unseen_words: how many are not seen, in a sentence; unseen_title: above them.
    """

    head: str
    bugs: Mapping[str, CoreBug]
    seen: Sequence[Seen]
    unseen: Mapping[str, str]
    hunts: Hunts
    unseen_words: str = "{} are out of a client's reach."
    unseen_title: str = "Out of reach"

    def text(self) -> str:
        """The page."""
        return "\n".join(
            (self.head, *self._summary(), *self._table(), *self._not_walked(), *self._not_seen(), "")
        )

    def _summary(self) -> Iterator[str]:
        near = Counter(one.near for one in self.seen)
        violations = sum(VERDICTS[one.verdict].startswith("violation") for one in self.seen)
        yield (
            f"Of {len(self.bugs)} bugs {len(self.seen)} are seen, {violations} of them as violations: "
            f"{near[RULE]} by a case of their own rule, {len(self.seen) - near[RULE]} by a case of another "
            f"one. {self.unseen_words.format(len(self.unseen))}"
        )
        yield ""
        yield from self.hunts.summary()
        yield ""

    def _table(self) -> Iterator[str]:
        yield "| rule | bug | seen by | verdict | walks |"
        yield "|---|---|---|---|---|"
        for one in self.seen:
            bug = self.bugs[one.bug]
            told = f"`{one.case}` | {VERDICTS[one.verdict]} | {self.hunts.cell(bug.name)}"
            yield f"| `{bug.rule}` | {bug.name}: {bug.meaning} | {told} |"

    def _not_walked(self) -> Iterator[str]:
        yield ""
        yield "## Not found by walks"
        yield ""
        yield "| bug | why |"
        yield "|---|---|"
        for bug, why in self.hunts.reasons().items():
            yield f"| {bug} | {why} |"

    def _not_seen(self) -> Iterator[str]:
        yield ""
        yield f"## {self.unseen_title}"
        yield ""
        yield "| rule | bug | what it takes, or why nothing shows |"
        yield "|---|---|---|"
        for bug in self.bugs.values():
            if bug.name in self.unseen:
                yield f"| `{bug.rule}` | {bug.name}: {bug.meaning} | {self.unseen[bug.name]} |"


def page() -> str:
    """The page of the bugs on the wire."""
    return WirePage(HEAD, core_bugs(), seen_bugs(), unseen_bugs(), CLASSIC_HUNTS).text()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
