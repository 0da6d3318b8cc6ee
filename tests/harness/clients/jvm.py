"""Programs of Kafka Streams and Kafka Connect in processes of their own."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rota.conformance.targets.java import find_java

FLAGS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SECONDS = 120.0
"""How long anything may take. Both wait for seconds here and there."""


class Program:
    """A class of a class path, running; what it prints goes to a file."""

    def __init__(self, classes: str, main: str, arguments: Sequence[str], said: Path) -> None:
        self.said = said
        java = find_java(17, "Kafka").path
        with said.open("ab") as file:
            self._process = subprocess.Popen(
                (java, *FLAGS, "-cp", classes, main, *arguments),
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def waits(self, what: str, happened: Callable[[], object]) -> None:
        """Until it happens. Errors: AssertionError, if it does not, or the program ends before."""
        until(what, happened, lambda: self._process.poll() is not None, self.said)

    def kill(self) -> None:
        """At once, with whatever it is doing."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """In good order. Errors: AssertionError, if it does not end."""
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it does not end:\n{self.said.read_text()[-2000:]}") from None


def until(
    what: str,
    happened: Callable[[], object],
    over: Callable[[], bool] = lambda: False,
    said: Path | None = None,
) -> None:
    """Until it happens. Errors: AssertionError."""
    deadline = time.monotonic() + SECONDS
    while not happened():
        ended = over()
        if ended or time.monotonic() > deadline:
            told = said.read_text(errors="replace")[-3000:] if said else ""
            raise AssertionError(f"{'it ended' if ended else 'waited in vain'} before {what}\n{told}")
        time.sleep(0.1)


class Worker(Program):
    """A distributed worker of Kafka Connect, with its REST interface at a port."""

    def __init__(self, classes: str, bootstrap: str, port: int, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        text = PROPERTIES.format(bootstrap=bootstrap, url=self.url)
        properties = folder / f"worker-{port}.properties"
        properties.write_text(text, encoding="utf-8")
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        super().__init__(classes, main, [str(properties)], folder / f"worker-{port}.txt")
        self.waits("it answers", lambda: self.ask("GET", "/connectors") is not None)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What its REST interface answers; None if it does not yet."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except (urllib.error.URLError, OSError):
            return None

    def connect(self, name: str, **config: object) -> None:
        """Have this connector, and wait until its task runs."""
        wanted = {
            "name": name,
            "config": {key.replace("_", "."): str(value) for key, value in config.items()},
        }
        self.waits(f"{name} is taken", lambda: self.ask("POST", "/connectors", wanted))
        self.waits(f"{name} runs", lambda: self.running(name))

    def running(self, name: str) -> list[str]:
        """The workers on which the connector's tasks run."""
        status = self.ask("GET", f"/connectors/{name}/status") or {"tasks": []}
        return [each["worker_id"] for each in status["tasks"] if each["state"] == "RUNNING"]


PROPERTIES = """\
bootstrap.servers={bootstrap}
group.id=connect
listeners={url}
plugin.discovery=service_load
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=connect-configs
offset.storage.topic=connect-offsets
status.storage.topic=connect-status
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
offset.storage.partitions=1
status.storage.partitions=1
offset.flush.interval.ms=500
session.timeout.ms=6000
heartbeat.interval.ms=1000
rebalance.timeout.ms=10000
scheduled.rebalance.max.delay.ms=0
consumer.session.timeout.ms=6000
consumer.metadata.max.age.ms=500
"""
