"""What tests beside Kafka share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from beside_kafka.consumer_dialogues.broker import broker
from harness.java_programs import Compiled, NotCompiled, compiled
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.conformance.targets.process import NotStarted


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The command that runs a program of `harness` in Java, by name; skips where it cannot be compiled."""

    @cache
    def command(name: str) -> tuple[str, ...]:
        try:
            return compiled(name, tmp_path_factory.mktemp(name))
        except NotCompiled as cause:
            pytest.skip(str(cause))

    return command


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Of Apache Kafka 4.4.0 with settings for dialogues by the consumer protocol; started once for all."""
    with ExitStack() as stack:
        try:
            fetched(RELEASES["kafka-4.4.0"])
            where = stack.enter_context(broker(tmp_path_factory.mktemp("kafka")))
        except (NoJars, NotStarted) as cause:
            pytest.skip(f"kafka-4.4.0: {cause}")
        yield where
