"""What a target is: how it is started, with which settings, and what a running one can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rota.conformance.dialogues.broker_settings import (
    CONSUMER_HEARTBEAT,
    CONSUMER_INTERVAL,
    CONSUMER_MAX_SIZE,
    CONSUMER_MIN_HEARTBEAT,
    CONSUMER_MIN_SESSION,
    CONSUMER_SESSION,
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MAX_SIZE,
    MIN_SESSION,
    RETENTION,
    RETENTION_CHECK,
)
from rota.conformance.dialogues.habits import Habits
from rota.conformance.dialogues.script import Script, Signal

DEFAULTS = {
    INITIAL_DELAY: 3000,
    MIN_SESSION: 6000,
    MAX_SESSION: 1_800_000,
    MAX_SIZE: 2**31 - 1,
    RETENTION: 10_080,
    RETENTION_CHECK: 600_000,
    MAX_METADATA: 4096,
    CONSUMER_SESSION: 45_000,
    CONSUMER_MIN_SESSION: 45_000,
    CONSUMER_HEARTBEAT: 5_000,
    CONSUMER_MIN_HEARTBEAT: 5_000,
    CONSUMER_MAX_SIZE: 2**31 - 1,
    CONSUMER_INTERVAL: 1_000,
}
"""Kafka's defaults, taken for targets whose settings are not known."""


class TargetError(ValueError):
    """A target that cannot be used; `there` is False where the name is right but nothing is there."""

    def __init__(self, message: str, there: bool = True) -> None:
        super().__init__(message)
        self.there = there


class Running(Protocol):
    """A target that runs."""

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""

    def post_mortem(self, grace: float) -> str | None:
        """How it died, or None if it lives; waits up to `grace` seconds for a death that is under way."""

    def stop(self) -> None:
        """End it, if it was started for the case."""


class Restartable(Running, Protocol):
    """A running target that can be restarted with what it has stored."""

    def end(self, address: tuple[str, int], go_on: Callable[[], None], how: Signal | None = None) -> None:
        """End it as was said when it was started, or in another way; of a cluster, the broker at the address.

        What is shared ends when all who have it want that; until then `go_on` is called, which may raise.
        Errors: NotStarted for what does not end.
        """

    def start_again(self) -> None:
        """Start it again with what it has stored, at the same address. Errors: NotStarted.

        Returns when it listens, before it coordinates. Of a cluster the other brokers go on instead.
        """


class NotSettable(Exception):
    """The target has no such setting."""


@dataclass(frozen=True)
class Target:
    """Something to judge.

    `start(settings)` gives a running target, a fresh one for each dialogue where `fresh`. `settable` says
    whether it heeds the settings, else `heeds` names those that it heeds. Of the others `known` are those
    that somebody said it runs with, `read` those that it said itself. So many as `parallel` dialogues may run
    at a time. `close` ends what was started and is shared. `restarting` gives what a dialogue can end, in the
    one way that is named, and start again: only such dialogues have a part in it. `changing` gives one that
    only this dialogue has, and that is started again with the second settings. `cluster` gives three brokers,
    of which the one that coordinates can be ended where a way is named. `habits` are what was seen of it.
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
    restarting: Callable[[Mapping[str, int], Signal], Restartable] | None = None
    changing: Callable[[Mapping[str, int], Mapping[str, int], Signal], Restartable] | None = None
    cluster: Callable[[Mapping[str, int], Signal | None], Running] | None = None
    habits: Habits = field(default_factory=Habits, compare=False)

    def start_for(self, script: Script) -> Running:
        """A running target as the dialogue needs it. Errors: NotStarted, NotSettable."""
        settings = self.settings_for(script)
        if script.brokers > 1 and self.cluster is not None:
            return self.cluster(settings, script.restarts)
        if script.restarts is not None and script.settings_after and self.changing is not None:
            return self.changing(settings, {**settings, **script.settings_after}, script.restarts)
        if script.restarts is not None and self.restarting is not None:
            return self.restarting(settings, script.restarts)
        return self.start(settings)

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
        if script.brokers > 1 and self.cluster is None:
            return f"needs a cluster of {script.brokers} brokers"
        if script.brokers == 1 and script.restarts is not None and self.restarting is None:
            return "needs a target that can be restarted with its data"
        if script.settings_after and self.changing is None:
            return "needs a target that can be restarted with other settings"
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
