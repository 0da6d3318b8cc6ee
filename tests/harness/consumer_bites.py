"""Which planted bug each case about the consumer protocol fails on, and which case sees each bug.

    python tests/harness/consumer_bites.py [--lines FILE] [--processes N]

plays cases on a server with one bug after the other, of both tables: those of the bug's own rule; for bugs
that no case has seen then, and for cases that no bug has bitten, those of the same part of the protocol, and
in the end all others. What stands in FILE is not played again. It writes the table consumer_bites.toml and,
from this and from what walks find, docs/consumer-bugs-on-the-wire.md; with --page that alone.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.consumer_bugs import HURRIED, PROFILE
from harness.consumer_bugs import consumer_bugs as bugs_of_cases
from harness.hunted_bugs import CONSUMER_HUNTS
from harness.own_server import played
from harness.seen_bugs import Seen, WirePage
from harness.subtle_bugs import FORKS
from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.script import Case
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.rules import CONSUMER, part_of_consumer
from rota.mutants.core import CoreBug, planted
from rota.mutants.core import consumer_bugs as bugs_of_the_lockstep

FOLDER = Path(__file__).parents[1] / "conformance"
TABLE = FOLDER / "consumer_bites.toml"
PAGE = FOLDER.parents[1] / "docs" / "consumer-bugs-on-the-wire.md"
UNBITTEN = FOLDER / "consumer_unbitten.toml"
LINES = Path("build/consumer-bites.jsonl")

DEVIATES = {verdict.value for verdict in (*DEVIATION_VERDICT.values(), Verdict.DIED)}
LOCKSTEP, OF_CASES = "lockstep", "cases"
"""Where a bug is from, which its key begins with: two of them may have the same name."""

Pair = tuple[str, str]
"""Key of a bug, id of a case."""


@cache
def bugs() -> Mapping[str, CoreBug]:
    """All bugs, by key."""
    found = {f"{LOCKSTEP}/{name}": bug for name, bug in bugs_of_the_lockstep().items()}
    return {**{f"{OF_CASES}/{name}": one.planted for name, one in bugs_of_cases().items()}, **found}


@cache
def cases() -> Mapping[str, Case]:
    """All cases about the consumer protocol, by id."""
    return {case.id: case for case in select(all_cases(), [CONSUMER])}


def near(bug: CoreBug, case: Case) -> str:
    """How near a case is to a bug: of its "rule", of its "part", or of "others"."""
    rule = f"{CONSUMER}.{bug.rule}"
    if case.rule == rule:
        return "rule"
    return "part" if part_of_consumer(case.rule) == part_of_consumer(rule) else "others"


@dataclass(frozen=True)
class Bites:
    """The table: by which bug each case is bitten, and how each bug of the lockstep is seen."""

    by_case: Mapping[str, str]
    seen: Mapping[str, Seen]


def bites() -> Bites:
    """What was measured."""
    found = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return Bites(found["cases"], {name: Seen(name, **one) for name, one in found["bugs"].items()})


def unbitten() -> Mapping[str, Mapping[str, str]]:
    """Cases that no bug bites (`cases`) and bugs that no case sees (`bugs`), with why; written by hand."""
    table: dict[str, dict[str, str]] = tomllib.loads(UNBITTEN.read_text(encoding="utf-8"))
    return table


HEAD = """\
# Planted bugs of the consumer protocol on the wire

