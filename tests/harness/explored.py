"""Configurations of small, each explored once for all tests that look at what it comes to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import pytest

from rota.environment.broker.coordinator import Broker
from rota.environment.broker.offsets import OffsetsKeeper
from rota.explore.fast import engine as fast
from rota.explore.result import Result
from rota.mutants import system
from rota.scopes import load
from rota.spec import ErrorCode

SMALL = load("small")

TELLING = {
    "kafka-4.x": (
        "core",
        "no-common-protocol",
        "full",
        "crash-static-full",
        "same-instance",
        "raw",
        "raw-static",
        "raw-offsets",
        "raw-offsets-static",
        "raw-append",
        "raw-move",
        "append-timeout",
        "append-too-large",
    ),
    "kafka-3.x": ("append-timeout", "append-too-large"),
}
"""Configurations that together give every answer, by profile."""

Answers = Mapping[str, set[str]]
"""Kind of answer -> the error codes that it was given with."""

_told: dict[tuple[str, str], Answers] = {}


@cache
def explored(name: str, profile: str) -> Result:
    """What the fast engine says of a configuration."""
    if name not in TELLING.get(profile, ()):
        return _explored(name, profile)
    with _noted() as answers:
        result = _explored(name, profile)
    _told[name, profile] = answers
    return result


def answers(name: str, profile: str) -> Answers:
    """What is answered in one of those that are TELLING."""
    explored(name, profile)
    return _told[name, profile]


def _explored(name: str, profile: str) -> Result:
    return fast.explore(system(SMALL.configuration(name).settings_for(profile)))


@contextmanager
def _noted() -> Iterator[dict[str, set[str]]]:
    """What the broker answers meanwhile."""
    found: dict[str, set[str]] = defaultdict(set)

    def noting(fold: Any) -> Any:
        def folded(self: Any, value: Any, step: Any, *rest: Any, **named: Any) -> Any:
            outcome = fold(self, value, step, *rest, **named)
            for message in (send.message for send in outcome.sends if send.to.startswith("client/")):
                kind = type(message).__name__
                if kind.endswith("Reply"):
                    found[kind] |= {code.name for code in codes(message)}
            return outcome

        return folded

    with pytest.MonkeyPatch.context() as patch:
        for machine in (Broker, OffsetsKeeper):
            patch.setattr(machine, "_fold", noting(machine._fold))
        yield found


def codes(value: Any) -> Iterator[ErrorCode]:
    """All error codes in an answer, at any depth."""
    if isinstance(value, ErrorCode):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from codes(getattr(value, field.name))
    elif isinstance(value, tuple):
        for each in value:
            yield from codes(each)
