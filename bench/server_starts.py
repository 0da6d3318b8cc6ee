"""How long a broker takes until it answers, and what memory it has then, for `bench.server`.

rota, Apache Kafka, kfake and the mock of librdkafka, each started anew for each round, with nothing kept.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, sleep

from bench.server_sides import KAFKA, cpu_seconds, listener

from rota.conformance.cache_folder import cache_folder
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.targets import librdkafka_mock
from rota.conformance.targets.foreign import that_says_where
from rota.conformance.targets.kafka_broker import launch
from rota.conformance.targets.kafka_jars import RELEASES
from rota.conformance.targets.kfake import KFAKE
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import NotStarted, Process, Started
from rota.conformance.targets.target import Running
from rota.wire import decode_response, encode_request, frame

PATIENCE = 60.0
"""Seconds until something listens, and for one answer."""

Round = Callable[[], Sequence[float]]


def rota() -> Running:
    """`rota serve` as from a shell, at a port that is known before; with bytecode, as pip installs it."""
    (port,) = free_ports(1)
    words = ("serve", "--port", str(port), "--set", f"{INITIAL_DELAY}=0")
    kept = ("env", "-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPYCACHEPREFIX={cache_folder() / 'bytecode'}")
    return Started(Process((*kept, sys.executable, "-m", "rota", *words)), ("127.0.0.1", port))


def kafka() -> Running:
    """Apache Kafka in an empty folder, which is formatted first, with flags that make a start short."""
    return launch(RELEASES[KAFKA], {INITIAL_DELAY: 0})


def kfake() -> Running:
    """kfake, compiled before."""
    return KFAKE.started({})


def mock() -> Running:
    """The mock of librdkafka in a process of Python."""
    return that_says_where((sys.executable, "-P", librdkafka_mock.__file__))


OTHERS = {f"Kafka {RELEASES[KAFKA].version}": kafka, "kfake": kfake, "librdkafka's mock": mock}
"""Whom rota is beside, and how a fresh one is started."""


@contextmanager
def start_rounds(start: Callable[[], Running]) -> Iterator[Round]:
    """Seconds until it coordinates groups, seconds of the processor until then, MB that it then takes.

    Of the process that listens; what starts and guards it is not counted. Errors: NotStarted.
    """

    def run() -> Sequence[float]:
        began = perf_counter()
        broker = start()
        try:
            first_answer(broker.address)
            wait_until_ready(broker.address, PATIENCE)
            took = perf_counter() - began
            process = listener(broker.address[1])
            if process is None:
                raise NotStarted("the process that listens cannot be found")
            return took, cpu_seconds(process), memory(process)
        finally:
            broker.stop()

    yield run


@contextmanager
def first_rounds(start: Callable[[], Running]) -> Iterator[Round]:
    """Seconds until the first answer. Errors: NotStarted."""

    def run() -> Sequence[float]:
        began = perf_counter()
        broker = start()
        try:
            first_answer(broker.address)
            return (perf_counter() - began,)
        finally:
            broker.stop()

    yield run


def first_answer(address: tuple[str, int]) -> None:
    """Wait until ApiVersions is answered. Errors: NotStarted."""
    until = monotonic() + PATIENCE
    while True:
        try:
            connection = socket.create_connection(address, timeout=PATIENCE)
            break
        except ConnectionRefusedError:
            if monotonic() > until:
                raise NotStarted(f"nothing listens after {PATIENCE:g} s") from None
            sleep(0.002)
    with connection, connection.makefile("rb") as stream:
        connection.sendall(frame(encode_request("ApiVersions", 0, {}, 1, "bench")))
        size = int.from_bytes(stream.read(4), "big")
        if decode_response("ApiVersions", 0, stream.read(size)).body["error_code"]:
            raise NotStarted("its first answer is an error")


def memory(pid: int) -> float:
    """MB of memory in which a process is, from /proc; what it shares with others counts whole."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (resident,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(resident) * 1024 / 1e6
