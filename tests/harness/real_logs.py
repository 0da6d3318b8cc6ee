"""Logs as brokers and clients really write them: `python -m harness.real_logs kafka-4.4.0 OUT`.

Starts a broker that logs what it does with groups, lets consumers of librdkafka and of Java come, go, die and
be slow, and leaves server.log, librdkafka-N.log and java-N.log in OUT. Takes a minute.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from rota.conformance.targets.kafka_broker import Node, java_for, together
from rota.conformance.targets.kafka_jars import RELEASES, Release, fetched
from rota.conformance.targets.ports import free_ports

HERE = Path(__file__).parent
GROUP = "orders"
TOPIC = "orders-in"

LOGGERS = ("kafka.coordinator.group", "org.apache.kafka.coordinator")
PATTERN = "[%d] %p %m (%c)%n"
"""The layout that Kafka comes with."""

LOG4J_1 = f"""
log4j.rootLogger=INFO, x
log4j.appender.x=org.apache.log4j.FileAppender
log4j.appender.x.File=server.log
log4j.appender.x.layout=org.apache.log4j.PatternLayout
log4j.appender.x.layout.ConversionPattern={PATTERN}
"""
LOG4J_2 = f"""
rootLogger.level = info
rootLogger.appenderRef.x.ref = file
appender.x.type = File
appender.x.name = file
appender.x.fileName = server.log
appender.x.layout.type = PatternLayout
appender.x.layout.pattern = {PATTERN}
"""


def log_file(release: Release, level: str) -> tuple[str, str]:
    """The name and text of the logging's configuration."""
    name, _ = release.log_file
    if name == "log4j.properties":
        return name, LOG4J_1 + "".join(f"log4j.logger.{one}={level}\n" for one in LOGGERS)
    return name, LOG4J_2 + "".join(
        f"logger.l{place}.name = {one}\nlogger.l{place}.level = {level}\n"
        for place, one in enumerate(LOGGERS)
    )


@dataclass
class Stage:
    """Where consumers play. out: where their logs go."""

    release: Release
    address: str
    out: Path
    playing: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def librdkafka(self, **settings: str | int) -> subprocess.Popen[bytes]:
        """A consumer of librdkafka that polls until it gets SIGTERM, and stops to poll at SIGUSR1."""
        return self._start("librdkafka", (sys.executable, str(HERE / "rdkafka_consumer.py")), settings)

    def java(self, **settings: str | int) -> subprocess.Popen[bytes]:
        """A consumer of kafka-clients of the broker's release; SIGTERM closes it."""
        libs = f"{fetched(self.release).resolve()}/*"
        java = java_for(self.release, ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"))[0]
        flag = f"-Dlog4j.configuration=file:{self.out}/client.properties"
        if self.release.log_file[0] == "log4j2.properties":
            flag = f"-Dlog4j2.configurationFile={self.out}/client.properties"
        return self._start("java", (java, flag, "-cp", libs, str(HERE / "JavaConsumer.java")), settings)

    def _start(
        self, kind: str, command: tuple[str, ...], settings: Mapping[str, str | int]
    ) -> subprocess.Popen[bytes]:
        usual = {"bootstrap.servers": self.address, "group.id": GROUP, "session.timeout.ms": 6000}
        usual |= {"heartbeat.interval.ms": 1000, "max.poll.interval.ms": 8000}
        given = [f"{name}={value}" for name, value in {**usual, **settings}.items()]
        with (self.out / f"{kind}-{len(self.playing)}.log").open("wb") as log:
            process = subprocess.Popen([*command, TOPIC, *given], stdout=log, stderr=log)
        self.playing.append(process)
        return process


def leave(process: subprocess.Popen[bytes]) -> None:
    """Close a consumer as its application does."""
    process.send_signal(signal.SIGTERM)
    process.wait(30)


def crash(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@contextmanager
def broker(name: str, level: str, out: Path) -> Iterator[Stage]:
    """A broker of a release, with its logs in `out` at the end."""
    release = RELEASES[name]
    release = replace(release, log_file=log_file(release, level))
    port, controller = free_ports(2)
    node = Node(1, port, {1: controller})
    settings = {"group.initial.rebalance.delay.ms": 1000, "group.min.session.timeout.ms": 1000}
    settings |= {"offsets.retention.check.interval.ms": 5000, "group.max.size": 4}
    started = together([(java_for(release), node)], release, settings)[0]
    folder = Path(started._folder)
    client = LOG4J_1.replace("FileAppender", "ConsoleAppender").replace(
        "log4j.appender.x.File=server.log\n", ""
    )
    if release.log_file[0] == "log4j2.properties":
        client = LOG4J_2.replace("= File", "= Console").replace("appender.x.fileName = server.log\n", "")
    (out / "client.properties").write_text(client)
    stage = Stage(release, f"127.0.0.1:{port}", out)
    try:
        yield stage
    finally:
        for process in stage.playing:
            process.kill()
        shutil.copy(folder / "server.log", out)
        started.stop()


def play(stage: Stage) -> None:
    """What happens in a group at night."""
    admin = AdminClient({"bootstrap.servers": stage.address})
    for future in admin.create_topics([NewTopic(TOPIC, 4, 1)]).values():
        future.result(20)
    first = stage.librdkafka()
    second = stage.java()
    time.sleep(6)
    third = stage.librdkafka(**{"group.instance.id": "one"})
    fourth = stage.java(**{"group.instance.id": "two"})
    time.sleep(5)
    fifth = stage.librdkafka()  # group.max.size
    time.sleep(3)
    crash(fifth)
    crash(third)
    third = stage.librdkafka(**{"group.instance.id": "one"})
    time.sleep(3)
    stage.librdkafka(**{"group.instance.id": "one"})  # two with one instance id
    time.sleep(4)
    crash(second)
    time.sleep(8)
    first.send_signal(signal.SIGUSR1)
    fourth.send_signal(signal.SIGSTOP)
    time.sleep(11)
    fourth.send_signal(signal.SIGCONT)
    time.sleep(3)
    leave(first)
    for process in stage.playing:
        if process.poll() is None:
            leave(process)
    time.sleep(2)
    time.sleep(4)
    for future in admin.delete_consumer_groups([GROUP]).values():
        with suppress(KafkaException):  # a member that was killed has not timed out yet
            future.result(20)
    time.sleep(1)


def main(name: str, out: str, level: str = "INFO", act: Callable[[Stage], None] = play) -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with broker(name, level, folder) as stage:
        act(stage)


if __name__ == "__main__":
    main(*sys.argv[1:])
