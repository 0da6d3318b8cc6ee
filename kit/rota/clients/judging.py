"""Real clients on any target: which performances there can be, and the verdict on each."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from rota.clients.history import told
from rota.clients.members import MODULES
from rota.clients.performances import GROUPS, Case, Performances, Played, cases
from rota.clients.scenarios import SCENARIOS
from rota.conformance.connections.connection import Closed, Connection, Garbage, NotListening
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import advertised
from rota.conformance.results import Verdict
from rota.wire import api

NEEDED = (
    "Metadata",
    "CreateTopics",
    "Produce",
    "ListOffsets",
    "Fetch",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
)
"""What clients ask of a broker in every scenario."""

SETTINGS: Mapping[str, int] = {INITIAL_DELAY: 100}
"""What a target is started with whose settings can be chosen."""

_OF_HISTORY = re.compile(r" *\d+\.\d{3} \S+ +\w+ +g-?\d+")
"""How a line of a history begins: time, who, what, generation."""


class UnknownScenario(ValueError):
    """A selector that names no scenario, no clients and no assignor."""


@dataclass(frozen=True)
class Outcome:
    """The verdict on one performance.

    why: what the checker of histories found, a line each, or why it could not be played; history: all that
    happened. again: a first performance had failed, and this one is the second.
    """

    case: Case
    verdict: Verdict
    why: Sequence[str] = ()
    history: str = ""
    seconds: float = 0.0
    again: bool = False


def selected(selectors: Sequence[str]) -> list[Case]:
    """The performances that all kinds of selectors agree on: scenarios, clients, assignors; all for none.

    Raises UnknownScenario.
    """
    there = cases()
    kinds: tuple[set[str], ...] = (set(SCENARIOS), set(GROUPS), {case.assignor for case in there})
    for name in selectors:
        if not any(name in kind for kind in kinds):
            names = "; ".join(", ".join(sorted(kind)) for kind in kinds)
            raise UnknownScenario(f"no scenario, client or assignor is called {name!r}; there are {names}")
    chosen = [set(selectors) & kind or kind for kind in kinds]
    return [
        case
        for case in there
        if case.scenario in chosen[0] and case.group in chosen[1] and case.assignor in chosen[2]
    ]


def installed() -> list[str]:
    """The client libraries that can be started here."""
    return [library for library in MODULES if not Case("", library).missing]


def lacking(address: tuple[str, int], patience: float) -> str:
    """Why clients cannot work with what listens there; empty if they may. Errors: Undecidable."""
    try:
        with closing(Connection(address, "rota-clients")) as connection:
            ranges = advertised(connection, patience)
    except (Closed, Garbage, Deviation, NotListening) as error:
        raise Undecidable(f"it does not say what it serves: {error}") from error
    missing = [name for name in NEEDED if api(name).key not in ranges]
    return f"it has no {', '.join(missing)}" if missing else ""


def judge(address: str, chosen: Sequence[Case], at_once: int) -> Iterator[Outcome]:
    """The outcomes, in the order of the cases, each as soon as it and those before it are there."""
    playing = Performances(address, [case for case in chosen if not case.missing], at_once)
    try:
        for case in chosen:
            if case.missing:
                why = f"{', '.join(case.missing)} is not installed"
                yield Outcome(case, Verdict.UNSUPPORTED, (why,))
            else:
                yield _outcome(case, playing)
    finally:
        playing.close()


def _outcome(case: Case, playing: Performances) -> Outcome:
    plays: list[Played] = []
    began = time.monotonic()
    try:
        played = playing.of(case, plays.append, warn=False)
    except Exception as error:
        return Outcome(case, Verdict.UNDECIDED, (f"the harness could not play it: {error}",))
    seconds = played.seconds or time.monotonic() - began
    if played.failure is None:
        return Outcome(case, Verdict.PASS, seconds=seconds, again=len(plays) > 1)
    history = told(played.world.history.events())
    if not isinstance(played.failure, AssertionError):
        why = (f"a client or its topics failed: {type(played.failure).__name__}: {played.failure}",)
        return Outcome(case, Verdict.UNDECIDED, why, history, seconds, len(plays) > 1)
    return Outcome(case, Verdict.FAIL, _explained(str(played.failure)), history, seconds, len(plays) > 1)


def _explained(failure: str) -> tuple[str, ...]:
    """What was found, without the history below it."""
    lines = []
    for line in failure.splitlines():
        if _OF_HISTORY.match(line):
            break
        lines.append(line)
    return tuple(lines)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """1 if any fails; 3 if any is undecided, or none could be played; 5 for none; else 0."""
    verdicts = {outcome.verdict for outcome in outcomes}
    if not verdicts:
        return 5
    if Verdict.FAIL in verdicts:
        return 1
    return 3 if Verdict.UNDECIDED in verdicts or verdicts == {Verdict.UNSUPPORTED} else 0
