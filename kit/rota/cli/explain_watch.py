"""`rota explain --bootstrap`: what can be known of groups by asking their coordinator, and by what is on
record."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from rota.cli.errors import HOLDS, NOTHING, UNDECIDED, UsageError, nearly, say
from rota.cli.explain_options import ExplainOptions
from rota.conformance.connections.security import SecureAddress
from rota.conformance.targets.preflight import NoBroker, see_whether_it_is_kafka
from rota.explain.watching import REBALANCING, Asker, Unasked, Watched
from rota.history import Event, Kind
from rota.log.data_folder import partition_of
from rota.offsets_topic import TopicUnreadable, Wanted, read_topic
from rota.reading import ReadingError, read
from rota.report.format import counted, wrapped

EVERY = 1.0
"""Seconds between two looks."""

PARTITIONS = 50
"""Of the offsets topic, as brokers make it; another number shows in that the group is not found in its
partition."""

OTHER = (
    "group {} is a {} group: its coordinator assigns partitions to one member after the other, and no "
    "rebalance stops all of them; rota explains classic groups"
)

TIMEOUT = "max.poll.interval.ms"


@dataclass
class Watching:
    """paths: logs that may tell more; options: as given."""

    paths: tuple[str, ...]
    options: ExplainOptions
    as_json: bool
    quiet: bool
    watched: dict[str, Watched] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def run(self) -> int:
        """Ask, tell; the exit code. Errors: UsageError."""
        asker = Asker(self._address(), self.options.patience)
        try:
            see_whether_it_is_kafka(self._address(), self.options.patience)
            groups = self._groups(asker)
            self.notes += [f"{one}: which groups that broker has is not known" for one in asker.unasked]
            if not groups:
                return self._concluded()
            for group in groups:
                self.watched[group] = Watched(group)
            self._look(asker)
            self._from_record()
            if self.options.follow:
                self._follow(asker)
        except NoBroker as error:
            raise UsageError(str(error), UNDECIDED) from error
        except Unasked as error:
            if self.watched:
                self._concluded()  # what was seen until then
            raise UsageError(str(error), UNDECIDED) from error
        except KeyboardInterrupt:
            self._concluded()
            raise
        return self._concluded()

    def _groups(self, asker: Asker) -> list[str]:
        """Those that are asked for; without any, those that rebalance now. Errors: UsageError."""
        there = asker.groups()
        if not self.options.groups:
            return sorted(name for name, one in there.items() if one.classic and one.state in REBALANCING)
        others = {name for name in self.options.groups if name in there and not there[name].classic}
        self.notes += [OTHER.format(name, there[name].type.lower()) for name in sorted(others)]
        return [name for name in self.options.groups if name not in others]

    def _look(self, asker: Asker) -> None:
        for group, one in self.watched.items():
            said = one.take(asker.describe(group, time.time()))
            self._aloud(said if self.options.follow else [])

    def _follow(self, asker: Asker) -> None:
        seconds = self.options.seconds
        ends = None if seconds is None else time.monotonic() + seconds
        while ends is None or time.monotonic() < ends:
            time.sleep(EVERY if ends is None else min(EVERY, max(ends - time.monotonic(), 0.0)))
            self._look(asker)

    def _aloud(self, lines: list[str]) -> None:
        if not (self.as_json or self.quiet):
            for line in lines:
                click.echo(line)

    # ---- what is on record

    def _from_record(self) -> None:
        """Timeouts and joins from logs that are given, else timeouts from the offsets topic."""
        for event in self._told():
            one = self.watched.get(event.group)
            if one is not None:
                _taken(one, event)
        address = self._address()
        for group, one in self.watched.items():
            if one.longest_ms is None and one.now is not None and one.now.state in REBALANCING:
                wanted = Wanted(
                    partitions=frozenset({partition_of(group, PARTITIONS)}), patience=self.options.patience
                )
                self._topic(address, wanted, one)

    def _topic(self, address: tuple[str, int], wanted: Wanted, one: Watched) -> None:
        try:
            for event in read_topic(address, wanted):
                if event.group == one.group:
                    _taken(one, event)
        except TopicUnreadable as error:
            if wanted.partitions and "has no partition" in str(error):
                self._topic(address, Wanted(patience=wanted.patience), one)
                return
            self.notes.append(f"the offsets topic was not read: {error}")

    def _told(self) -> list[Event]:
        """What logs tell of these groups."""
        if not self.paths:
            return []
        try:
            return [
                event
                for event in read(self.paths, options=self.options.reading())
                if event.group in self.watched
            ]
        except ReadingError as error:
            raise UsageError(str(error)) from error

    # ---- telling

    def _concluded(self) -> int:
        if not self.watched:
            return self._nobody() if not self.options.groups else self._others()
        gone = [one for one in self.watched.values() if one.now is not None and one.now.state == "Dead"]
        if len(gone) == len(self.watched):
            return self._absent(gone)
        if self.as_json:
            click.echo(json.dumps(self._as_json(), indent=2))
            return HOLDS
        for one in self.watched.values():
            click.echo(wrapped("", one.headline))
            if not self.quiet:
                for line in (*one.lines(), *one.members()):
                    click.echo(wrapped("  ", line))
        for note in self.notes:
            click.echo(wrapped("note: ", note))
        click.echo(
            f"asked: {counted(len(self.watched), 'group')} at {self.options.bootstrap}; nothing was "
            f"changed there"
        )
        return HOLDS

    def _nobody(self) -> int:
        if self.as_json:
            click.echo(json.dumps(self._as_json(), indent=2))
        else:
            for note in self.notes:
                click.echo(wrapped("note: ", note))
            click.echo(
                f"no group rebalances at {self.options.bootstrap}; with --group one is looked at whatever "
                f"it does"
            )
        return HOLDS

    def _others(self) -> int:
        """All that were asked for are groups of another kind."""
        if self.as_json:
            click.echo(json.dumps(self._as_json(), indent=2))
        for note in self.notes:
            say(note)
        return NOTHING

    def _absent(self, gone: list[Watched]) -> int:
        names = ", ".join(one.group for one in gone)
        there = sorted(Asker(self._address(), self.options.patience).groups())
        some = f"there are {', '.join(there[:5])}" if there else "there is none"
        say(f"no group {names} at {self.options.bootstrap}; {nearly(gone[0].group, there)}{some}")
        return NOTHING

    def _as_json(self) -> Mapping[str, Any]:
        return {
            "schema": 1,
            "verdict": "asked",
            "bootstrap": self.options.bootstrap,
            "groups": [_group_json(one) for one in self.watched.values()],
            "notes": self.notes,
        }

    def _address(self) -> tuple[str, int]:
        """Where brokers are, and how they are spoken to. Errors: UsageError."""
        text = self.options.bootstrap or ""
        host, _, port = text.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageError(f"--bootstrap {text!r} is no address; write HOST:PORT")
        return SecureAddress(host.strip("[]"), int(port), self.options.security())


def _taken(one: Watched, event: Event) -> None:
    """What is on record, or has been told, about a group."""
    if event.kind is Kind.GROUP_STORED:
        members = event.data.get("members")
        listed = [each for each in members if isinstance(each, dict)] if isinstance(members, list) else []
        timeouts = {
            str(each.get("member")): each["rebalance_ms"] for each in listed if each.get("rebalance_ms")
        }
        one.record(timeouts, event.origin)
    elif event.kind is Kind.CLIENT_STARTED:
        settings = event.data.get("settings")
        value = settings.get(TIMEOUT) if isinstance(settings, dict) else None
        if value is not None and str(value).isdigit():
            one.record({event.client: int(str(value))}, event.origin)
    elif event.kind is Kind.JOINING and event.member:
        one.joined |= {event.member}
    elif event.kind in (Kind.WAS_JOINED, Kind.SYNCED):
        one.joined = frozenset()  # that join phase is over


def _group_json(one: Watched) -> Mapping[str, Any]:
    now = one.now
    return {
        "group": one.group,
        "state": None if now is None else now.state,
        "error": "" if now is None else now.error,
        "sentence": one.headline,
        "first_seen": one.first,
        "in_state_since": one.since if one.whole else None,
        "in_state_at_least_since": one.since,
        "members": []
        if now is None
        else [{"member": member, "where": where} for member, where in now.members.items()],
        "awaited": one.awaited,
        "awaited_exactly": len(one.awaited) == 1,
        "latest_end": one.latest_end,
        "longest_rebalance_ms": one.longest_ms,
        "on_record": one.on_record,
    }
