"""What a target is: how it is started, with which settings, and what a running one can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rota.conformance.dialogues.broker_settings import (
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MAX_SIZE,
    MIN_SESSION,
    RETENTION,
    RETENTION_CHECK,
)
from rota.conformance.dialogues.script import Script

DEFAULTS = {
    INITIAL_DELAY: 3000,
    MIN_SESSION: 6000,
    MAX_SESSION: 1_800_000,
    MAX_SIZE: 2**31 - 1,
    RETENTION: 10_080,
    RETENTION_CHECK: 600_000,
    MAX_METADATA: 4096,
}
"""Kafka's defaults, taken for targets whose settings are not known."""


class TargetError(ValueError):
    """A target that cannot be used; `there` is False where the name is right but nothing is there."""

    def __init__(self, message: str, there: bool = True) -> None:
        super().__init__(message)
        self.there = there


class Running(Protocol):
    """A target that listens at `address`."""

    address: tuple[str, int]

    def post_mortem(self, grace: float) -> str | None:
        """How it died, or None if it lives; waits up to `grace` seconds for a death that is under way."""

    def stop(self) -> None:
        """End it, if it was started for the case."""


class Restartable(Running, Protocol):
    """A running target that can be restarted with what it has stored."""

    def restart(self, kill: bool) -> None:
        """End it, by SIGKILL if `kill`, else by SIGTERM, and start it again at the same address.

        Returns when it coordinates groups again. Errors: NotStarted.
        """


class NotSettable(Exception):
    """The target has no such setting."""


@dataclass(frozen=True)
class Target:
    """Something to judge.

    `start(settings)` gives a running target, a fresh one for each dialogue where `fresh`. `settable` says
    whether it heeds the settings, else `heeds` names those that it heeds. Of the others `known` are those
    that somebody said it runs with, `read` those that it said itself. So many as `parallel`
    dialogues may run at a time. `close` ends what was started and is shared. `restartable`: what is started
    for a dialogue that restarts it is `Restartable`, and nobody else's. `clusters`: it can have
    several brokers.
    """

    name: str
    start: Callable[[Mapping[str, int]], Running]
    fresh: bool
    parallel: int
    settable: bool = False
    heeds: frozenset[str] = frozenset()
    known: Mapping[str, int] = field(default_factory=dict)
    read: Mapping[str, int] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None
    restartable: bool = False
    clusters: bool = False

    def settings_for(self, script: Script) -> dict[str, int]:
        """The settings that the dialogue is played with; the initial rebalance delay is always among them."""
        if self.settable:
            return {INITIAL_DELAY: script.initial_delay_ms, **script.settings}
        heeded = {name: value for name, value in script.settings.items() if name in self.heeds}
        return {**DEFAULTS, **self.read, **self.known, **heeded}

    def origins(self) -> dict[str, str]:
        """The settings that cases depend on, each with its value and where we have that from."""
        if self.settable:
            return dict.fromkeys(DEFAULTS, "as each case needs it")
        return {name: self._origin(name) for name in DEFAULTS}

    def _origin(self, name: str) -> str:
        if name in self.heeds:
            return "as each case needs it"
        for where, word in ((self.known, "given"), (self.read, "read"), (DEFAULTS, "assumed")):
            if name in where:
                return f"{where[name]} ({word})"
        return "unknown"

    def lack(self, script: Script) -> str:
        """Which setting the dialogue needs and the target does not have; empty if it has them all."""
        if script.restarts and not self.restartable:
            return "needs a target that can be restarted"
        if script.brokers > 1 and not self.clusters:
            return f"needs a cluster of {script.brokers} brokers"
        if self.settable:
            return ""
        has = self.settings_for(script)
        if has[INITIAL_DELAY] < script.least_delay_ms:
            wanted = f"{INITIAL_DELAY} of at least {script.least_delay_ms}"
            return f"needs {wanted}, the target has {has[INITIAL_DELAY]}"
        for name, value in script.settings.items():
            if has[name] != value:
                return f"needs {name}={value}, the target has {has[name]}"
        return ""
