"""Topics are made and filled by the library under test; one producer of each serves all scenarios."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rota.clients.history import PATIENCE, Partition

Sent = Callable[[Partition, int], None]
"""Is told the partition and the offset of a record once the server has acknowledged it."""


class LibrdkafkaProducer:
    def __init__(self, address: str) -> None:
        import confluent_kafka.admin as admin
        from confluent_kafka import Producer

        self._admin_module = admin
        settings = {"bootstrap.servers": address, "log_level": 2}
        self._admin = admin.AdminClient(settings)
        self._producer = Producer({**settings, "linger.ms": 1})

    def create(self, topic: str, partitions: int) -> None:
        made = self._admin.create_topics([self._admin_module.NewTopic(topic, partitions, 1)])
        made[topic].result(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while len(self._producer.list_topics(topic, PATIENCE).topics[topic].partitions) < partitions:
            # Created is not yet known to the broker that answers, and nothing tells when it is.
            assert time.monotonic() < deadline, f"the topic {topic} was created and is not there"
            time.sleep(0.02)

    def produce(self, values: dict[Partition, list[str]], sent: Sent) -> None:
        """Sends and waits for every acknowledgement. Errors: whatever the library gives as the reason."""
        waiting = sum(map(len, values.values()))
        failures: list[Any] = []

        def report(error: Any, message: Any) -> None:
            nonlocal waiting
            waiting -= 1
            if error is not None:
                failures.append(error)
            else:
                sent((message.topic(), message.partition()), message.offset())

        for (topic, index), texts in values.items():
            for text in texts:
                self._producer.produce(topic, text.encode(), partition=index, on_delivery=report)
        deadline = time.monotonic() + PATIENCE
        while waiting and time.monotonic() < deadline:
            self._producer.poll(0.05)
        assert not failures, f"librdkafka could not produce: {failures[0]}"
        assert not waiting, f"librdkafka has no answer for {waiting} records after {PATIENCE:g} s"

    def close(self) -> None:
        self._producer.flush(1)


class KafkaPythonProducer:
    def __init__(self, address: str) -> None:
        from kafka import KafkaAdminClient, KafkaProducer

        self._lock = threading.Lock()
        self._admin = KafkaAdminClient(bootstrap_servers=address)
        self._producer = KafkaProducer(bootstrap_servers=address)

    def create(self, topic: str, partitions: int) -> None:
        with self._lock:
            made = {topic: {"num_partitions": partitions, "replication_factor": 1}}
            self._admin.create_topics(made, timeout_ms=int(PATIENCE * 1000), wait_for_metadata=True)

    def produce(self, values: dict[Partition, list[str]], sent: Sent) -> None:
        """Sends and waits for every acknowledgement. Errors: whatever the library gives as the reason."""
        futures = [
            (partition, self._producer.send(partition[0], text.encode(), partition=partition[1]))
            for partition, texts in values.items()
            for text in texts
        ]
        for partition, future in futures:
            sent(partition, future.get(PATIENCE).offset)

    def close(self) -> None:
        self._producer.close(1)
        self._admin.close()


PRODUCERS = {"librdkafka": LibrdkafkaProducer, "kafka-python": KafkaPythonProducer}


class Producers:
    """A producer for each library at one address, made when it is first asked for."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}

    def of(self, library: str) -> Any:
        with self._lock:
            if library not in self._made:
                self._made[library] = PRODUCERS[library](self._address)
            return self._made[library]

    def close(self) -> None:
        for producer in self._made.values():
            producer.close()
