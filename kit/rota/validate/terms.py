"""By what recorded histories are judged, and what was assumed for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rota.linearise import Limits
from rota.spec import KAFKA_4, BrokerConfig, Profile

FORGIVEN = 2.0
"""Seconds by which a coordinator may be late without a violation: brokers collect garbage, disks wait."""

LIMITS = Limits(narrow=True, forgives=FORGIVEN)


@dataclass(frozen=True)
class Terms:
    """profile and config, of the coordinator; lateness: seconds by which recorded moments may be too late, or
    the recorder's own; fresh: whether the groups did not exist before the first event; looks: whether the
    coordinator may look for what has expired; since: what is before that second is passed over; assumed: the
    broker's settings that nobody gave, by name.
    """

    profile: Profile = KAFKA_4
    config: BrokerConfig = field(default_factory=BrokerConfig)
    limits: Limits = LIMITS
    lateness: float = 0.05
    fresh: bool = False
    looks: bool = True
    since: float | None = None
    group: str = ""
    assumed: frozenset[str] = frozenset()
