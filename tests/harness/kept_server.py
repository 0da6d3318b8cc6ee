"""rota's own server in a thread, with a folder that outlives it: as a target whose restarts cost nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from rota.conformance.dialogues.script import Signal
from rota.conformance.targets.remote import Embedded, Remote
from rota.conformance.targets.restarting import Alone
from rota.conformance.targets.target import Target
from rota.coordinator import GroupCoordinator
from rota.log import Fsync, LogOptions
from rota.server import DataDir, running
from rota.server.broker import CoordinatorFactory
from rota.server.storage import Storage

LETTER = "kafka-4.x"

SEGMENT = "offsets.topic.segment.bytes"
SMALL = {"offsets.topic.num.partitions": 1, SEGMENT: 1024}
"""A log in which there is soon something to compact."""


class KeptServer(Remote):
    """It can be ended in one way only, and takes a moment to start. One that does not keep forgets all."""

    keeps = True

    def __init__(
        self,
        settings: Mapping[str, int],
        coordinator: CoordinatorFactory = GroupCoordinator,
        profile: str = LETTER,
    ) -> None:
        self._settings = {**settings, **SMALL}
        self._coordinator, self._profile = coordinator, profile
        self._folder = tempfile.mkdtemp(prefix="rota-kept-")
        self._kept = DataDir(self._folder, Fsync.NEVER)
        self._stack = ExitStack()
        super().__init__(self._started(0))

    def end(self, _address: tuple[str, int], _how: Signal) -> None:
        """End it in good order, and compact what it has stored."""
        self._stack.close()
        if self.keeps:
            log = Storage.open(self._kept, 1, LogOptions(SMALL[SEGMENT], fsync=Fsync.NEVER))
            for _ in log.compacting():
                pass
            log.close()

    def add(self, settings: Mapping[str, int]) -> None:
        """Have these settings when it is started again."""
        self._settings |= settings

    def start_again(self) -> None:
        """Start it with its folder."""
        self._started(self.address[1])

    def stop(self) -> None:
        """End it and remove the folder."""
        self._stack.close()
        shutil.rmtree(self._folder)

    def _started(self, port: int) -> tuple[str, int]:
        kept = self._kept if self.keeps else None
        served = running(
            self._settings, port, coordinator=self._coordinator, data_dir=kept, profile=self._profile
        )
        host, _, bound = self._stack.enter_context(served).rpartition(":")
        return host, int(bound)


class TakenOver(Remote):
    """A server in whose place, when it is ended, there is another one with none of its groups."""

    def __init__(self, settings: Mapping[str, int]) -> None:
        self._first = KeptServer(settings)
        self._settings = settings
        self._second: KeptServer | None = None
        super().__init__(self._first.address)

    def end(self, address: tuple[str, int], how: Signal) -> None:
        """End the first one."""
        self._first.end(address, how)

    def start_again(self) -> None:
        """The other one, at an address of its own."""
        self._second = KeptServer(self._settings)
        self.address = self._second.address

    def stop(self) -> None:
        """End both."""
        for server in (self._first, self._second):
            if server is not None:
                server.stop()


def changing(settings: Mapping[str, int], after: Mapping[str, int], how: Signal) -> Alone:
    """A server that is started again with other settings."""
    server = KeptServer(settings)
    return Alone(server, how, lambda: server.add(after))


def kept_target() -> Target:
    """A target whose servers are threads, to the letter of Kafka."""
    return Target(
        "rota, kept",
        partial(Embedded, profile=LETTER),
        fresh=True,
        parallel=8,
        settable=True,
        restarting=lambda settings, how: Alone(KeptServer(settings), how),
        changing=changing,
    )


def three_strangers() -> Target:
    """A target that says it has a cluster; its brokers know nothing of each other."""

    def cluster(settings: Mapping[str, int], how: Signal | None) -> Alone:
        return Alone(TakenOver(settings), how or Signal.TERM)

    return Target(
        "rota, strangers",
        partial(Embedded, profile=LETTER),
        fresh=True,
        parallel=8,
        settable=True,
        cluster=cluster,
    )
