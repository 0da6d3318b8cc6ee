"""Three brokers of Apache Kafka, of which the one that coordinates can be ended: another one takes over."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from rota.conformance.connections.connection import Closed, Connection, Garbage, NotListening
from rota.conformance.dialogues.script import Signal
from rota.conformance.targets.kafka_broker import (
    USUAL,
    Broker,
    Brokers,
    Node,
    java_for,
    launch,
    on_other_ports,
    together,
)
from rota.conformance.targets.kafka_jars import Release
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.restarting import Alone, Guest, Shared

BROKERS = 3

REPLICATED_SECONDS = 60.0
"""How long a broker that was started again may take to have everything that the others have."""

SOON_MISSED = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
"""After so long without a sign of life the others do without a broker. Usual are nine seconds."""

_ALL_IN_STEP = {"min.insync.replicas": 1, "replica.lag.time.max.ms": 5000}
_GROUPS = "__consumer_offsets"
_CLIENT = "rota-conform"


class KafkaCluster:
    """Brokers on 127.0.0.1 whose groups are all coordinated by one of them, at any time.

    Errors: NotStarted.
    """

    def __init__(self, release: Release, settings: Mapping[str, int]) -> None:
        jvm = java_for(release)

        def once() -> list[Broker]:
            ports = free_ports(2 * BROKERS)
            controllers = dict(enumerate(ports[BROKERS:], 1))
            nodes = [(jvm, Node(number, ports[number - 1], controllers)) for number in controllers]
            return together(nodes, release, {**USUAL, **SOON_MISSED, **_ALL_IN_STEP, **settings})

        self._brokers = on_other_ports(once)
        self._ended: Broker | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where a broker that lives listens."""
        return next(broker for broker in self._brokers if broker is not self._ended).address

    def post_mortem(self, grace: float) -> str | None:
        """How a broker died that was not ended, or None."""
        there = (broker for broker in self._brokers if broker is not self._ended)
        return next((died for broker in there if (died := broker.post_mortem(grace))), None)

    def end(self, address: tuple[str, int], how: Signal) -> None:
        """End the broker at the address, when one that was ended before is back. Errors: NotStarted."""
        self._bring_back()
        ended = next((broker for broker in self._brokers if broker.address == address), None)
        if ended is None:
            raise NotStarted(f"no broker of the cluster listens at {address[0]}:{address[1]}")
        self._ended = ended
        ended.end(address, how)

    def start_again(self) -> None:
        """Nothing: the others go on, and who was ended comes back before the next one is."""

    def stop(self) -> None:
        """End them all and remove their folders."""
        for broker in self._brokers:
            broker.stop()

    def _bring_back(self) -> None:
        if self._ended is None:
            return
        self._ended.start_again()
        self._ended = None
        deadline = time.monotonic() + REPLICATED_SECONDS
        while time.monotonic() < deadline:
            if self._in_step():
                return
            time.sleep(0.2)
        raise NotStarted(f"a broker that was started again lags behind for {REPLICATED_SECONDS:g} s")

    def _in_step(self) -> bool:
        """Whether each broker has all that is known of groups."""
        asked = {"topics": [{"name": _GROUPS}], "allow_auto_topic_creation": False}
        try:
            with closing(Connection(self.address, _CLIENT)) as connection:
                answer = connection.receive(connection.send("Metadata", 4, asked), 2.0)
        except (Closed, Garbage, NotListening):
            return False
        topics: list[dict[str, Any]] = answer.body["topics"] if answer else []
        partitions = [partition for topic in topics for partition in topic["partitions"]]
        return bool(partitions) and all(len(found["isr_nodes"]) == BROKERS for found in partitions)


class KafkaTarget:
    """All that runs of one release: brokers for dialogues, others for those that restart one, a cluster."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._brokers = Brokers(release)
        self._restarted = Shared(lambda settings: launch(release, {**USUAL, **settings}))
        self._clusters = Shared(partial(KafkaCluster, release), apart=False)
        self.start = self._brokers.start
        self.restarting = self._restarted.start

    def changing(self, settings: Mapping[str, int], after: Mapping[str, int], how: Signal) -> Alone:
        """A broker for one dialogue, started again with the second settings. Errors: NotStarted."""
        broker = launch(self._release, {**USUAL, **settings})
        return Alone(broker, how, lambda: broker.add(after))

    def cluster(self, settings: Mapping[str, int], how: Signal | None) -> Guest:
        """A part in the cluster with these settings. Errors: NotStarted."""
        return self._clusters.start(settings, how)

    def close(self) -> None:
        """End everything."""
        for running in (self._brokers, self._restarted, self._clusters):
            running.close()
