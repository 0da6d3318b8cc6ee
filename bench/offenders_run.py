"""One measurement: a server of its own, members that beat by the clock, an offender; processes all three."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bench.offenders_beats import Beat, Summary, members, summary
from bench.offenders_client import Client, Unanswered, request
from bench.offenders_list import Act, Offence

SAMPLE = 0.02
"""Seconds between two looks at the server."""

PREPARING = 300.0
"""Seconds that an offender may need to get ready."""

STOPPING = 15.0
"""Seconds after SIGTERM when the server is killed."""

_FORK = get_context("fork")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """Nothing can be measured; the message says why."""


@dataclass(frozen=True)
class Plan:
    """How it is measured.

    command: starts a server that prints its address last on its first line. wait: seconds that memory has to
    be given back in; least: seconds that members are watched after the offender has ended; slack: MiB above
    what was before that are no fault; memory: MiB at which a server is ended, for the sake of the machine.
    """

    command: Sequence[str]
    seconds: float = 30.0
    wait: float = 60.0
    least: float = 2.0
    slack: float = 64.0
    memory: float = 3072.0


@dataclass(frozen=True)
class Outcome:
    """What was measured.

    cpu: seconds of the server per second, while it was offended; starved: seconds
    per second that it waited for a processor, as others took it; before, peak, after: MiB; back: seconds
    until memory was given back and a new connection was answered, None where that did not happen; done:
    offences; closed: connections that the server has closed on the offender; mute: requests without the
    answer that they must have; stop: seconds from SIGTERM to the end, None where it had to be killed; died:
    why the server did not live to the end.
    """

    members: Summary
    seconds: float
    cpu: float
    starved: float
    before: float
    peak: float
    after: float
    back: float | None
    done: int
    closed: int
    mute: int
    stop: float | None
    died: str


class Server:
    """The server's process, seen from outside."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def memory(self) -> float:
        """MiB that are resident; 0 at its end."""
        try:
            return int(self._proc("statm").split()[1]) * _PAGE / 2**20
        except (OSError, IndexError):
            return 0.0

    def peak(self) -> float:
        """MiB that were resident at most since `forget_peak`."""
        lines = self._proc("status").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    def forget_peak(self) -> None:
        """The peak counts from now."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def starved(self) -> float:
        """Seconds so far in which it could have run and had no processor."""
        return int(self._proc("schedstat").split()[1]) / 1e9

    def _proc(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text()


@contextmanager
def served(command: Sequence[str]) -> Iterator[Server]:
    """A server process; killed at the end, if it is still there."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            if not words:
                raise Failed(f"{' '.join(command)} does not say where it listens")
            yield Server(process, words[-1])
        finally:
            process.kill()


def stopped(server: Server) -> float | None:
    """Seconds that a stop takes, None where it takes too long."""
    begun = monotonic()
    server.process.terminate()
    try:
        server.process.wait(STOPPING)
    except subprocess.TimeoutExpired:
        return None
    return monotonic() - begun