A bug that is [planted in the coordinator's consumer protocol](planted-consumer-bugs.md) is in rota's own
server, too. The table says which case of `rota conform` sees it there, as Kafka to the letter, and the how
manyth walk of a run of a minute (`rota conform --generate --protocol consumer`) finds it, by seed, in virtual
time; with seed 1 every bug was looked for. A *violation* breaks what clients depend on, the others are
deviations. Every case about the consumer protocol fails on one of these bugs, or on one of
those that were planted for the cases alone (`tests/conformance/consumer_bites.toml` says on which).

This page is written by `python tests/harness/consumer_bites.py`; `make hunt-consumer-walks` looks for the
bugs by walks.
"""


def page() -> str:
    """The page of these bugs on the wire."""
    seen = [*bites().seen.values()]
    told = "{} are seen by no case.", "Seen by no case"
    return WirePage(HEAD, bugs_of_the_lockstep(), seen, unbitten()["bugs"], CONSUMER_HUNTS, *told).text()


def verdicts(key: str, ids: Sequence[str]) -> dict[str, str]:
    """What becomes of these cases where a bug is planted in this process."""
    with planted(bugs()[key]):
        results = played([cases()[id] for id in ids], PROFILE, HURRIED)
    return {one.case.id: one.verdict.value for one in results}


class Measured:
    """Verdicts of pairs, kept in a file as they come."""

    def __init__(self, path: Path, processes: int) -> None:
        self._path, self._processes = path, processes
        self.found: dict[Pair, str] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            key, id, verdict = json.loads(line)
            self.found[key, id] = verdict

    def measure(self, wanted: Iterable[Pair]) -> None:
        """Play what is not there yet."""
        by_bug: dict[str, list[str]] = {}
        for key, id in wanted:
            if (key, id) not in self.found:
                by_bug.setdefault(key, []).append(id)
        if not by_bug:
            return
        with (
            self._path.open("a", encoding="utf-8") as file,
            ProcessPoolExecutor(self._processes, FORKS) as pool,
        ):
            asked = {pool.submit(verdicts, key, ids): key for key, ids in by_bug.items()}
            for done in as_completed(asked):
                key = asked[done]
                for id, verdict in done.result().items():
                    self.found[key, id] = verdict
                    file.write(json.dumps([key, id, verdict]) + "\n")
                file.flush()
                print(f"{key}: {len(by_bug[key])} cases", flush=True)

    def deviating(self) -> Iterator[Pair]:
        """Pairs of which the case fails, in the order of the bugs and the cases."""
        for key in bugs():
            yield from ((key, id) for id in cases() if self.found.get((key, id)) in DEVIATES)

    def unseen(self) -> Collection[str]:
        """Keys of the lockstep's bugs that no case has seen."""
        seen = {key for key, _ in self.deviating()}
        return [key for key in bugs() if key.startswith(LOCKSTEP) and key not in seen]

    def unbitten(self) -> Collection[str]:
        """Ids of cases that no bug has bitten."""
        bitten = {id for _, id in self.deviating()}
        return [id for id in cases() if id not in bitten]


def measured(path: Path, processes: int) -> Measured:
    """Everything that the table wants to know."""
    found, keys, at_once = Measured(path, processes), [*bugs()], 2 * processes
    for how in ("rule", "part", "others"):
        for begin in range(0, len(keys), at_once):
            unseen, left = found.unseen(), found.unbitten()
            found.measure(
                (key, id)
                for key in keys[begin : begin + at_once]
                for id, case in cases().items()
                if near(bugs()[key], case) == how and (how == "rule" or key in unseen or id in left)
            )
    return found


def write(found: Measured) -> None:
    """Write the table: of several the nearest, and of these a violation before what is merely noted."""

    def place(pair: Pair) -> tuple[int, bool]:
        how = ("rule", "part", "others").index(near(bugs()[pair[0]], cases()[pair[1]]))
        return how, found.found[pair] not in (Verdict.FAIL.value, Verdict.DIED.value)

    pairs = sorted(found.deviating(), key=place)
    by_case = {id: next((key for key, one in pairs if one == id), "") for id in cases()}
    lines = ["# Written by tests/harness/consumer_bites.py.", "", "[cases]"]
    lines += [f'"{id}" = "{key}"' for id, key in by_case.items() if key]
    lines += ["", "[bugs]"]
    for key, bug in bugs().items():
        pair = next((one for one in pairs if one[0] == key), None)
        if key.startswith(LOCKSTEP) and pair is not None:
            how = near(bug, cases()[pair[1]])
            lines.append(
                f'{bug.name} = {{ case = "{pair[1]}", verdict = "{found.found[pair]}", near = "{how}" }}'
            )
    TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"unseen: {', '.join(found.unseen())}\nunbitten: {', '.join(found.unbitten())}")


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=Path, default=LINES, help="what was measured until now")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--page", action="store_true", help="write the page from the tables there are")
    asked = parser.parse_args()
    if not asked.page:
        write(measured(asked.lines, asked.processes))
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
