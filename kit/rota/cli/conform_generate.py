"""`rota conform --generate`: walks that nobody wrote, on a target, and one of them again."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from rota.cli.conform_run import interruptible
from rota.cli.conform_target import see_what_is_there
from rota.cli.errors import HOLDS, INTERRUPTED, UNDECIDED, VIOLATED, UsageError
from rota.cli.keeping import keep, try_files
from rota.cli.streams import ascii_json
from rota.conformance.dialogues.failures import Undecidable
from rota.conformance.dialogues.script import Signal
from rota.conformance.profiles import USUAL
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import DEFAULTS, Running, Target
from rota.generate.as_case import case_text
from rota.generate.case_words import NotACase
from rota.generate.deaths import Death
from rota.generate.helpers import drawn, judges
from rota.generate.host import UNREACHED, Host
from rota.generate.life import Died
from rota.generate.plan import CLASSIC, CONSUMER
from rota.generate.planners import BOTH
from rota.generate.reach import reach
from rota.generate.run import Failure, Tally, replayed, run
from rota.generate.saved import NotSaved, Saved, case_path_of, path_of, read_saved, saved_text
from rota.generate.settings import SETTINGS
from rota.generate.shrink import RUNS
from rota.generate.verdicts import Verdict, Walked
from rota.report import events
from rota.report.format import counted
from rota.report.identity import identified
from rota.report.live_line import LiveLine
from rota.report.walks import WalksSeen, told_failure
from rota.spec import PROFILES, ROTA

R = TypeVar("R")

MOST_TARGETS = 8
"""Targets that are started side by side where it is looked for what has ended one."""


def write_case(out: Path, name: str) -> int:
    """Write a failure that was kept as a case; the exit code. Errors: UsageError."""
    try:
        saved = read_saved(out, name)
        text = case_text(saved, saved.profile)
    except (NotSaved, NotACase) as error:
        raise UsageError(str(error)) from error
    path = case_path_of(out, saved.plan.id)
    click.echo(f"{path}: review it, then put it among rota's cases (kit/rota/conformance/cases)")
    return keep({path: text}, HOLDS)


def protocols_of(line: str, wanted: str | None) -> Sequence[str]:
    """The protocols that are walked on a line of brokers. Errors: UsageError."""
    followed = line in (USUAL, ROTA.name)
    if wanted == CONSUMER and not followed:
        raise UsageError(f"walks of the consumer protocol follow {USUAL} and {ROTA.name}, not {line}")
    return (wanted,) if wanted is not None else BOTH if followed else (CLASSIC,)


CODES = {events.CONFORMS: HOLDS, events.VIOLATED: VIOLATED, events.INTERRUPTED: INTERRUPTED}
"""Verdict on a run -> exit code; else it is undecided."""


@dataclass(frozen=True)
class Asked:
    """What was asked for: who is walked on, by which profile, for how long, and how it is told.

    given: options without which a walk would not be played again as it was, word by word; protocols, of the
    groups that are walked on.
    """

    target: Target
    profile: str
    seed: int
    seconds: float
    groups: int
    patience: float
    out: Path
    reports: Sequence[tuple[str, Path]]
    as_json: bool
    quiet: bool
    given: Sequence[str] = ()
    protocols: Sequence[str] = BOTH

    def walk(self) -> int:
        """Walk, print, write; the exit code."""
        self._check_reports()
        try_files([path_of(self.out, "0-0"), *(path for _, path in self.reports)])
        stop = threading.Event()
        with closing(self.target), interruptible(stop):
            seen, settings = self._seen(stop)
        report = ascii_json(json.dumps(seen.as_json(), indent=1) + "\n")
        files = {path: report for _, path in self.reports}
        files |= {
            path_of(self.out, each.walked.id): saved_text(each, seen.target, self.profile, settings)
            for each in (*seen.failures, *seen.tally.once)
        }
        if self.as_json:
            click.echo(report, nl=False)
        elif self.quiet:
            click.echo(seen.line())
        else:
            for line in seen.lines():
                click.echo(line)
            for failure in seen.failures[:1]:
                words = ("--target", seen.target, "--replay", failure.walked.id, *self.given)
                others = "" if len(seen.failures) == 1 else "    (or another walk of the table)"
                click.echo(f"again: rota conform {shlex.join(words)}{others}")
        return keep(files, CODES.get(seen.verdict, UNDECIDED))

    def replay(self, name: str) -> int:
        """Play a failure that was kept again, as often as when it was found; the exit code."""
        try:
            saved = read_saved(self.out, name)
        except NotSaved as error:
            raise UsageError(str(error)) from error
        with closing(self.target):
            walked, _ = self._with(saved.settings, lambda host: _replayed(host, saved))
        return self._tell(saved, walked)

    def _check_reports(self) -> None:
        for kind, _ in self.reports:
            if kind != "json":
                raise UsageError(f"there is no {kind} report of walks; write --report json=PATH")

    def _seen(self, stop: threading.Event) -> tuple[WalksSeen, Mapping[str, int]]:
        line = LiveLine(sys.stderr, silent=self.quiet)
        tally, began = Tally(), time.monotonic()
        target = see_what_is_there(self.target, self.patience)
        settings = _settings(target)
        if not (self.quiet or self.as_json):
            click.echo(
                f"rota conform --generate: target {target.name}, profile {self.profile}, seed {self.seed}, "
                f"{self.seconds:g} s on {counted(self.groups, 'group')} at once"
            )

        now = _Now(tally, self.seconds)
        met = _Met(self.out, target.name, self.profile, settings)

        def watched() -> bool:
            for text in met.kept(tally):
                line.note(text)
            line.show(lambda: now.words(time.monotonic() - began))
            return stop.is_set()

        failures, ending = self._with(settings, lambda host: _walked(host, self, tally, watched, now.begin))
        if ending:
            tally.died.append(Death(ending, ()))
        line.clear()
        asked = {"target": target.name, "profile": self.profile, "seed": self.seed}
        pace = {"seconds": self.seconds, "groups": self.groups}
        identity = identified(__name__, (), (), {**asked, **pace, "broker": dict(settings)})
        seconds = time.monotonic() - began
        seen = WalksSeen(
            target.name, self.profile, self.seed, tally, failures, seconds, identity, stop.is_set()
        )
        return seen, settings

    def _with(self, settings: Mapping[str, int], walk: Callable[[Host], R]) -> tuple[R, str]:
        """What comes of walking on the target, started with these settings; how it failed in its stop, if it
        did. Errors: UsageError.
        """
        name, started = self.target.name, settings if self.target.settable else _heeded(self.target)
        profile = PROFILES[self.profile]
        again = None if self.target.changing is None else dict(started)
        host = Host(
            lambda: _start(self.target, started, again),
            lambda running: reach(running.address, settings, profile, self.patience),
            started,
            again,
            min(self.target.parallel, MOST_TARGETS) if self.target.fresh else 1,
        )
        try:
            host.begin()
            return walk(host), host.stop()
        except NotStarted as error:
            raise UsageError(f"target {name} does not start: {error}; {error.remedy}", UNDECIDED) from error
        except UNREACHED as error:
            raise UsageError(f"{name}: {error}; see what runs there", UNDECIDED) from error
        except Died as died:
            words = f"target {name} died, and {died}; start it by hand, or try again on a machine at ease"
            raise UsageError(words, UNDECIDED) from died
        finally:
            host.stop()

    def _tell(self, saved: Saved, walked: Sequence[Walked]) -> int:
        """Print what became of a failure that was played again; the exit code."""
        failing = [one for one in walked if one.verdict is Verdict.FAIL]
        alike = [one for one in failing if one.cause == saved.cause]
        if failing and not self.quiet:
            shown = (alike or failing)[0]
            for line in told_failure(Failure(shown, (saved.plan.id,), len(alike or failing))):
                click.echo(line)
        undecided = sum(one.verdict is Verdict.UNDECIDED for one in walked)
        told = f"{len(alike)} of {RUNS} runs fail for the same cause, {len(failing) - len(alike)} for another"
        click.echo(f"{saved.plan.id}: {told}, {undecided} undecided")
        return VIOLATED if failing else UNDECIDED if undecided else HOLDS


@dataclass
class _Now:
    """What a run does now, in a line. tally: what it has come to; of: seconds that it walks."""

    tally: Tally
    of: float
    doing: str = ""

    def begin(self, doing: str) -> None:
        """Something else is done from now on; empty: it walks."""
        self.doing = doing

    def words(self, seconds: float) -> str:
        """So many seconds after it began."""
        failed = sum(map(len, self.tally.failed.values()))
        counts = (
            f"{counted(self.tally.plans, 'walk')}, {counted(self.tally.requests, 'request')}, {failed} failed"
        )
        if self.doing:
            return f"{seconds:.0f} s: {self.doing}: {counts}"
        ending = ", waiting for the last walks to end" if seconds > self.of else ""
        return f"{seconds:.0f} of {self.of:g} s{ending}: {counts}"


@dataclass(frozen=True)
class _Met:
    """Keeps the first failure of each cause as soon as it is met, since a run of hours may be lost.

    out: the folder; the rest as `saved_text` has it; causes: those that were met.
    """

    out: Path
    target: str
    profile: str
    settings: Mapping[str, int]
    causes: set[tuple[str, ...]] = field(default_factory=set)

    def kept(self, tally: Tally) -> Iterator[str]:
        """Keep what is new, and tell of it."""
        for cause in [one for one in tally.failed if one not in self.causes]:
            self.causes.add(cause)
            first = tally.failed[cause][0]
            path = path_of(self.out, first.id)
            failure = Failure(first, (first.id,))
            keep({path: saved_text(failure, self.target, self.profile, self.settings)}, HOLDS)
            yield f"walk {first.id} fails, {first.rule}: {first.why.partition(chr(10))[0]} (kept in {path})"


def _settings(target: Target) -> Mapping[str, int]:
    """What a target is walked on with: what it heeds is ours, the rest is its own."""
    if target.settable:
        return SETTINGS
    return {**DEFAULTS, **target.read, **target.known, **_heeded(target)}


def _start(target: Target, settings: Mapping[str, int], again: Mapping[str, int] | None) -> Running:
    """A target that runs, if possible one that can be restarted with what it has stored, and with settings
    that are looked up then.
    """
    if target.changing is not None and again is not None:
        return target.changing(settings, again, Signal.TERM)
    if target.restarting is None:
        return target.start(settings)
    return target.restarting(settings, Signal.TERM)


def _heeded(target: Target) -> dict[str, int]:
    return {name: value for name, value in SETTINGS.items() if name in target.heeds}


def _walked(
    host: Host,
    asked: Asked,
    tally: Tally,
    stopped: Callable[[], bool],
    tell: Callable[[str], object],
) -> list[Failure]:
    assert host.coordinator is not None  # it has begun
    terms, profile = host.coordinator.terms, host.coordinator.profile
    if asked.protocols == (CONSUMER,) and terms.consumer is None:
        raise Undecidable("it does not serve groups of the consumer protocol with ids of topics")
    tally.protocols = tuple(one for one in asked.protocols if one != CONSUMER or terms.consumer is not None)
    with judges() as found, drawn(asked.seed, terms, profile, tally.protocols) as plans:
        return asyncio.run(run(host, plans, asked.seconds, tally, found, stopped, tell, asked.groups))


def _replayed(host: Host, saved: Saved) -> list[Walked]:
    with judges() as found:
        return asyncio.run(replayed(host, saved.plan, saved.cause, found.judging))
