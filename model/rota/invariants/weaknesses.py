"""Known weaknesses: which brokers have them, and where a check must find them anew.

The sentences stand beside the properties of their kind (`safety`, `steps`, `liveness`); this is the list of
whom each is true of. A sentence that a profile's brokers do not break is a property like all others there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment.world import DEFAULTS
from rota.invariants import crowd, liveness, safety
from rota.kernel import Liveness, Property
from rota.spec import PROFILES
from rota.spec.join import HANDSHAKE_SINCE

Chosen = Mapping[str, Any]
"""All settings of a world, its budget as a mapping."""


@dataclass(frozen=True)
class Weakness:
    """A sentence that one would wish to hold.

    sentence; profiles: whose brokers break it; cause: whether a configuration allows what it takes. Where
    either is not so it is a property like all others.
    """

    sentence: Property | Liveness
    profiles: tuple[str, ...]
    cause: Callable[[Chosen], bool]

    @property
    def name(self) -> str:
        """The sentence's."""
        return self.sentence.name

    def known_in(self, profile: str) -> bool:
        """Whether brokers of a profile break it."""
        return profile in self.profiles


def _any_of(chosen: Chosen, *kinds: str) -> bool:
    """Whether the budget allows one of these faults, by name or as any fault."""
    return any(chosen["budget"].get(kind) for kind in ("fault", *kinds))


def _a_request_is_late(chosen: Chosen) -> bool:
    """A connection may break: its request may arrive after that of the next connection."""
    return _any_of(chosen, "break")


def _an_id_is_left(chosen: Chosen) -> bool:
    """A client may vanish with an id that it was given and has not used, and another one waits."""
    return (
        len(chosen["protocols"]) > 1
        and chosen["join_version"] >= HANDSHAKE_SINCE
        and _any_of(chosen, "crash")
    )


EVERY = tuple(PROFILES)
WITH_HANDSHAKE = tuple(profile.name for profile in PROFILES.values() if profile.member_id_handshake)

_SENTENCES: Mapping[str, Property | Liveness] = {
    one.name: one for part in (safety, crowd, liveness) for one in part.KNOWN_WEAKNESSES
}

_ABOUT: Mapping[str, tuple[tuple[str, ...], Callable[[Chosen], bool]]] = {
    "weakness.replaced-request-unanswered": (EVERY, _a_request_is_late),
    "weakness.unused-id-holds-up": (WITH_HANDSHAKE, _an_id_is_left),
    "weakness.replaced-request-waits": (EVERY, _a_request_is_late),
}
"""Sentence -> (profiles whose brokers break it, its cause)."""

WEAKNESSES: tuple[Weakness, ...] = tuple(Weakness(one, *_ABOUT[name]) for name, one in _SENTENCES.items())
"""All of them, in the order of their sentences."""


def known_weaknesses(profile: str) -> tuple[Weakness, ...]:
    """Those of a profile's brokers."""
    return tuple(one for one in WEAKNESSES if one.known_in(profile))


def judged(settings: Mapping[str, Any]) -> tuple[tuple[Weakness, bool], ...]:
    """All of them, each with whether it is to be found anew under these settings of a world."""
    chosen = {**DEFAULTS, **settings}
    chosen["budget"] = dict(chosen["budget"])
    return tuple((one, one.known_in(chosen["profile"]) and one.cause(chosen)) for one in WEAKNESSES)
