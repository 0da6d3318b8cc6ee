"""Plays nights with real clients on a broker, has them explained, and prints the table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from nights.agreement import disagreements, of
from nights.brokers import Broker
from nights.judged import Judged, Verdict, judged, table
from nights.night import LEFT, LIBRDKAFKA, MEMBERS, Left, Night, NotPlayable, left, new_broker, played
from nights.scenes import NIGHTS


def main(words: Sequence[str]) -> int:
    """Exit code 1 if a cause is named wrong, sources of a night contradict each other, or a night failed."""
    known = [one.name for one in NIGHTS]
    parser = argparse.ArgumentParser(prog="python -m nights", description=__doc__)
    parser.add_argument("--target", default="rota", help="rota, kafka-4.4.0, kafka-3.9.2 or kafka-3.4.1")
    parser.add_argument("--clients", default=LIBRDKAFKA, choices=sorted(MEMBERS))
    parser.add_argument("--keep", type=Path, help="folder for logs, recordings and data folders")
    parser.add_argument("--again", action="store_true", help="judge what --keep has, without playing it")
    parser.add_argument("nights", nargs="*", choices=[*known, []], metavar="NIGHT", help=", ".join(known))
    given = parser.parse_args(words)
    chosen = [one for one in NIGHTS if one.name in (given.nights or known)]
    with ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nights-")))
        if given.again:
            kept = [one for one in chosen if (folder / one.name / LEFT).exists()]
            found = [heard(one, left(folder / one.name)) for one in kept]
        else:
            found = nights_on(given.target, chosen, folder.absolute(), given.clients)
    print(table([each for one in found for each in one.judged]))
    print(f"{sum(not one.disagreements for one in found)} of {len(found)} whose sources agree")
    return int(not all(one.fine for one in found))


@dataclass(frozen=True)
class Heard:
    """What the sources of a night tell."""

    judged: Sequence[Judged]
    disagreements: Sequence[str] = ()

    @property
    def fine(self) -> bool:
        """Whether no cause is named that it was not, and no source contradicts another."""
        bad = (Verdict.WRONG, Verdict.FAILED)
        return not self.disagreements and not any(one.verdict in bad for one in self.judged)


def heard(night: Night, left: Left) -> Heard:
    """Judges a night that was played, and says what is found."""
    found = Heard(judged(night, left), disagreements(of(left, night.stored)))
    for one in found.judged:
        print(
            f"{night.name} {one.source}: {one.verdict.value} {'+'.join(one.named)} | {one.first}", flush=True
        )
    for words in found.disagreements:
        print(f"{night.name}: DISAGREE: {words}", flush=True)
    return found


def nights_on(target: str, chosen: Sequence[Night], folder: Path, clients: str) -> list[Heard]:
    """Plays them, on one broker where they need nothing else, and judges each."""
    found: list[Heard] = []
    brokers: dict[tuple[object, ...], Broker] = {}
    try:
        for number, night in enumerate(chosen):
            key = (night.name,) if night.own else tuple(sorted(night.settings.items()))
            if key not in brokers:
                for other in brokers.values():
                    other.stop()
                brokers = {key: new_broker(target, folder / f"broker-{number}", night.settings)}
            found += _of(night, brokers[key], folder / night.name, clients)
    finally:
        for one in brokers.values():
            one.stop()
    return found


def _of(night: Night, on: Broker, folder: Path, clients: str) -> list[Heard]:
    try:
        return [heard(night, played(night, on, folder, clients))]
    except NotPlayable as cause:
        print(f"{night.name}: not played: {cause}", flush=True)
        return []
    except AssertionError as failure:
        (folder / "failure.txt").write_text(str(failure), encoding="utf-8")
        print(f"{night.name}: FAILED: {str(failure).splitlines()[0]}", flush=True)
        return [Heard([Judged(night.name, "log", Verdict.FAILED, ())])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