class Offender:
    """Its process. It repeats the offence on each connection as fast as it can, from `go` until `end`."""

    def __init__(self, address: str, offence: Offence, connections: int) -> None:
        self._counts = _FORK.RawArray("q", 3 * max(1, connections))
        self._pipe, theirs = _FORK.Pipe()
        self._process = _FORK.Process(
            target=_offender, args=(address, offence, connections, theirs, self._counts), daemon=True
        )
        self._process.start()
        theirs.close()
        said = self._pipe.recv() if self._pipe.poll(PREPARING) else "it takes too long"
        if said != "ready":
            self.end()
            raise Failed(f"{offence.name} could not be prepared: {said}")

    def go(self) -> None:
        """From now on."""
        self._pipe.send("go")

    def end(self) -> None:
        """Ends it; its connections close."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()

    def counts(self) -> tuple[int, int, int]:
        """Offences done, connections closed by the server, requests left without an answer."""
        done, closed, mute = (sum(self._counts[kind::3]) for kind in range(3))
        return done, closed, mute


def _offender(address: str, offence: Offence, connections: int, pipe: Pipe, counts: Any) -> None:
    os.setpgid(0, 0)
    os.nice(10)  # it stands for other machines: what it computes should take nothing from the server
    try:
        act = offence.prepare(address)
    except Exception as error:  # whatever it is, the parent has to say it
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send("ready")
    pipe.recv()
    for index in range(connections):
        if os.fork() == 0:
            _offend(address, act, index, counts)
    while True:
        signal.pause()  # what was made ready stays open


def _offend(address: str, act: Act, index: int, counts: Any) -> None:
    """One connection, for ever."""
    while True:
        try:
            with Client(address, index) as client:
                while True:
                    act(client)
                    counts[3 * index] += 1
        except Unanswered:
            counts[3 * index + 2] += 1
        except (OSError, EOFError):
            counts[3 * index + 1] += 1


class Members:
    """The process of the well-behaved members; it beats from the beginning."""

    def __init__(self, address: str) -> None:
        self._pipe, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=members, args=(address, theirs), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(30) or self._pipe.recv() != "ready":
            self._process.kill()
            raise Failed("the members could not join")

    def stop(self) -> list[Beat]:
        """All of their heartbeats."""
        self._pipe.send("stop")
        beats: list[Beat] = self._pipe.recv()
        self._process.join()
        return beats

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self._process.kill()
        self._process.join()


def measured(offence: Offence, connections: int, plan: Plan) -> Outcome:
    """One measurement. Errors: Failed."""
    with served(plan.command) as server:
        those = Members(server.address)
        try:
            return _measured(server, those, offence, connections, plan)
        finally:
            those.end()


def _measured(server: Server, those: Members, offence: Offence, connections: int, plan: Plan) -> Outcome:
    offender = Offender(server.address, offence, connections)
    try:
        server.forget_peak()
        before, cpu, starved, begun = server.memory(), server.cpu(), server.starved(), monotonic()
        offender.go()
        _watch(server, plan.memory, plan.seconds)
        died = _death(server, plan.memory)
        done, closed, mute = offender.counts()
        ended, spent, waited = monotonic(), 0.0, 0.0
        if not died:
            spent, waited = server.cpu() - cpu, server.starved() - starved
    finally:
        offender.end()
    back = None if died else _given_back(server, before + plan.slack + offence.keeps, plan)
    until = monotonic()
    died = died or _death(server, plan.memory)
    peak, after = (plan.memory if died else server.peak()), server.memory()
    beats = those.stop()
    stop = None if died else stopped(server)
    return Outcome(
        summary(beats, begun, until), ended - begun, spent / (ended - begun), waited / (ended - begun),
        before, peak, after, back,
        done, closed, mute, stop, died,
    )  # fmt: skip


def _watch(server: Server, memory: float, seconds: float) -> None:
    """Looks at its memory for a while; a server that takes too much is killed."""
    until = monotonic() + seconds
    while server.alive and monotonic() < until:
        if server.memory() > memory:
            server.process.kill()
            server.process.wait()
        sleep(SAMPLE)


def _death(server: Server, memory: float) -> str:
    if server.alive:
        return ""
    code = server.process.returncode
    return f"ended at {memory:,.0f} MiB" if code == -9 else f"ended with code {code}"


def _given_back(server: Server, most: float, plan: Plan) -> float | None:
    """Seconds until it has no more than so many MiB and answers somebody new; None: not in time."""
    begun = monotonic()
    answered = _Probe(server.address)
    while monotonic() < begun + plan.wait:
        _watch(server, plan.memory, SAMPLE)
        if not server.alive:
            return None
        if answered() and server.memory() <= most:
            back = monotonic() - begun
            sleep(max(0.0, plan.least - back))
            return back
    return None


class _Probe:
    """Somebody new: whether an ApiVersions is answered yet."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.connect_ex((host, int(port)))
        self._asked = self._answered = False

    def __call__(self) -> bool:
        try:
            if not self._asked:
                self._socket.send(request("ApiVersions", 0, {}))
                self._asked = True
            self._answered = self._answered or bool(self._socket.recv(4096))
        except OSError:
            pass  # not yet
        if self._answered:
            self._socket.close()
        return self._answered
