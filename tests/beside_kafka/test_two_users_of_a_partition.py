"""Java's consumer uses a partition that another member was granted, without any fault, as explored.

It applies an assignment while a larger one comes; what it then says that it owns is taken for giving up the
rest, and it applies the larger one all the same.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

import pytest

from beside_kafka.consumer_dialogues.stage import Stage
from beside_kafka.consumer_dialogues.steps import HEARTBEAT, body, join, settings, topic
from harness.java_programs import Compiled

BOTH = "uses [0, 1]"
INTERVAL_MS = 4000
"""Between heartbeats of the consumer: there is that much time for what has to come before its next."""


class Held:
    """The consumer's process, and the lines that it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines = process, list[str]()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def release(self) -> None:
        """Its first callback ends."""
        assert self.process.stdin is not None
        self.process.stdin.write("x")
        self.process.stdin.flush()


@contextmanager
def held(stage: Stage, address: tuple[str, int], command: tuple[str, ...]) -> Iterator[Held]:
    where = (f"{address[0]}:{address[1]}", stage.group, stage.name("t"))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, *where], text=True, **pipes)
    try:
        yield Held(process)
    finally:
        process.kill()
        process.wait()


def of_java(stage: Stage) -> dict[str, Any]:
    """The consumer as it is described, with `places`, how many partitions it holds."""
    (one,) = [one for one in stage.described()["members"] if one["member_id"] != "m2"]
    topics = one["assignment"]["topic_partitions"]
    return {"epoch": one["member_epoch"], "places": sum(len(each["partitions"]) for each in topics)}


def granted(stage: Stage) -> bool:
    answer = stage.ask(HEARTBEAT, 1, body(stage, "m2", 4, {}))
    return bool(answer["assignment"] and answer["assignment"]["topic_partitions"])


def gives_up(lines: list[str]) -> bool:
    """Whether it has used both and then one again."""
    return BOTH in lines and "uses [0]" in lines[lines.index(BOTH) :]


@pytest.mark.long
def test_two_members_use_one_partition(address: tuple[str, int], java: Compiled) -> None:
    with closing(Stage(address, "two-users")) as stage:
        for step in (settings(consumer_heartbeat_interval_ms=INTERVAL_MS), topic("t", 1)):
            step(stage)
        with held(stage, address, java("HeldConsumer")) as consumer:
            stage.until(lambda: "assigned [0]" in consumer.lines, "the consumer is not assigned a partition")
            stage.grow("t", 2)
            stage.until(lambda: of_java(stage) == {"epoch": 3, "places": 2}, "it is not told the second")
            join("m2")(stage)
            assert of_java(stage) == {"epoch": 3, "places": 2}
            consumer.release()
            stage.until(lambda: granted(stage), "m2 is not granted the second partition")
            assert not gives_up(consumer.lines)
            stage.until(lambda: gives_up(consumer.lines), "it never uses the second, or for ever")
