"""Consumers as processes of their own: started, told what to do, killed, frozen, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import IO, Any, cast

from rota.clients.history import PATIENCE, Event, History, Partition, TimedOut, told

PROCESSES = {
    "librdkafka": "rota.clients.librdkafka_process",
    "kafka-python": "rota.clients.kafka_python_process",
}
MODULES = {"librdkafka": "confluent_kafka", "kafka-python": "kafka"}
"""Library → the module that has to be importable."""


class Member:
    """A consumer process; what it says goes into the history under its name."""

    def __init__(self, name: str, library: str, settings: dict[str, Any], history: History) -> None:
        self.name = name
        self.library = library
        self.history = history
        self._process = subprocess.Popen(
            self.command(json.dumps(settings | {"client_id": name})),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._stdin, self._stdout, self._stderr = (
            cast(IO[str], pipe) for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._readers = [threading.Thread(target=self._listen), threading.Thread(target=self._overhear)]
        for reader in self._readers:
            reader.daemon = True
            reader.start()

    def command(self, settings: str) -> list[str]:
        """What is started, with its settings in JSON."""
        return [sys.executable, "-m", PROCESSES[self.library], settings]

    def _listen(self) -> None:
        for line in self._stdout:
            # The last line of a killed process may be torn.
            with contextlib.suppress(json.JSONDecodeError):
                self.history.add(Event.of(self.name, json.loads(line)))
        self.history.note(self.name, "ended")

    def _overhear(self) -> None:
        for line in self._stderr:
            self.history.note(self.name, "notice", says=line.rstrip()[:200])

    def tell(self, do: str, **more: Any) -> None:
        """Sends a command; its effect shows in the history."""
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._stdin.flush()

    def subscribe(self, *topics: str, pattern: str | None = None) -> None:
        self.history.note(self.name, "subscribe", topics=" ".join(topics), pattern=pattern)
        self.tell("subscribe", topics=topics, pattern=pattern)

    def ask(self, do: str, answer: str, **more: Any) -> Event:
        """Sends a command and waits for its answer, or for an error, which is an answer too."""
        before = len(self.history.of(self.name, answer, "error"))
        self.tell(do, **more)
        self.wait(f"it answers {do}", lambda: len(self.history.of(self.name, answer, "error")) > before)
        return self.history.of(self.name, answer, "error")[before]

    def commit(self) -> Event:
        """Commits what was handed out so far."""
        return self.ask("commit", "committed")

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Takes these by hand."""
        self.ask("assign", "assigned", partitions=sorted(partitions))

    def seek(self, partition: Partition, offset: int) -> None:
        self.ask("seek", "sought", partition=partition, offset=offset)

    def committed(self, partitions: Iterable[Partition]) -> dict[Partition, int | None]:
        """What the group has committed, as the server says."""
        answer = self.ask("committed", "fetched", partitions=sorted(partitions))
        if answer.kind == "error":
            raise AssertionError(f"{answer.more['error']}\n{told(self.history.events())}")
        offsets: dict[Partition, int | None] = answer.more["offsets"]
        return offsets

    def wait(self, what: str, happened: Callable[[], bool]) -> None:
        """Waits while the process lives; its unexpected end ends the wait."""
        self.history.wait(f"{self.name}: {what}", lambda: happened() or self._over())
        if not happened():
            raise TimedOut(f"{self.name} ended before {what}\n{told(self.history.events())}")

    def _over(self) -> bool:
        return bool(self.history.of(self.name, "ended"))

    def close(self) -> None:
        """Closes the consumer, which gives up its partitions and leaves its group, and ends the process."""
        self.tell("close")
        self.history.wait(f"{self.name} has closed", self._over)
        if not self.history.of(self.name, "closed"):
            raise AssertionError(f"{self.name} ended without closing\n{told(self.history.events())}")

    def kill(self) -> None:
        """SIGKILL: nothing is given up, no request is sent, what it said before is all in the history."""
        self._signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        self.history.note(self.name, "killed")
        for reader in self._readers:
            reader.join(PATIENCE)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)
        self.history.note(self.name, "frozen")

    def thaw(self) -> None:
        self.history.note(self.name, "thawed")
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Whatever it does: the process is gone afterwards."""
        self._signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        for stream in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
