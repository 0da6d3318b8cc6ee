"""A run of `rota explain`: sources to accounts, and where these go."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from rota.cli.errors import HOLDS, NOTHING, UNDECIDED, USAGE, UsageError, say
from rota.cli.explain_options import ExplainOptions
from rota.cli.interrupts import held
from rota.cli.keeping import keep, try_files
from rota.cli.nothing_found import Met
from rota.cli.source_options import what_was_read
from rota.explain import telling
from rota.explain.as_json import as_json
from rota.explain.diagnosis import Diagnosis
from rota.explain.following import Following
from rota.explain.moments import shown_in
from rota.explain.page import page
from rota.explain.worst import Explained, Explainer, Wanted
from rota.reading import ReadingError, Tally, read
from rota.reading.offsets import SCHEME
from rota.report.format import counted
from rota.report.live_line import LiveLine

EVERY = 4096
"""Events after which it is looked whether to show how far it is."""


@dataclass
class Run:
    """paths: to read; pages: where pages go."""

    paths: Sequence[str]
    options: ExplainOptions
    pages: Sequence[Path]
    as_json: bool
    quiet: bool
    tally: Tally = field(default_factory=Tally)
    met: Met = field(default_factory=Met)

    def run(self) -> int:
        """Read, tell, write; the exit code. Errors: UsageError."""
        if self.options.bootstrap is not None:
            from rota.cli.explain_watch import Watching

            if self.pages:
                raise UsageError("--report is of logs and recordings; leave it out with --bootstrap")
            with shown_in(self.options.reading().time_zone):
                return Watching(tuple(self.paths), self.options, self.as_json, self.quiet).run()
        with shown_in(self.options.reading().time_zone):
            return self._run()

    def _run(self) -> int:
        if not self.paths:
            raise UsageError("nothing to read; give the paths of logs or recordings, `-` for standard input, "
                             "or --bootstrap HOST:PORT --group G")  # fmt: skip
        if self.options.follow and not (len(self.paths) == 1 and self._grows(self.paths[0])):
            remedy = "give the path of the log that is written to"
            raise UsageError(f"--follow goes with one file, or with kafka://HOST:PORT; {remedy}")
        try_files(self.pages, "name another path in --report")
        since, until = self.options.span()
        wanted = Wanted(frozenset(self.options.groups), since, until)
        heard = self._heard if self.options.follow and not self.as_json and not self.quiet else None
        explainer = Explainer(wanted, self.options.most, heard)
        try:
            self._read(explainer)
        except ReadingError as error:
            raise UsageError(str(error), USAGE if error.there else UNDECIDED) from error
        except KeyboardInterrupt:
            if not explainer.accounts.seen:
                raise
            self._conclude(explainer.done(), told=heard is not None)
            raise
        return self._conclude(explainer.done(), told=heard is not None)

    @staticmethod
    def _grows(path: str) -> bool:
        """Whether it can be followed: standard input ends by itself, and a folder is read as it is."""
        return path.startswith(SCHEME) or (path != "-" and Path(path).is_file())

    def _read(self, explainer: Explainer) -> None:
        line = LiveLine(sys.stderr, silent=self.quiet or self.options.follow)
        following = Following(explainer, self.options.seconds, self._told_aloud)
        options = replace(self.options.reading(), idle=following.idle)
        try:
            for number, event in enumerate(read(self.paths, options=options, tally=self.tally)):
                with held():
                    explainer.take(event)
                    self.met.take(event)
                if number % EVERY == EVERY - 1:
                    line.show(lambda: f"explain: {counted(self.tally.events, 'event')} read")
                    if self.options.follow and following.over:
                        break
        finally:
            line.clear()

    def _told_aloud(self, words: str) -> None:
        """What is said while a log is followed."""
        if not (self.as_json or self.quiet):
            click.echo(words)

    def _heard(self, one: Diagnosis) -> None:
        """An incident of a log that grows."""
        click.echo("\n".join((*telling.incident(one), "")))

    def _conclude(self, found: Explained, told: bool) -> int:
        """Print and write; the exit code."""
        if not found.events:
            self._nothing(found)
            return NOTHING
        if self.as_json:
            click.echo(json.dumps(as_json(found, self.tally), indent=2))
        elif self.quiet:
            if found.first is not None:
                click.echo(found.first.headline)
            click.echo(telling.verdict(found))
        else:
            for line in telling.lines(found, what_was_read(self.tally), told):
                click.echo(line)
            for path in self.pages:
                click.echo(f"page: {path}")
            click.echo(telling.verdict(found))
        files = {path: page(found, what_was_read(self.tally)) for path in self.pages}
        return keep(files, HOLDS)

    def _nothing(self, found: Explained) -> None:
        """Nothing about groups, or about those that were asked for, was there."""
        if self.as_json:
            click.echo(json.dumps(as_json(found, self.tally), indent=2))
        if words := self.met.without(self.options.groups, what_was_read(self.tally)):
            say(words)
            return
        say(f"nothing about groups was found in {what_was_read(self.tally)}; give the coordinator's log at "
            f"level INFO "
            "(group coordinators write to server.log or kafkaServer.out), or name what it is with "
            "--format")  # fmt: skip
