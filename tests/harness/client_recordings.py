"""Recordings of real clients on a broker, and what `rota validate` says of them.

    python -m harness.client_recordings --target kafka-4.4.0 --keep DIR [--clients NAME …] [--again]

Groups of each library join, leave, crash and commit through `rota record`, as in `rota conform --clients`;
Java's consumer plays the same scenarios. A row is printed for each recording, and all that is told of it is
in a file beside it. --again judges what --keep has.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.exactly_once import exactly_once
from nights.brokers import USUAL
from nights.night import JAVA, LIBRDKAFKA, JavaMember, Recorder, new_broker
from rota.clients.history import PATIENCE
from rota.clients.performances import Case, Performances, cases
from rota.clients.producers import Producers
from rota.clients.scenarios import SCENARIOS
from rota.clients.world import World
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.kafka_jars import RELEASES
from rota.conformance.targets.target import DEFAULTS

EXACTLY_ONCE = "exactly-once"
"""librdkafka's consumers with transactional producers, which play a story of their own."""

LIBRARIES = (LIBRDKAFKA, "kafka-python", "mixed", JAVA, EXACTLY_ONCE)
"""Groups that a recording is made of each."""

NOT_BY_JAVA = ("topic_is_created_later",)
"""Java's consumer waits for a topic in silence, and the scenario for its complaint."""

AT_ONCE = 6
"""Scenarios that play side by side, as many as leave a machine time for a proxy."""

PLAYED = "played.json"


class JavaWorld(World):
    """A scenario's place in which every consumer is Java's; their logs are in a folder."""

    def __init__(
        self, folder: Path, address: str, producers: Producers, patience: float, **settings: Any
    ) -> None:
        super().__init__(address, producers, (LIBRDKAFKA,), patience, **settings)
        logs = folder / self.group_id
        logs.mkdir(parents=True)
        self.made = partial(JavaMember, logs)
        self._libraries = itertools.cycle((JAVA,))


@dataclass(frozen=True)
class JavaCase(Case):
    """A performance by Java's consumers."""

    folder: Path = Path()

    def world(self, address: str, producers: Producers, patience: float = PATIENCE, **settings: Any) -> World:
        return JavaWorld(self.folder, address, producers, patience, **settings)


def performed_by(library: str, folder: Path) -> list[Case]:
    """What a library plays; folder: for the logs of Java's."""
    if library != JAVA:
        return [case for case in cases() if case.group == library]
    assigned = {(case.scenario, case.assignor) for case in cases() if case.group == LIBRDKAFKA}
    return [
        JavaCase(name, JAVA, assignor, folder)
        for name, assignor in sorted(assigned)
        if name in SCENARIOS and name not in NOT_BY_JAVA
    ]


def played(target: str, library: str, folder: Path) -> None:
    """Makes a recording of a library's groups on a target, in a folder."""
    folder.mkdir(parents=True)
    began = time.monotonic()
    with (
        _broker(target, folder / "broker") as (address, settings),
        Recorder(address, _recording(folder), folder / "port") as at,
    ):
        performances, failed = _performed(library, at, folder)
    told = {
        "target": target,
        "clients": library,
        "settings": dict(settings),
        "performances": performances,
        "failed": failed,
        "seconds": round(time.monotonic() - began),
    }
    (folder / PLAYED).write_text(json.dumps(told, indent=1), encoding="utf-8")


def _performed(library: str, address: str, folder: Path) -> tuple[int, Mapping[str, str]]:
    """How many performances there were, and what has failed, by name."""
    if library == EXACTLY_ONCE:
        exactly_once(address)
        return 1, {}
    chosen = performed_by(library, folder / "clients")
    playing = Performances(address, chosen, AT_ONCE)
    try:
        found = {str(case): playing.of(case).failure for case in chosen}
    finally:
        playing.close()
    return len(chosen), {case: str(failure) for case, failure in found.items() if failure is not None}


def _recording(folder: Path) -> Path:
    return folder / "recording.jsonl"


@contextmanager
def _broker(name: str, folder: Path) -> Iterator[tuple[str, Mapping[str, int]]]:
    """A target in processes of its own: its address, and what of its settings is not Kafka's default."""
    if name == "rota" or name in RELEASES:
        broker = new_broker(name, folder, {})
        try:
            yield broker.address, {setting: USUAL[setting] for setting in DEFAULTS.keys() & USUAL.keys()}
        finally:
            broker.stop()
        return
    target = parse_target(name)
    running = target.start({})
    try:
        yield f"{running.address[0]}:{running.address[1]}", target.known
    finally:
        running.stop()
        target.close()


def judged(folder: Path, *more: str) -> Mapping[str, Any]:
    """What `rota validate --json` says of a recording."""
    told = json.loads((folder / PLAYED).read_text(encoding="utf-8"))
    settings = [f"--set={name}={value}" for name, value in told["settings"].items()]
    profile = "--profile=rota" if told["target"] == "rota" else "--profile=kafka-4.x"
    command = [sys.executable, "-m", "rota", "validate", str(_recording(folder)), "--json", profile]
    done = subprocess.run(
        [*command, *settings, *more],
        stdout=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    (folder / f"judged{''.join(more)}.json").write_bytes(done.stdout)
    account: Mapping[str, Any] = json.loads(done.stdout)
    return account


def row(folder: Path, account: Mapping[str, Any]) -> str:
    """A line of the table."""
    told = json.loads((folder / PLAYED).read_text(encoding="utf-8"))
    undecided = sum(one["events"] for one in account["undecided"])
    unchecked = sum(one["events"] for one in account["not_checked"])
    rules = Counter(one["rule"] for one in account["violations"])
    cells = (
        told["clients"],
        told["target"],
        f"{told['performances']}, {len(told['failed'])} failed",
        told["seconds"],
        account["groups"],
        account["events"],
        f"{account['judged']} ({account['judged'] / account['events']:.1%})",
        f"{undecided} ({undecided / account['events']:.2%})",
        unchecked,
        ", ".join(f"{rule}: {number}" for rule, number in rules.most_common()) or account["found"],
    )
    return f"| {' | '.join(map(str, cells))} |"


HEAD = (
    "| clients | target | performances | seconds | groups | events | judged | undecided | not checked "
    "| violations |"
)


def main(words: Sequence[str]) -> None:
    """Record, judge and tell."""
    parser = argparse.ArgumentParser(
        prog="python -m harness.client_recordings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--target", action="append", required=True, help="a target by its name; repeatable")
    parser.add_argument("--clients", action="append", choices=LIBRARIES, help="all if none is named")
    parser.add_argument("--keep", type=Path, required=True, help="folder for recordings and logs")
    parser.add_argument("--again", action="store_true", help="judge what --keep has")
    given = parser.parse_args(words)
    warnings.simplefilter("ignore")
    print(HEAD)
    for target, library in itertools.product(given.target, given.clients or LIBRARIES):
        folder = given.keep.absolute() / target / library
        if not given.again:
            played(target, library, folder)
        print(row(folder, judged(folder, "--fresh")), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
