"""By what recorded histories are judged, and what was assumed for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rota.conformance.dialogues.broker_settings import RETENTION_CHECK
from rota.generate.settings import looks_every_ms
from rota.linearise import Limits
from rota.linearise.looks import Looks, looks_of
from rota.linearise.times import Span
from rota.spec import KAFKA_4, BrokerConfig, Profile

FORGIVEN = 2.0
"""Seconds by which a coordinator may be late without a violation: brokers collect garbage, disks wait."""

LIMITS = Limits(narrow=True, forgives=FORGIVEN)


def looks_every(settings: Mapping[str, int]) -> float | None:
    """Seconds between two looks of a broker for what has expired; None where that is not among its settings,
    or is too seldom to be followed."""
    every = looks_every_ms(settings) if RETENTION_CHECK in settings else None
    return None if every is None else every / 1000


@dataclass(frozen=True)
class Start:
    """That the broker was started, as its log or whoever runs it tells. at: when, seconds since 1970; config:
    by what it runs from then on."""

    at: Span
    config: BrokerConfig


@dataclass(frozen=True)
class Terms:
    """profile and config, of the coordinator; lateness: seconds by which recorded moments may be too late, or
    the recorder's own; fresh: whether the groups did not exist before the first event; looks: whether the
    coordinator may look for what has expired, as Kafka does every ten minutes; looks_every: seconds between
    two such looks, where that is known; durable: whether the log loses nothing, and a coordinator that is
    started anew is set as before, if nothing else is told; starts: all that there were, in their order, where
    they are told: the last one before the frames, and those since then; reauthenticates: whether the broker
    ends connections of clients that do not authenticate again; since, until: what is before or after these
    seconds is passed over, and with `until` all ends; assumed: the broker's settings that nobody gave, by
    name.
    """

    profile: Profile = KAFKA_4
    config: BrokerConfig = field(default_factory=BrokerConfig)
    limits: Limits = LIMITS
    lateness: float = 0.05
    fresh: bool = False
    looks: bool = True
    looks_every: float | None = None
    durable: bool = False
    starts: tuple[Start, ...] = ()
    reauthenticates: bool = False
    since: float | None = None
    until: float | None = None
    group: str = ""
    assumed: frozenset[str] = frozenset()

    def looking(self, began: float) -> Looks | None:
        """When it looks for what has expired, None where nobody knows. began: when frames do."""
        earlier = [one.at for one in self.starts if one.at.earliest <= began]
        return looks_of(self.profile, self.looks_every, earlier[-1] if earlier else None)

    def within(self, at: float) -> bool:
        """Whether a moment is of the time that was asked for."""
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)

    def ends(self, at: float) -> float:
        """When all ends, if the last event is of that moment."""
        return at if self.until is None else min(at, self.until)
