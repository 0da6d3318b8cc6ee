"""Known weaknesses: which brokers have them, and where a check must find them anew.

The sentences stand beside the properties of their kind; this is the list of whom each is true of. Many are
the strong form of a property that does hold. Where a profile's brokers do not break one, or where nothing of
what it takes is in a configuration, it is a property like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment.world import DEFAULTS
from rota.invariants import crowd, liveness, owners, safety
from rota.kernel import Liveness, Property
from rota.spec import PROFILES
from rota.spec.join import HANDSHAKE_SINCE

Chosen = Mapping[str, Any]
"""All settings of a world, its budget as a mapping."""

Cause = Callable[[Chosen], bool | None]
"""Whether a configuration has what a weakness takes.

True: it must be found anew; False: it cannot be there; None: it may or may not, and nothing is said.
"""


@dataclass(frozen=True)
class Weakness:
    """A sentence that one would wish to hold. profiles: whose brokers break it; cause: where they do."""

    sentence: Property | Liveness
    profiles: tuple[str, ...]
    cause: Cause

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


def _two(chosen: Chosen) -> bool:
    """Whether there are two clients that may be in a group together."""
    lists = chosen["protocols"]
    return len(lists) > 1 and bool(set(lists[0]).intersection(*lists[1:]))


def _instances(chosen: Chosen) -> list[str]:
    return [instance for instance in chosen["instances"] if instance]


def _a_request_is_late(chosen: Chosen) -> bool:
    """A connection may break: its request may arrive after that of the next connection."""
    return _any_of(chosen, "break")


def _somebody_is_late(chosen: Chosen) -> bool | None:
    """A client may be taken for dead, or be left behind by a rebalance; another gets what it had."""
    if not _two(chosen):
        return False
    if _any_of(chosen, "late"):
        return True
    return None if _instances(chosen) or _any_of(chosen, "break", "failover") else False


def _an_id_is_left(chosen: Chosen) -> bool | None:
    """An id may be handed out and not used: its client vanishes, or its answer is lost; others wait."""
    clients = len(chosen["protocols"])
    versions = chosen["join_versions"] or (chosen["join_version"],) * clients
    instances = chosen["instances"] or ("",) * clients
    asked = [version >= HANDSHAKE_SINCE and not i for version, i in zip(versions, instances, strict=True)]
    if not any(asked) or not _any_of(chosen, "crash", "break", "failover"):
        return False
    return True if _two(chosen) and all(asked) and _any_of(chosen, "crash") else None


EVERY = tuple(PROFILES)
WITH_HANDSHAKE = tuple(profile.name for profile in PROFILES.values() if profile.member_id_handshake)

_SENTENCES: Mapping[str, Property | Liveness] = {
    one.name: one for part in (safety, owners, crowd, liveness) for one in part.KNOWN_WEAKNESSES
}

_ABOUT: Mapping[str, tuple[tuple[str, ...], Cause]] = {
    "weakness.replaced-request-unanswered": (EVERY, _a_request_is_late),
    "weakness.taken-for-dead-and-consuming": (EVERY, _somebody_is_late),
    "weakness.unused-id-holds-up": (WITH_HANDSHAKE, _an_id_is_left),
    "weakness.replaced-request-waits": (EVERY, _a_request_is_late),
}
"""Sentence -> (profiles whose brokers break it, its cause)."""

STRONG_FORMS: Mapping[str, str] = {
    "weakness.replaced-request-unanswered": "parked.iff-waiting",
    "weakness.taken-for-dead-and-consuming": "sync.one-owner",
    "weakness.unused-id-holds-up": "join.pending-ids-end",
    "weakness.replaced-request-waits": "parked.answered-in-the-end",
}
"""Sentence -> the property that does hold and of which it is the strong form."""

WEAKNESSES: tuple[Weakness, ...] = tuple(Weakness(one, *_ABOUT[name]) for name, one in _SENTENCES.items())
"""All of them, in the order of their sentences."""


def known_weaknesses(profile: str) -> tuple[Weakness, ...]:
    """Those of a profile's brokers."""
    return tuple(one for one in WEAKNESSES if one.known_in(profile))


def judged(settings: Mapping[str, Any]) -> tuple[tuple[Weakness, bool], ...]:
    """Those of which something is said under these settings of a world: whether it is to be found anew."""
    chosen = {**DEFAULTS, **settings}
    chosen["budget"] = dict(chosen["budget"])
    causes = ((one, one.cause(chosen) if one.known_in(chosen["profile"]) else False) for one in WEAKNESSES)
    return tuple((one, cause) for one, cause in causes if cause is not None)
