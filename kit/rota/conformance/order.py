"""In which order dialogues begin, of which several are played at a time."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from typing import TypeVar

from rota.conformance.dialogues.script import Script
from rota.conformance.targets.target import Target

START_SECONDS = 10.0
"""What a target takes until it can be asked, where several dialogues share one: a broker of Apache Kafka."""

S = TypeVar("S", bound=Script)


def in_order(scripts: Iterable[S], target: Target, seed: int) -> list[S]:
    """The longest first, of these those with most members, equals in an order drawn from the seed.

    The first of those that share a started target takes so much longer as the start does: last of all it
    would have the run wait for it.
    """
    left = list(scripts)
    random.Random(seed).shuffle(left)
    left.sort(key=lambda script: (-script.seconds, -script.spare))
    if target.fresh:
        return left
    starting = {_shared(script, target): script.id for script in reversed(left)}
    return sorted(left, key=lambda script: -_seconds(script, script.id == starting[_shared(script, target)]))


def _seconds(script: Script, starts: bool) -> float:
    return script.seconds + START_SECONDS * starts


def _shared(script: Script, target: Target) -> Hashable:
    """What those have in common that are played on one started target."""
    settings = {**target.settings_for(script), **script.settings_after}
    return frozenset(settings.items()), script.restarts, script.brokers
