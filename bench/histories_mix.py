"""Of what recordings of many groups consist, and what of it is found: `python -m bench.histories_mix MADE`.

MADE is what `rota simulate --histories` wrote. All groups are judged in this process: so the pairs of a state
and an input that were asked of the spec are those that are distinct under the names of histories. Told are
requests and how many of them are no heartbeats, groups that were in more than one generation, these pairs,
verdicts, and how many of the bugs that show in the answers are found. A group whose bug shows and that is not
violated is named, and so is a violated one that has none: exit 1.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rota.history import Kind
from rota.linearise import learned
from rota.population.files import RECORDINGS
from rota.population.truth import TRUTH
from rota.reading import ReadOptions, read
from rota.spec import KAFKA_4
from rota.validate.terms import Terms
from rota.validate.validation import Validation


@dataclass
class Mix:
    """events, requests by what they ask, groups with the last generation of each, verdicts by group; pairs:
    distinct ones of a state and an input."""

    events: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    generations: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    pairs: int = 0

    @property
    def beats(self) -> float:
        """The share of heartbeats among requests."""
        return self.requests["Heartbeat"] / max(1, self.requests.total())


def mix_of(recordings: Path) -> Mix:
    """Judge all that is there."""
    found, validation = Mix(), Validation(Terms(KAFKA_4, fresh=True))
    with learned.counting(None) as pairs:
        for event in read([str(recordings)], options=ReadOptions(unordered=True)):
            found.events += 1
            if event.kind is Kind.REQUEST:
                found.requests[str(event.data["api"])] += 1
                if event.generation is not None:
                    latest = found.generations.get(event.group, 0)
                    found.generations[event.group] = max(latest, event.generation)
            validation.take(event)
        account = validation.end()
    found.pairs = len(pairs)
    told = map(json.loads, account.verdicts())
    found.verdicts = {one["group"]: one["verdict"] for one in told}
    return found


def planted(truth: Path) -> set[str]:
    """Groups whose bug shows in the answers."""
    told = map(json.loads, truth.read_text(encoding="utf-8").splitlines())
    return {one["group"] for one in told if one["shown"]}


def main(made: Path) -> int:
    """Print it; 1 where a bug is not found, or something else is."""
    found, shown = mix_of(made / RECORDINGS), planted(made / TRUTH)
    violated = {group for group, verdict in found.verdicts.items() if verdict == "violated"}
    rebalanced = sum(latest > 1 for latest in found.generations.values())
    requests, verdicts = found.requests.total(), Counter(found.verdicts.values())
    print(f"{found.events:,} events, {requests:,} requests, {1 - found.beats:.1%} of them no heartbeats")
    print(f"{len(found.verdicts):,} groups, {rebalanced:,} of them in more than one generation")
    print(f"{found.pairs:,} distinct pairs of a state and an input")
    print(", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items()))
    both, beside = len(shown & violated), len(violated - shown)
    print(f"bugs that show: {len(shown):,}, found: {both:,}, violated without one: {beside:,}")
    for group in sorted(shown ^ violated):
        print(f"{group}: {'not found' if group in shown else 'violated without a bug that shows'}")
    return 1 if shown ^ violated else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
