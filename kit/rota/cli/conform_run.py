"""One run of `rota conform`: cases are played, readers hear of it, and it ends with an exit code."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from rota.cli.conform_target import see_what_is_there
from rota.cli.errors import HOLDS, INTERRUPTED, NOTHING, UNDECIDED, VIOLATED, UsageError
from rota.cli.interrupts import ENDING
from rota.cli.streams import ascii_json
from rota.conformance.dialogues.negotiation import Unreadable
from rota.conformance.dialogues.script import Case
from rota.conformance.profiles import for_profile
from rota.conformance.results import CaseResult, NotChecked
from rota.conformance.rounds import Gone
from rota.conformance.runner import Options, Watch, divide, exit_code, find_unreadable, play_all
from rota.conformance.targets.target import Target
from rota.conformance.unserved import without_unserved
from rota.report import events
from rota.report.conform_progress import ConformProgress
from rota.report.identity import identified
from rota.report.json_report import JsonReport
from rota.report.live_line import LiveLine
from rota.report.text import TextReport

_VERDICTS = {HOLDS: events.CONFORMS, VIOLATED: events.VIOLATED, UNDECIDED: events.UNDECIDED}


@dataclass(frozen=True)
class Run:
    """What is judged and how it is told. files: the readers whose reports go to `paths`; given: as in
    `events.RunStarted`."""

    target: Target
    profile: str
    options: Options
    strict: bool
    as_json: bool
    quiet: bool
    files: Sequence[events.Reader]
    paths: Sequence[Path]
    given: Sequence[str] = ()

    def judge(self, cases: Sequence[Case]) -> tuple[int, list[CaseResult]]:
        """Play the cases; the exit code, and the results in the order of the cases."""
        target = see_what_is_there(self.target, self.options.patience)
        return replace(self, target=target)._judge(cases)

    def _judge(self, cases: Sequence[Case]) -> tuple[int, list[CaseResult]]:
        """As `judge`, of a target that is known to be there."""
        expected, unknown = for_profile(cases, self.profile)
        playable, skipped = divide(expected, self.target, self.options)
        playable, unserved = without_unserved(playable, self.target, self.options.patience)
        skipped = [*unknown, *skipped, *unserved]
        if not playable:
            raise UsageError(f"no case to play: {skipped[0].case.id} {skipped[0].why}", NOTHING)
        line = LiveLine(sys.stderr, silent=self.quiet)
        progress = ConformProgress(line, playable, self.target.parallel)
        readers = [self._on_stdout(line), *self.files, progress]
        began = time.monotonic()
        identity = identified(__name__, (), (), self._settings(cases))
        asked = self.target.name, self.profile, self.options.seed, len(playable)
        _emit(readers, events.RunStarted(*asked, identity, self.strict, self.given))
        with interruptible(self.options.stop):
            unreadable = find_unreadable(self.target, self.options.patience)
            results, cut = self._play(playable, unreadable, readers, progress.watch)
        line.clear()
        code = INTERRUPTED if cut == events.INTERRUPTED else exit_code(results, self.strict)
        if cut:
            code = UNDECIDED if code in (HOLDS, NOTHING) else code
            played = {result.case.id for result in results}
            skipped += [NotChecked(case, cut) for case in playable if case.id not in played]
        verdict = events.INTERRUPTED if code == INTERRUPTED else _VERDICTS[code]
        seconds = time.monotonic() - began
        _emit(readers, events.RunFinished(verdict, results, skipped, unreadable, seconds, self.paths))
        return code, results

    def _settings(self, cases: Sequence[Case]) -> dict[str, Any]:
        """What was asked for."""
        return {
            "target": self.target.name,
            "profile": self.profile,
            "seed": self.options.seed,
            "patience": self.options.patience,
            "slow": self.options.slow,
            "known": sorted(self.options.known),
            "strict": self.strict,
            "cases": len(cases),
            "broker": self.target.origins(),
        }

    def _play(
        self,
        cases: Sequence[Case],
        unreadable: Unreadable,
        readers: Sequence[events.Reader],
        watch: Watch,
    ) -> tuple[list[CaseResult], str]:
        """The results in the order of the cases, and what cut the run short, if anything did."""
        found: dict[str, CaseResult] = {}
        cut = ""
        try:
            for result in play_all(cases, self.target, self.options, unreadable, watch):
                found[result.case.id] = result
                _emit(readers, events.CaseFinished(result))
        except KeyboardInterrupt:
            cut = events.INTERRUPTED
        except Gone as gone:
            cut = str(gone)
        return [found[case.id] for case in cases if case.id in found], cut

    def _on_stdout(self, line: LiveLine) -> events.Reader:
        if self.as_json:
            return JsonReport(lambda text: click.echo(ascii_json(text), nl=False))

        def say(text: str) -> None:
            line.clear()
            click.echo(text)

        return TextReport(say, self.quiet)


def _emit(readers: Sequence[events.Reader], event: events.Event) -> None:
    for reader in readers:
        reader.on(event)


@contextmanager
def interruptible(stop: threading.Event) -> Iterator[None]:
    """A signal that asks the run to end sets `stop`, so that no result is lost; a second one ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread, and only there can they be caught
        return

    before = {number: signal.getsignal(number) for number in ENDING}
    heard = {number: handler for number, handler in before.items() if callable(handler)}  # else: ignored

    def restore() -> None:
        for number, handler in heard.items():
            signal.signal(number, handler)

    def first(*_: object) -> None:
        stop.set()
        restore()

    for number in heard:
        signal.signal(number, first)
    try:
        yield
    finally:
        restore()
