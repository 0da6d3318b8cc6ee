"""A run of `rota validate`: sources to an account of every event, and where it goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from rota.cli.errors import NOTHING, UNDECIDED, USAGE, UsageError, say
from rota.cli.interrupts import held
from rota.cli.keeping import keep, try_files
from rota.cli.nothing_found import Met
from rota.cli.reporting import EXIT_CODES
from rota.cli.source_options import what_was_read
from rota.cli.validate_options import ValidateOptions, broker_setting
from rota.explain.moments import shown_in
from rota.generate.settings import broker_config
from rota.reading import ReadingError, ReadOptions, Tally, read_by_cluster
from rota.reading.days import Days
from rota.reading.unordered import TWICE
from rota.report.format import counted
from rota.report.identity import identified
from rota.report.live_line import LiveLine
from rota.spec import PROFILES
from rota.validate import page, telling
from rota.validate.account import Account, Unaccounted
from rota.validate.collecting import uncollected
from rota.validate.settings import JUDGED_BY, MAX_REAUTH
from rota.validate.terms import Terms, looks_every
from rota.validate.validation import Clusters

SCHEMA = 1
EVERY = 1024
"""Events after which it is looked whether to show how far it is."""

PAGES: Mapping[str, Callable[[Account, str], str]] = {
    "html": page.page,
    "junit": lambda account, read: page.junit(account),
    "md": lambda account, read: page.markdown(account),
}


@dataclass(frozen=True)
class Judged:
    """What came of a run. compared, skews: as of `Clusters`."""

    account: Account
    compared: Mapping[str, int]
    skews: Mapping[str, float]


@dataclass
class Run:
    """paths: to read; reports: kinds of files, and where they go."""

    paths: Sequence[str]
    options: ValidateOptions
    reports: Sequence[tuple[str, Path]]
    as_json: bool
    quiet: bool
    tally: Tally = field(default_factory=Tally)
    met: Met = field(default_factory=Met)
    _interrupted: KeyboardInterrupt | None = None

    def run(self) -> int:
        """Read, judge, tell, write; the exit code. Errors: UsageError; KeyboardInterrupt, once what was read
        until then is told.
        """
        clusters = self.made()
        if self._interrupted is not None and not clusters.account.groups:
            raise self._interrupted
        code = self._conclude(clusters, clusters.account)
        if self._interrupted is not None:
            raise self._interrupted
        return code

    def made(self) -> Judged:
        """Read and judge; every event is accounted for. Errors: UsageError."""
        self.options.checked()
        try_files([path for _, path in self.reports], "name another path in --report")
        known = dict(map(broker_setting, self.options.settings))
        since, until = self.options.times()
        terms = Terms(
            PROFILES[self.options.profile],
            broker_config(known),
            self.options.limits(),
            lateness=self.options.lateness,
            fresh=self.options.fresh,
            durable=self.options.durable,
            starts=self.options.starts(),
            reauthenticates=known.get(MAX_REAUTH, 0) > 0,
            looks_every=looks_every(known),
            since=since,
            until=until,
            group=self.options.group,
            assumed=frozenset(JUDGED_BY) - known.keys(),
        )
        options = replace(self.options.reading(), days=Days(since, until))
        try:
            clusters = self.judged(terms, options)
        except ReadingError as error:
            raise UsageError(str(error), USAGE if error.there else UNDECIDED) from error
        account = clusters.account
        if self._interrupted is not None:
            self.tally.events = account.events  # one may have been read and not judged
        Unaccounted.unless(self.tally.events, account.events)
        account.quarantined += self.tally.broken - self.tally.also_told
        assumed = {name: str(value) for name, value in JUDGED_BY.items() if name not in known}
        account.assumed = {"profile": self.options.profile} | assumed
        return clusters

    def judged(self, terms: Terms, options: ReadOptions) -> Judged:
        """Read all and judge it. Errors: ReadingError."""
        clusters = Clusters(terms)
        with uncollected():
            self._read(clusters, options)
            account = clusters.end()
        for source, events in self.tally.twice.items():
            account.leave(TWICE, source, events)
        return Judged(account, clusters.compared, clusters.skews)

    def verdicts(self, account: Account) -> Iterator[str]:
        """What became of each history, a line each."""
        return (f"{line}\n" for line in account.verdicts())

    def more(self, account: Account) -> Iterator[str]:
        """Lines above the verdict, beside those of every run."""
        return iter(())

    def _read(self, clusters: Clusters, options: ReadOptions) -> None:
        line = LiveLine(sys.stderr, silent=self.quiet)
        try:
            events = read_by_cluster(self.paths, options=options, tally=self.tally)
            for number, (cluster, event) in enumerate(events):
                with held():
                    clusters.take(cluster, event)
                    self.met.take(event)
                if number % EVERY == 0:
                    line.show(lambda: f"validate: {counted(self.tally.events, 'event')} read")
        except KeyboardInterrupt as interrupt:
            self._interrupted = interrupt  # the sources end here, as where they were cut off
        finally:
            line.clear()

    def _conclude(self, clusters: Judged, account: Account) -> int:
        read = what_was_read(self.tally)
        if self.as_json:
            click.echo(json.dumps(self._json(clusters, account), indent=2))
        elif not account.groups and (words := self._not_asked_for(read)):
            say(words)
        elif not account.groups:
            say(f"nothing about groups was found in {read}; give recordings of `rota record`, captures, a "
                "coordinator's log or the offsets topic, or name what it is with --format")  # fmt: skip
        elif self.quiet:
            click.echo(telling.verdict(account))
        else:
            for line in telling.lines(account, clusters, read):
                click.echo(line)
            for line in self.more(account):
                click.echo(line)
            for kind, path in self.reports:
                click.echo(f"{kind}: {path}")
            click.echo(telling.verdict(account))
        code = EXIT_CODES[account.verdict] if account.groups else NOTHING
        return keep({path: self._page(kind, account, read) for kind, path in self.reports}, code)

    def _not_asked_for(self, read: str) -> str:
        """Why nothing was found where something was there, in words; empty: nothing was."""
        since, until = self.options.times()
        with shown_in(self.options.reading().time_zone):
            return self.met.without([self.options.group], read) or self.met.at_other_times(since, until, read)

    def _page(self, kind: str, account: Account, read: str) -> str | Iterator[str]:
        return self.verdicts(account) if kind == "verdicts" else PAGES[kind](account, read)

    def _json(self, clusters: Judged, account: Account) -> dict[str, object]:
        settings = {
            "profile": self.options.profile,
            "fresh": self.options.fresh,
            "forgive": self.options.forgive,
            "late": self.options.late,
        }
        return {
            "schema": SCHEMA,
            "verdict": account.verdict,
            "profile": self.options.profile,
            **account.as_json(),
            "compared": dict(clusters.compared),
            "skews": dict(clusters.skews),
            "sources": self.tally.sources,
            "identity": identified(__name__, (), (), settings).as_json(),
        }
