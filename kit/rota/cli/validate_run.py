"""A run of `rota validate`: sources to an account of every event, and where it goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from rota.cli.conform_target import setting
from rota.cli.errors import NOTHING, UNDECIDED, USAGE, UsageError, say
from rota.cli.keeping import keep, try_files
from rota.cli.reporting import EXIT_CODES
from rota.cli.source_options import what_was_read
from rota.cli.validate_options import ValidateOptions
from rota.conformance.targets.target import DEFAULTS
from rota.generate.settings import broker_config
from rota.reading import ReadingError, Tally, read_by_cluster
from rota.report.format import counted
from rota.report.identity import identified
from rota.report.live_line import LiveLine
from rota.spec import PROFILES
from rota.validate import page, telling
from rota.validate.account import Account
from rota.validate.terms import LIMITS, Terms, looks_every
from rota.validate.validation import Clusters

SCHEMA = 1
EVERY = 1024
"""Events after which it is looked whether to show how far it is."""

PAGES: Mapping[str, Callable[[Account, str], str]] = {
    "html": page.page,
    "junit": lambda account, read: page.junit(account),
    "md": lambda account, read: page.markdown(account),
    "verdicts": lambda account, read: "".join(f"{line}\n" for line in account.verdicts()),
}


@dataclass
class Run:
    """paths: to read; reports: kinds of files, and where they go."""

    paths: Sequence[str]
    options: ValidateOptions
    reports: Sequence[tuple[str, Path]]
    as_json: bool
    quiet: bool
    tally: Tally = field(default_factory=Tally)

    def run(self) -> int:
        """Read, judge, tell, write; the exit code. Errors: UsageError."""
        self.options.checked()
        try_files([path for _, path in self.reports], "name another path in --report")
        known = dict(map(setting, self.options.settings))
        terms = Terms(
            PROFILES[self.options.profile],
            broker_config(known),
            replace(LIMITS, forgives=self.options.forgive),
            fresh=self.options.fresh,
            durable=self.options.durable,
            looks_every=looks_every(known),
            since=self.options.start(),
            group=self.options.group,
            assumed=frozenset(DEFAULTS) - known.keys(),
        )
        clusters = Clusters(terms)
        try:
            self._read(clusters)
        except ReadingError as error:
            raise UsageError(str(error), USAGE if error.there else UNDECIDED) from error
        account = clusters.end()
        seen, told = account.events, self.tally.events
        assert seen == told, f"of {told} events {seen} are accounted for"
        account.quarantined += self.tally.broken - self.tally.also_told
        assumed = {name: str(value) for name, value in DEFAULTS.items() if name not in known}
        account.assumed = {"profile": self.options.profile} | assumed
        return self._conclude(clusters, account)

    def _read(self, clusters: Clusters) -> None:
        line = LiveLine(sys.stderr, silent=self.quiet)
        try:
            events = read_by_cluster(self.paths, options=self.options.reading(), tally=self.tally)
            for number, (cluster, event) in enumerate(events):
                clusters.take(cluster, event)
                if number % EVERY == 0:
                    line.show(lambda: f"validate: {counted(self.tally.events, 'event')} read")
        finally:
            line.clear()

    def _conclude(self, clusters: Clusters, account: Account) -> int:
        read = what_was_read(self.tally)
        if self.as_json:
            click.echo(json.dumps(self._json(clusters, account), indent=2))
        elif not account.groups:
            say(f"nothing about groups was found in {read}; give recordings of `rota record`, captures, a "
                "coordinator's log or the offsets topic, or name what it is with --format")  # fmt: skip
        elif self.quiet:
            click.echo(telling.verdict(account))
        else:
            for line in telling.lines(account, clusters, read):
                click.echo(line)
            for kind, path in self.reports:
                click.echo(f"{kind}: {path}")
            click.echo(telling.verdict(account))
        code = EXIT_CODES[account.verdict] if account.groups else NOTHING
        return keep({path: PAGES[kind](account, read) for kind, path in self.reports}, code)

    def _json(self, clusters: Clusters, account: Account) -> dict[str, object]:
        settings = {
            "profile": self.options.profile,
            "fresh": self.options.fresh,
            "forgive": self.options.forgive,
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
