"""Known weaknesses: which brokers have them, and where a check must find them anew.

The sentences stand beside the properties of their kind (`safety`, `steps`, `liveness`); this is the list of
whom each is true of. A sentence that a profile's brokers do not break is a property like all others there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment.world import DEFAULTS, Observed, observed
from rota.invariants import liveness, safety
from rota.kernel import Liveness, Property
from rota.spec import PROFILES


@dataclass(frozen=True)
class Weakness:
    """A sentence that one would wish to hold.

    sentence; profiles: whose brokers break it; cause: whether a configuration allows what it takes.
    """

    sentence: Property | Liveness
    profiles: tuple[str, ...]
    cause: Callable[[Observed], bool]

    @property
    def name(self) -> str:
        """The sentence's."""
        return self.sentence.name

    def known_in(self, profile: str) -> bool:
        """Whether brokers of a profile break it."""
        return profile in self.profiles


def _a_request_is_late(seen: Observed) -> bool:
    """A connection may break: its request may arrive after that of the next connection."""
    return bool(seen.budget.get("fault") or seen.budget.get("break"))


EVERY = tuple(PROFILES)

_SENTENCES: Mapping[str, Property | Liveness] = {
    one.name: one for one in (*safety.KNOWN_WEAKNESSES, *liveness.KNOWN_WEAKNESSES)
}

_ABOUT: Mapping[str, tuple[tuple[str, ...], Callable[[Observed], bool]]] = {
    "weakness.replaced-request-unanswered": (EVERY, _a_request_is_late),
    "weakness.replaced-request-waits": (EVERY, _a_request_is_late),
}
"""Sentence -> (profiles whose brokers break it, its cause)."""

WEAKNESSES: tuple[Weakness, ...] = tuple(Weakness(one, *_ABOUT[name]) for name, one in _SENTENCES.items())
"""All of them, in the order of their sentences."""


def known_weaknesses(profile: str) -> tuple[Weakness, ...]:
    """Those of a profile's brokers."""
    return tuple(one for one in WEAKNESSES if one.known_in(profile))


def caused(settings: Mapping[str, Any]) -> tuple[tuple[Weakness, bool], ...]:
    """Those whose cause the settings of a world allow, each with whether its profile's brokers break it."""
    seen = observed(settings)
    profile = {**DEFAULTS, **settings}["profile"]
    return tuple((one, one.known_in(profile)) for one in WEAKNESSES if one.cause(seen))
