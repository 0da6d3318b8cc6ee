"""The events of a conformance run, and what a reader of them is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rota.conformance.results import CaseResult, NotChecked, Verdict
from rota.report.identity import UNIDENTIFIED, Identity

CONFORMS, VIOLATED, UNDECIDED, INTERRUPTED = "conforms", "violated", "undecided", "interrupted"
"""The verdicts on a whole run."""


@dataclass(frozen=True)
class RunStarted:
    """A target is about to be judged by so many cases. identity: what the verdict will rest on."""

    target: str
    profile: str
    seed: int
    cases: int
    identity: Identity = UNIDENTIFIED


@dataclass(frozen=True)
class CaseFinished:
    """One case has its verdict."""

    result: CaseResult


@dataclass(frozen=True)
class RunFinished:
    """The run is over.

    `unreadable` is API -> version -> what the target did, for versions that it advertises but cannot read.
    """

    verdict: str
    not_checked: Sequence[NotChecked]
    unreadable: Mapping[str, Mapping[int, str]]
    seconds: float
    reports: Sequence[Path] = field(default=())


Event = RunStarted | CaseFinished | RunFinished


class Reader(Protocol):
    """Anything that follows the events of a run."""

    def on(self, event: Event) -> None:
        """Take the next event."""


class Collected:
    """A reader that keeps everything; base of the reports that are written when the run is over."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.results: list[CaseResult] = []

    def on(self, event: Event) -> None:
        """Keep the event, and call `finish` after the last one."""
        if isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, CaseFinished):
            self.results.append(event.result)
        else:
            assert self.started is not None
            self.finish(self.started, event)

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        """Make the report."""
        raise NotImplementedError


def counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """Verdict -> how many, in the order of the verdicts, those that occur."""
    number = Counter(result.verdict for result in results)
    return {verdict.value: number[verdict] for verdict in Verdict if number[verdict]}
