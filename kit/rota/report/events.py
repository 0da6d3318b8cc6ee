"""The events of a conformance run, and what a reader of them is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from rota.conformance.results import CaseResult, NotChecked, Verdict
from rota.report.causes import Cause, causes
from rota.report.identity import UNIDENTIFIED, Identity
from rota.report.reached import Reached, reached

CONFORMS, VIOLATED, UNDECIDED, INTERRUPTED = "conforms", "violated", "undecided", "interrupted"
"""The verdicts on a whole run."""


@dataclass(frozen=True)
class RunStarted:
    """A target is about to be judged by so many cases.

    identity: what the verdict will rest on; strict: a known failure that passes is a failure; given: what
    the command line said besides, word by word, without which a case would not be played as it was.
    """

    target: str
    profile: str
    seed: int
    cases: int
    identity: Identity = UNIDENTIFIED
    strict: bool = False
    given: Sequence[str] = ()


@dataclass(frozen=True)
class CaseFinished:
    """One case has its verdict."""

    result: CaseResult


@dataclass(frozen=True)
class RunFinished:
    """The run is over. `results` are all of them, in the order of the catalogue.

    `unreadable` is API -> version -> what the target did, for versions that it advertises but cannot read.
    `told_causes` are the causes where a report that was read back tells them.
    """

    verdict: str
    results: Sequence[CaseResult]
    not_checked: Sequence[NotChecked]
    unreadable: Mapping[str, Mapping[int, str]]
    seconds: float
    reports: Sequence[Path] = field(default=())
    told_causes: Sequence[Cause] | None = None

    @cached_property
    def causes(self) -> Sequence[Cause]:
        """The first causes of all deviations."""
        return causes(self.results) if self.told_causes is None else self.told_causes

    @cached_property
    def reached(self) -> Reached:
        """The questions that were reached, and why the others were not."""
        return reached(self.results, self.not_checked)

    def unspoken(self) -> Iterator[str]:
        """Versions that the target advertises and cannot read, a line for each API."""
        for api, versions in self.unreadable.items():
            numbers = ", ".join(f"v{version}" for version in versions)
            yield f"{api} {numbers}: advertised, but the target cannot read it"


@dataclass(frozen=True)
class WholeRun:
    """A run that is over. path: the report that tells of it, None where it has just ended."""

    started: RunStarted
    finished: RunFinished
    path: Path | None = None


Event = RunStarted | CaseFinished | RunFinished


class Reader(Protocol):
    """Anything that follows the events of a run."""

    def on(self, event: Event) -> None:
        """Take the next event."""


class Collected:
    """A reader that waits for the end; base of the reports that are written when the run is over."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.results: Sequence[CaseResult] = ()

    def on(self, event: Event) -> None:
        """Keep how it began, and call `finish` with the results when it is over."""
        if isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, RunFinished):
            assert self.started is not None
            self.results = event.results
            self.finish(self.started, event)

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        """Make the report."""
        raise NotImplementedError


def counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """Verdict -> how many, in the order of the verdicts, those that occur."""
    number = Counter(result.verdict for result in results)
    return {verdict.value: number[verdict] for verdict in Verdict if number[verdict]}
