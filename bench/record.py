"""What the recording proxy costs: processor time and delay of a request through it, beside none.

`python -m bench.record [--requests N]`. Heartbeats of many connections go to `rota serve`, once at once and once
through `rota record`, with and without `--redact`. Processor time is that of the proxy's process, so it can be
trusted on a busy machine; delays cannot.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles

from rota.wire import encode_request, frame

CONNECTIONS = 32
ROTA = (sys.executable, "-m", "rota.cli")
PATIENCE = 60.0


@contextmanager
def running(folder: Path, *command: str) -> Iterator[tuple[int, int]]:
    """A verb that writes its port to a file: process id and port."""
    port_file = folder / f"port-{command[0]}-{time.monotonic_ns()}"
    process = subprocess.Popen((*ROTA, *command, "--port-file", str(port_file)), stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while not port_file.exists() or not port_file.read_text():
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"bench: rota {command[0]} does not start")
            time.sleep(0.05)
        yield process.pid, int(port_file.read_text())
    finally:
        process.terminate()
        process.wait(PATIENCE)


def processor_seconds(pid: int) -> float:
    """What a process has used of processors until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connected(port: int, number: int) -> list[socket.socket]:
    """Connections, each of which has been answered once."""
    made = [socket.create_connection(("127.0.0.1", port)) for _ in range(number)]
    for one in made:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked(one)
    return made


HEARTBEAT = frame(encode_request("Heartbeat", 4, {"group_id": "bench", "member_id": "m" * 50}, 1, "bench"))


def asked(connection: socket.socket) -> None:
    """One heartbeat and its answer."""
    connection.sendall(HEARTBEAT)
    answered(connection)


def answered(connection: socket.socket) -> None:
    data = connection.recv(4096)
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        data += connection.recv(4096)


def throughput(port: int, requests: int) -> float:
    """Requests a second, over many connections with one request each at a time."""
    connections = connected(port, CONNECTIONS)
    began = time.perf_counter()
    for _ in range(requests // CONNECTIONS):
        for one in connections:
            one.sendall(HEARTBEAT)
        for one in connections:
            answered(one)
    return requests / (time.perf_counter() - began)


def delays(port: int, requests: int) -> list[float]:
    """Milliseconds of requests, one after the other on one connection."""
    (connection,) = connected(port, 1)
    found = []
    for _ in range(requests):
        began = time.perf_counter()
        asked(connection)
        found.append((time.perf_counter() - began) * 1000)
    return found


def measured(name: str, pid: int | None, port: int, requests: int) -> None:
    """One line of the table."""
    before = processor_seconds(pid) if pid else 0.0
    rate = throughput(port, requests)
    used = (processor_seconds(pid) - before) / requests * 1e6 if pid else 0.0
    times = quantiles(delays(port, max(200, requests // 20)), n=100)
    most = f"{1e6 / used:10,.0f}" if used else f"{'':10}"
    print(f"{name:22} {used:8.0f} {most} {rate:10,.0f} {times[49]:8.2f} {times[98]:8.2f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.record", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    requests = parser.parse_args(arguments).requests
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {requests:,} heartbeats")
    print(f"{'':22} {'CPU us':>8} {'1/CPU':>10} {'now/s':>10} {'p50 ms':>8} {'p99 ms':>8}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-bench-")))
        _, server = stack.enter_context(running(folder, "serve"))
        target = ("--target", f"127.0.0.1:{server}")
        measured("no proxy", None, server, requests)
        for name, options in (("recorded", ()), ("recorded, redacted", ("--redact",))):
            out = folder / f"{name}.jsonl"
            with running(folder, "record", *target, "--out", str(out), *options) as (pid, port):
                measured(name, pid, port, requests)


if __name__ == "__main__":
    main()
