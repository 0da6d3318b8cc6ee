"""Targets at an address: one that someone else runs, and rota's own server in a thread of this process."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress

from rota.conformance.dialogues.broker_settings import CONSUMER_INTERVAL
from rota.conformance.targets.target import NotSettable
from rota.coordinator import GroupCoordinator
from rota.server import SERVED, USUAL, running
from rota.server.broker import CoordinatorFactory
from rota.server.settings import SettingsError

LETTER = "kafka-4.x"

AT_ONCE = {CONSUMER_INTERVAL: 0}
"""What a case finds that asks for nothing else: a new target of a consumer group does not wait."""


def served_as(profile: str) -> str:
    """As what rota's own server is started to be judged by a profile."""
    return profile if profile in SERVED else LETTER


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
    """rota's own server, in a thread of this process; `coordinator` makes its coordinator.

    profile: what it is asked to be; where that is not rota, its coordinator is Kafka 4's to the letter.
    """

    def __init__(
        self,
        settings: Mapping[str, int],
        coordinator: CoordinatorFactory = GroupCoordinator,
        profile: str = USUAL,
    ) -> None:
        served = served_as(profile)
        self._stack = ExitStack()
        try:
            started = running({**AT_ONCE, **settings}, coordinator=coordinator, profile=served)
            address = self._stack.enter_context(started)
        except SettingsError as error:
            raise NotSettable(str(error).split(";")[0]) from error
        host, _, port = address.rpartition(":")
        super().__init__((host, int(port)))
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
