"""A consumer of confluent-kafka (librdkafka) in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition

from rota.clients.consumer_process import COMMIT_SECONDS, ConsumerProcess, Offsets, Partition

MOST_AT_ONCE = 100


class Librdkafka(ConsumerProcess):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._consumer = Consumer(
            {
                "bootstrap.servers": settings["address"],
                "group.id": settings["group_id"],
                "client.id": settings["client_id"],
                "partition.assignment.strategy": settings["assignor"],
                "session.timeout.ms": settings["session_timeout_ms"],
                "heartbeat.interval.ms": settings["heartbeat_interval_ms"],
                "auto.offset.reset": settings["auto_offset_reset"],
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 100,
                "topic.metadata.refresh.interval.ms": 500,
                "allow.auto.create.topics": False,
                **settings.get("more", {}),
            }
        )

    def membership(self) -> tuple[int, str]:
        try:
            metadata = self._consumer.consumer_group_metadata()
        except RuntimeError:  # it is being closed, and its last callbacks come when it has left the group
            return -1, ""
        # librdkafka's own form: a mark, the generation (in the machine's order), group id, member id.
        fields = metadata.removeprefix(b"CGMDv2:")
        generation = int.from_bytes(fields[:4], sys.byteorder, signed=True)
        return generation, fields[4:].split(b"\0")[1].decode()

    def owned(self) -> list[Partition]:
        return sorted((item.topic, item.partition) for item in self._consumer.assignment())

    def poll(self, seconds: float) -> Iterable[tuple[Partition, int, str]]:
        message = self._consumer.poll(seconds)
        for _ in range(MOST_AT_ONCE):
            if message is None:
                return
            if message.error():
                self.emit("error", what="poll", error=str(message.error()))
            else:
                yield (message.topic(), message.partition()), message.offset(), message.value().decode()
            message = self._consumer.poll(0)

    def subscribe(self, topics: list[str], pattern: str | None) -> None:
        self._consumer.subscribe(
            topics if pattern is None else [f"^{pattern}"],
            on_assign=lambda _, partitions: self.on_assigned(_plain(partitions)),
            on_revoke=lambda _, partitions: self._revoke(_plain(partitions)),
            on_lost=lambda _, partitions: self.on_lost(_plain(partitions)),
        )

    def _revoke(self, partitions: list[Partition]) -> None:
        offsets = self.due(partitions)
        if offsets and self.trying("commit on revoke", lambda: self.commit(offsets)):
            self.emit_committed(offsets)
        self.on_revoked(partitions)

    def assign(self, partitions: list[Partition]) -> None:
        self._consumer.assign([TopicPartition(*partition) for partition in partitions])

    def seek(self, partition: Partition, offset: int) -> None:
        self._consumer.seek(TopicPartition(*partition, offset))

    def commit(self, offsets: Offsets) -> None:
        asked = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        for item in self._consumer.commit(offsets=asked, asynchronous=False):
            if item.error is not None:
                raise KafkaException(item.error)

    def committed(self, partitions: list[Partition]) -> dict[Partition, int | None]:
        asked = [TopicPartition(*partition) for partition in partitions]
        answer = self._consumer.committed(asked, timeout=COMMIT_SECONDS)
        return {
            (item.topic, item.partition): None if item.offset == OFFSET_INVALID else item.offset
            for item in answer
        }

    def close(self) -> None:
        self._consumer.close()


def _plain(partitions: list[TopicPartition]) -> list[Partition]:
    return [(item.topic, item.partition) for item in partitions]


if __name__ == "__main__":
    Librdkafka(json.loads(sys.argv[1])).run()
