"""The own tests of client libraries, on rota's server and on Apache Kafka.

    .venv/bin/python -m bench.libraries [--only NAME] [--on TARGET] [--test NAME] [--write]

Suites are fetched through `go`, `pip` and `apt-get` into the cache, by their versions. A suite is played on a
broker of its own, started for it; what each test came to is kept in the cache, too, with all that was
printed, and what is there already is not played again but with --again. With --write the tables in
docs/libraries.md are written from that.

Two suites look for a broker at ports of their own (9092; 8474 and 29091 to 29195), which have to be free.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.libraries.brokers import TARGETS, broker
from bench.libraries.page import Results, page
from bench.libraries.playing import FAIL, PASS, SKIP, Place, leaves, play
from bench.libraries.suites import SUITES, Suite

from rota.conformance.cache_folder import NoHome, cache_folder
from rota.conformance.targets.made_once import NotMade
from rota.conformance.targets.process import NotStarted

FEW = 8
"""How many tests one process plays."""

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "libraries.md"


def kept(target: str, suite: Suite) -> Path:
    """Where it is kept how the tests ended."""
    return cache_folder() / "libraries" / "results" / target / f"{suite.name}-{suite.version}.json"


def results() -> Results:
    """By suite and target, how each test ended, as far as it was played."""
    return {
        suite.name: {
            target: leaves(_kept(kept(target, suite))) for target in TARGETS if kept(target, suite).is_file()
        }
        for suite in SUITES.values()
    }


def played(target: str, suite: Suite, given: argparse.Namespace) -> dict[str, str]:
    """How the suite's tests end on the target, a few at a time; what was played is kept after each few.

    Errors: NotMade, NotStarted, NoHome.
    """
    file = kept(target, suite)
    file.parent.mkdir(parents=True, exist_ok=True)
    ended = _kept(file) if not (given.again or given.test) else {}
    if given.failed:
        ended = without_failed(ended)
    folder = suite.fetched() / suite.folder_of_tests
    deadline = time.monotonic() + given.seconds
    with broker(target, suite) as address:
        told = {name: value.format(address=address) for name, value in suite.environment.items()}
        place = Place(folder, told)
        left = [name for name in given.test or suite.tests(place) if name not in ended]
        for few in batched(left, FEW):
            if time.monotonic() > deadline:
                break
            heard = play(few, suite.command, place, suite.silence)
            if failed := [name for name in few if heard.ended.get(name) == FAIL]:
                heard = heard.again(failed, play(failed, suite.command, place, suite.silence))
            ended |= heard.ended
            with file.with_suffix(".txt").open("a", encoding="utf-8") as said:
                said.writelines(heard.printed)
            if not given.test:
                file.write_text(json.dumps(ended, indent=1), encoding="utf-8")
    return ended


def without_failed(ended: Mapping[str, str]) -> dict[str, str]:
    """What is kept without the tests that failed, each with all that is below it."""
    failed = [name for name, how in ended.items() if how == FAIL]
    below = tuple(f"{name}/" for name in failed)
    return {name: how for name, how in ended.items() if name not in failed and not name.startswith(below)}


def batched(names: Sequence[str], many: int) -> Iterator[Sequence[str]]:
    """So many at a time."""
    for first in range(0, len(names), many):
        yield names[first : first + many]


def _kept(file: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def main(arguments: Sequence[str]) -> int:
    """Play, print, write. Returns the exit code: 2 if something could not be played."""
    given = _arguments(arguments)
    code = 0
    for suite in (SUITES[name] for name in given.only or SUITES):
        for target in given.on or TARGETS:
            try:
                ended = leaves(played(target, suite, given))
            except (NotMade, NotStarted) as error:
                print(f"bench: {suite.name} on {target}: {error}; {error.remedy}", file=sys.stderr)
                code = 2
                continue
            how = list(ended.values())
            counts = ", ".join(f"{how.count(each)} {each}" for each in (PASS, FAIL, SKIP))
            print(f"{suite.name} {suite.version} on {target}: {counts}", flush=True)
            for name in sorted(name for name, each in ended.items() if each == FAIL):
                print(f"  {name}", flush=True)
    if given.write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results(), TARGETS), encoding="utf-8")
    return code


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.libraries", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--only", action="append", choices=SUITES, metavar="NAME",
                        help=f"one suite; repeatable: {', '.join(SUITES)}")  # fmt: skip
    parser.add_argument("--on", action="append", choices=TARGETS, metavar="TARGET",
                        help=f"one broker; repeatable: {', '.join(TARGETS)}")  # fmt: skip
    parser.add_argument("--test", action="append", default=[], metavar="NAME",
                        help="these tests alone, of what is played; not kept")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="N",
                        help="begin nothing more on it after so long; the next run goes on")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="play what is kept already, too")
    parser.add_argument("--failed", action="store_true", help="play again what failed")
    parser.add_argument("--write", action="store_true", help="write the table of docs/libraries.md")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # brokers end with it
    try:
        sys.exit(main(sys.argv[1:]))
    except NoHome as error:
        sys.exit(f"bench: {error}")
