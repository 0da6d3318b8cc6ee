"""The brokers on which suites are played, each fresh, at the port that its suite looks for; a toxiproxy."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.libraries.suites import GO_REMEDY, Suite

from rota.conformance.cache_folder import cache_folder
from rota.conformance.targets.kafka_broker import Node, java_for, together
from rota.conformance.targets.kafka_jars import RELEASES
from rota.conformance.targets.made_once import NotMade, made_once, run_tool
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import Process

ROTA, KAFKA = "rota", "kafka-4.4.0"
TARGETS = (ROTA, KAFKA)

AUTO_CREATE = "auto.create.topics.delay.ms"
"""A topic that Metadata creates is there a moment later, as on Kafka."""

TOXIPROXY = "v2.5.0"
_PROXY_MODULE = "github.com/Shopify/toxiproxy/v2"
_PROXY_PORT = 8474
_BEHIND = 100
"""A broker behind a proxy listens so many ports further up."""

_SHARED = {
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}
"""What share groups of Kafka need of a cluster of one."""

_PROXIES = 5
"""How many brokers sarama's suite looks for; here all proxies lead to one."""


@contextmanager
def broker(target: str, suite: Suite) -> Iterator[str]:
    """HOST:PORT of a fresh broker for the suite. Errors: NotStarted, NotMade."""
    port = suite.port or free_ports(1)[0]
    with ExitStack() as stack:
        if suite.proxied:
            stack.enter_context(_proxies(port))
        listen = port + _BEHIND if suite.proxied else port
        start = _rota if target == ROTA else _kafka
        stack.enter_context(start(suite, listen, f"{suite.host}:{port}"))
        yield f"127.0.0.1:{port}"


@contextmanager
def _rota(suite: Suite, listen: int, advertised: str) -> Iterator[None]:
    settings = {AUTO_CREATE: 100, **suite.settings}
    words = [f"{name}={value}" for name, value in settings.items()]
    listeners = ("--listen", f"PLAINTEXT://127.0.0.1:{listen}", "--advertise", f"PLAINTEXT://{advertised}")
    command = [sys.executable, "-m", "rota", "serve", *listeners]
    process = Process([*command, *(word for each in words for word in ("--set", each))])
    try:
        process.listens(("127.0.0.1", listen), within=30)
        yield
    finally:
        process.stop()


@contextmanager
def _kafka(suite: Suite, listen: int, advertised: str) -> Iterator[None]:
    release = RELEASES[KAFKA]
    node = Node(1, listen, {1: free_ports(1)[0]})
    settings = {**suite.settings, **_SHARED, "advertised.listeners": f"PLAINTEXT://{advertised}"}
    (started,) = together([(java_for(release), node)], release, settings)
    try:
        yield
    finally:
        started.stop()


def _made(folder: Path) -> Path:
    for words in (("mod", "init", "proxy"), ("get", f"{_PROXY_MODULE}@{TOXIPROXY}"),
                  ("build", "-o", "bin/toxiproxy", f"{_PROXY_MODULE}/cmd/server")):  # fmt: skip
        completed = run_tool(("go", *words), folder, GO_REMEDY)
        if completed.returncode != 0:
            raise NotMade(f"go {words[0]}: {completed.stderr.strip()[-500:]}", GO_REMEDY[1])
    return folder / "bin"


@contextmanager
def _proxies(first: int) -> Iterator[None]:
    """Proxies kafka1 to kafka5, at ports from `first` on, that all lead to one broker. Errors: NotMade."""
    program = made_once(cache_folder() / f"toxiproxy-{TOXIPROXY}", _made) / "toxiproxy"
    proxies = [
        {
            "name": f"kafka{number + 1}",
            "listen": f"127.0.0.1:{first + number}",
            "upstream": f"127.0.0.1:{first + _BEHIND}",
            "enabled": True,
        }
        for number in range(_PROXIES)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(proxies, file)
        file.flush()
        words = ("-host", "127.0.0.1", "-port", str(_PROXY_PORT), "-config", file.name)
        process = Process((str(program), *words), stdout=subprocess.DEVNULL)
        try:
            process.listens(("127.0.0.1", _PROXY_PORT), within=30)
            yield
        finally:
            process.stop()
