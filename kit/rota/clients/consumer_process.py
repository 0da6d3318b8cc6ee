"""What the consumer processes of all libraries share: commands in, a poll loop, events out.

Started as SCRIPT SETTINGS, the settings being one JSON object. Each line on standard input is a command, each
line on standard output an event, both JSON. Commands ("do"): subscribe, assign, seek, commit, committed,
hold, close. Events ("event"): started, assigned, revoked, lost, record, committed, fetched, view, sought,
busy, closed, error. Every event carries the time, of the clock that all processes share, and the
membership as the library shows it at that moment. The process ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

COMMIT_SECONDS = 10.0

Partition = tuple[str, int]
Offsets = dict[Partition, int]


class ConsumerProcess(ABC):
    """One consumer and its loop; a subclass for each library.

    `settings`: address, group_id, client_id, assignor, session_timeout_ms, heartbeat_interval_ms,
    auto_offset_reset, and commit_on_revoke, which says whether what was handed out is committed before
    partitions are given up. `poll_seconds`: how long a poll may take, and so a command may have to wait.
    """

    poll_seconds = 0.05

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.positions: Offsets = {}
        self._commands: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.held: set[Partition] = set()
        self._view: Any = None
        self._open = True

    @abstractmethod
    def membership(self) -> tuple[int, str]:
        """Generation and member id, (-1, "") outside of a group."""

    @abstractmethod
    def owned(self) -> list[Partition]:
        """The library's own idea of what is assigned."""

    @abstractmethod
    def poll(self, seconds: float) -> Iterable[tuple[Partition, int, str]]:
        """Records that the library hands out: partition, offset, value. Callbacks run in here."""

    @abstractmethod
    def subscribe(self, topics: list[str], pattern: str | None) -> None: ...

    @abstractmethod
    def assign(self, partitions: list[Partition]) -> None: ...

    @abstractmethod
    def seek(self, partition: Partition, offset: int) -> None: ...

    @abstractmethod
    def commit(self, offsets: Offsets) -> None:
        """Commits and waits for the answer; raises if it is a refusal."""

    @abstractmethod
    def committed(self, partitions: list[Partition]) -> dict[Partition, int | None]: ...

    @abstractmethod
    def close(self) -> None: ...

    def emit(self, event: str, **more: Any) -> None:
        generation, member_id = self.membership() if event != "closed" else (-1, "")
        line = {"t": time.monotonic(), "event": event, "generation": generation, "member_id": member_id}
        sys.stdout.write(json.dumps(line | more) + "\n")
        sys.stdout.flush()

    def on_assigned(self, partitions: Collection[Partition]) -> None:
        self.emit("assigned", partitions=sorted(partitions))
        self.held.update(partitions)

    def on_revoked(self, partitions: Collection[Partition]) -> None:
        """After the commit, if there is one."""
        self.emit("revoked", partitions=sorted(partitions))
        self._forget(partitions)

    def on_lost(self, partitions: Collection[Partition]) -> None:
        self.emit("lost", partitions=sorted(partitions))
        self._forget(partitions)

    def due(self, partitions: Iterable[Partition]) -> Offsets:
        """What is to be committed before these partitions are given up."""
        if not self.settings["commit_on_revoke"]:
            return {}
        return {key: self.positions[key] for key in partitions if key in self.positions}

    def _forget(self, partitions: Collection[Partition]) -> None:
        self.held.difference_update(partitions)
        for partition in partitions:
            self.positions.pop(partition, None)

    def trying(self, what: str, action: Callable[[], object]) -> bool:
        """Whether the action went well; an error becomes an event."""
        try:
            action()
        except Exception as error:
            self.emit_error(what, error)
            return False
        return True

    def emit_error(self, what: str, error: Exception) -> None:
        self.emit("error", what=what, error=f"{type(error).__name__}: {error}")

    def emit_committed(self, offsets: Offsets) -> None:
        self.emit("committed", offsets=_listed(offsets))

    def run(self) -> None:
        """Until closed, or until standard input ends."""
        threading.Thread(target=self._read, daemon=True).start()
        self.emit("started")
        while self._open:
            self._obey()
            if self._open:
                self.trying("poll", self._poll_once)
        self.emit("closed")

    def _read(self) -> None:
        for line in sys.stdin:
            self._commands.put(line)
        os._exit(1)

    def _obey(self) -> None:
        while not self._commands.empty():
            self._carry_out(json.loads(self._commands.get()))

    def _carry_out(self, command: Mapping[str, Any]) -> None:
        self.trying(command["do"], lambda: getattr(self, f"_do_{command['do']}")(command))

    def _poll_once(self) -> None:
        for partition, offset, value in self.poll(self.poll_seconds):
            self.positions[partition] = offset + 1
            self.emit("record", partition=partition, offset=offset, value=value)
        view = (self.membership(), sorted(self.held), sorted(self.owned()))
        if view != self._view:
            self._view = view
            self.emit("view", owned=view[1], library_owns=view[2])

    def _do_subscribe(self, command: Mapping[str, Any]) -> None:
        self.subscribe(command["topics"], command["pattern"])

    def _do_assign(self, command: Mapping[str, Any]) -> None:
        partitions = [(topic, index) for topic, index in command["partitions"]]
        self.assign(partitions)
        self.emit("assigned", partitions=partitions, manual=True)
        self.held = set(partitions)

    def _do_seek(self, command: Mapping[str, Any]) -> None:
        topic, index = command["partition"]
        self.seek((topic, index), command["offset"])
        self.emit("sought", partition=[topic, index], offset=command["offset"])

    def _do_commit(self, command: Mapping[str, Any]) -> None:
        offsets = dict(self.positions)
        self.commit(offsets)
        self.emit_committed(offsets)

    def _do_committed(self, command: Mapping[str, Any]) -> None:
        partitions = [(topic, index) for topic, index in command["partitions"]]
        self.emit("fetched", offsets=_listed(self.committed(partitions)))

    def _do_hold(self, command: Mapping[str, Any]) -> None:
        """Busy with something else, not polling, until the next command."""
        self.emit("busy")
        self._carry_out(json.loads(self._commands.get()))

    def _do_close(self, command: Mapping[str, Any]) -> None:
        self._open = False
        self.close()


def _listed(offsets: Mapping[Partition, int | None]) -> list[list[Any]]:
    """As JSON can carry them: [topic, partition, offset] each."""
    return [[*partition, offset] for partition, offset in sorted(offsets.items())]
