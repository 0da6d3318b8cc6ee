"""What can be judged: an address, rota's server, Apache Kafka, the mock inside confluent-kafka, a command."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Protocol

from rota.conformance import mock
from rota.conformance.kafka import Brokers
from rota.conformance.kafka_jars import RELEASES, missing
from rota.conformance.model import INITIAL_DELAY, MAX_SIZE, MIN_SESSION, RETENTION, RETENTION_CHECK, Script
from rota.conformance.process import NotStarted, Process
from rota.coordinator import GroupCoordinator
from rota.server import running
from rota.server.broker import CoordinatorFactory
from rota.server.settings import SettingsError

DEFAULTS = {
    INITIAL_DELAY: 3000,
    MIN_SESSION: 6000,
    MAX_SIZE: 2**31 - 1,
    RETENTION: 10_080,
    RETENTION_CHECK: 600_000,
}
"""Kafka's defaults, taken for targets whose settings are not known."""

PLANNED = ("kfake", "tansu")
"""Names of the target grammar that cannot be started yet."""

START_SECONDS = 30.0
"""How long a process may take until it listens."""


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


class NotSettable(Exception):
    """The target has no such setting."""


@dataclass(frozen=True)
class Target:
    """Something to judge.

    `start(settings)` gives a running target, a fresh one for each dialogue where `fresh`. `settable` says
    whether it heeds the settings; else `known` are those that it is known to run with. So many as `parallel`
    dialogues may run at a time. `close` ends what was started and is shared.
    """

    name: str
    start: Callable[[Mapping[str, int]], Running]
    fresh: bool
    parallel: int
    settable: bool = False
    known: Mapping[str, int] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None

    def settings_for(self, script: Script) -> dict[str, int]:
        """The settings that the dialogue is played with; the initial rebalance delay is always among them."""
        if self.settable:
            return {INITIAL_DELAY: script.initial_delay_ms, **script.settings}
        return {**DEFAULTS, **self.known}

    def lack(self, script: Script) -> str:
        """Which setting the dialogue needs and the target does not have; empty if it has them all."""
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


def parse_target(text: str, settings: Mapping[str, int] | None = None) -> Target:
    """The target that a text of the grammar names; nothing is started.

    `settings` are broker settings that the target is known to run with.
    Raises `TargetError` for what is not in the grammar or cannot be started here.
    """
    known = settings or {}
    if text == "rota":
        return Target("rota", Embedded, fresh=True, parallel=32, settable=True)
    if text in RELEASES:
        if (cause := missing(RELEASES[text])) is not None:
            raise TargetError(f"target {text} cannot be started: {cause[0]}; {cause[1]}", there=False)
        brokers = Brokers(RELEASES[text])
        return Target(text, brokers.start, fresh=False, parallel=16, settable=True, close=brokers.close)
    if text == "librdkafka-mock":
        if find_spec("confluent_kafka") is None:
            raise TargetError(
                "target librdkafka-mock needs confluent-kafka; install it: pip install 'rota[targets]'", False
            )
        delay = {INITIAL_DELAY: mock.INITIAL_DELAY_MS}
        return Target(text, _start_mock, fresh=True, parallel=32, known=delay)
    if text in PLANNED:
        raise TargetError(
            f"target {text} cannot be started yet; start it yourself and give --target HOST:PORT",
            there=False,
        )
    if text.startswith("cmd:"):
        return Target(text, _command(text[4:]), fresh=True, parallel=4, known=known)
    address = _address(text)
    return Target(text, lambda _: Remote(address), fresh=False, parallel=24, known=known)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        known = ", ".join(("rota", "librdkafka-mock", *RELEASES, *PLANNED))
        raise TargetError(f"unknown target {text!r}; use HOST:PORT, cmd:COMMAND {{port}}, or one of {known}")
    return host.strip("[]"), int(port)


class Remote:
    """A target that someone else runs."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address

    def post_mortem(self, grace: float) -> str | None:
        """It counts as dead when nothing accepts connections any more."""
        try:
            socket.create_connection(self.address, timeout=max(grace, 0.5)).close()
        except OSError as error:
            address = f"{self.address[0]}:{self.address[1]}"
            return f"nothing accepts connections at {address} any more ({error.strerror or error})"
        return None

    def stop(self) -> None:
        """Not ours to end."""


class Embedded(Remote):
    """rota's own server, in a thread of this process; `coordinator` makes its coordinator."""

    def __init__(
        self, settings: Mapping[str, int], coordinator: CoordinatorFactory = GroupCoordinator
    ) -> None:
        self._stack = ExitStack()
        try:
            address = self._stack.enter_context(running(settings, coordinator=coordinator))
        except SettingsError as error:
            raise NotSettable(str(error).split(";")[0]) from error
        super().__init__(_address(address))
        self._dead = False

    def post_mortem(self, grace: float) -> str | None:
        """As for any address; a server that has ended is not waited for again."""
        obituary = super().post_mortem(grace)
        self._dead = obituary is not None
        return obituary

    def stop(self) -> None:
        """End the server; what made it fail is raised unless the verdict is already that it died."""
        with suppress(Exception) if self._dead else nullcontext():
            self._stack.close()


class Started:
    """A target that is a process of ours."""

    def __init__(self, process: Process, address: tuple[str, int]) -> None:
        self._process = process
        self.address = address

    def post_mortem(self, grace: float) -> str | None:
        """As `Process.post_mortem`."""
        return self._process.post_mortem(grace)

    def stop(self) -> None:
        """End the process."""
        self._process.stop()


def _start_mock(_settings: Mapping[str, int]) -> Started:
    process = Process((sys.executable, "-m", "rota.conformance.mock"), stdout=subprocess.PIPE)
    try:
        host, port = process.first_line(within=START_SECONDS).split()
        return Started(process, (host, int(port)))
    except (NotStarted, ValueError) as error:
        process.stop()
        raise NotStarted(str(error)) from error


def _command(template: str) -> Callable[[Mapping[str, int]], Started]:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise TargetError(f"cannot read {template!r}: {error}; quote it as for a shell") from error
    if not words or not any("{port}" in word for word in words):
        raise TargetError(f"the command {template!r} names no {{port}}; say where it gets its port from")

    def start(_settings: Mapping[str, int]) -> Started:
        address = ("127.0.0.1", _free_port())
        process = Process([word.replace("{port}", str(address[1])) for word in words])
        try:
            process.listens(address, within=START_SECONDS)
        except NotStarted:
            process.stop()
            raise
        return Started(process, address)

    return start


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
