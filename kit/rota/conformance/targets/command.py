"""A command line as a target: it is told its port, and a folder of its own if it wants one."""

from __future__ import annotations

import shlex
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

from rota.conformance.dialogues.script import Signal
from rota.conformance.targets.ports import free_ports, hold
from rota.conformance.targets.process import Process, Started
from rota.conformance.targets.restarting import Alone
from rota.conformance.targets.target import TargetError

START_SECONDS = 30.0
"""How long a process may take until it listens."""

END_SECONDS = 30.0
"""How long a process may take to end in good order."""

_PORT_SECONDS = 5.0
"""How long a port may stay taken after its owner's end."""

PORT, DATA = "{port}", "{data}"
"""What stands in a command line for its port, and for the folder in which it keeps what has to outlive it."""


class Command:
    """A command line with the places `{port}` and, if it keeps anything, `{data}`."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.keeps = any(DATA in word for word in self.words)

    @classmethod
    def read(cls, template: str) -> Command:
        """A command line as it is typed. Errors: TargetError."""
        try:
            words = shlex.split(template)
        except ValueError as error:
            raise TargetError(f"cannot read {template!r}: {error}; quote it as for a shell") from error
        if not words or not any(PORT in word for word in words):
            raise TargetError(f"the command {template!r} names no {PORT}; say where it gets its port from")
        return cls(words)

    def start(self, _settings: Mapping[str, int]) -> Commanded:
        """Start it with a port and a folder that nobody else has. Errors: NotStarted."""
        return Commanded(self)

    def start_restartable(self, _settings: Mapping[str, int], how: Signal) -> Alone:
        """As `start`, for a dialogue in which it is ended in this way. Errors: NotStarted."""
        return Alone(Commanded(self), how)


def own_process(profile: str, settings: Mapping[str, int]) -> Commanded:
    """rota's own server as a process that keeps its groups on the disk. Errors: NotStarted."""
    serve = [sys.executable, "-m", "rota", "serve", "--until-stdin-ends"]
    serve += ["--port", PORT, "--data-dir", DATA]
    return Commanded(Command([*serve, "--profile", profile, *_chosen(settings)]))


def changed_process(
    profile: str, settings: Mapping[str, int], after: Mapping[str, int], how: Signal
) -> Alone:
    """As `own_process`, for a dialogue that has it started again with other settings. Errors: NotStarted."""
    server = own_process(profile, settings)
    return Alone(server, how, lambda: server.add(_chosen(after)))  # the last word on a setting counts


def _chosen(settings: Mapping[str, int]) -> list[str]:
    return [f"--set={name}={value}" for name, value in settings.items()]


class Commanded(Started):
    """A process of a command line, at one address and with one folder as often as it is started."""

    def __init__(self, command: Command) -> None:
        address = ("127.0.0.1", free_ports(1)[0])
        self._held = ExitStack()
        self._folder = tempfile.mkdtemp(prefix="rota-data-") if command.keeps else None
        places = {PORT: str(address[1]), DATA: self._folder or ""}
        self._words = [_filled(word, places) for word in command.words]
        try:
            super().__init__(self._started(address), address)
        except BaseException:
            self._remove()
            raise

    def end(self, _address: tuple[str, int], how: Signal) -> None:
        """End the process and what it started; its port is held. Errors: NotStarted."""
        self._process.end(signal.Signals[how], within=END_SECONDS)
        with suppress(OSError):  # its end may still be under way in the system
            self._held.enter_context(hold(self.address[1]))

    def start_again(self) -> None:
        """Start it at the same address with the same folder. Errors: NotStarted."""
        self._process.stop()
        self._held.close()  # the command may not ask to reuse it
        _wait_for(self.address)
        self._process = self._started(self.address)

    def add(self, words: Sequence[str]) -> None:
        """Have more words on its command line when it is started again."""
        self._words += words

    def stop(self) -> None:
        """End the process and remove its folder."""
        super().stop()
        self._held.close()
        self._remove()

    def _started(self, address: tuple[str, int]) -> Process:
        process = Process(self._words)
        try:
            process.listens(address, within=START_SECONDS)
        except BaseException:
            process.stop()
            raise
        return process

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _filled(word: str, places: Mapping[str, str]) -> str:
    for place, text in places.items():
        word = word.replace(place, text)
    return word


def _wait_for(address: tuple[str, int]) -> None:
    """Until the system gives the port to one that does not ask to reuse it; but not for long."""
    deadline = time.monotonic() + _PORT_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError), socket.socket() as probe:
            probe.bind(address)
            return
        time.sleep(0.05)
