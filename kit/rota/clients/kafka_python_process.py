"""A consumer of kafka-python in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from rota.clients.consumer_process import COMMIT_SECONDS, ConsumerProcess, Offsets, Partition

ASSIGNORS = {
    kind.name: kind
    for kind in (RangePartitionAssignor, RoundRobinPartitionAssignor, CooperativeStickyAssignor)
}


class KafkaPython(ConsumerProcess, AsyncConsumerRebalanceListener):  # type: ignore[misc]  # has no types
    """The listener is an asynchronous one: only that can commit while partitions are being given up."""

    poll_seconds = 0.2

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._consumer = KafkaConsumer(
            bootstrap_servers=settings["address"],
            group_id=settings["group_id"],
            client_id=settings["client_id"],
            partition_assignment_strategy=[ASSIGNORS[name] for name in settings["assignor"].split(",")],
            session_timeout_ms=settings["session_timeout_ms"],
            heartbeat_interval_ms=settings["heartbeat_interval_ms"],
            auto_offset_reset=settings["auto_offset_reset"],
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
            metadata_max_age_ms=500,
            allow_auto_create_topics=False,
            **settings.get("more", {}),
        )

    def membership(self) -> tuple[int, str]:
        metadata = self._consumer.group_metadata()
        return metadata.generation_id, metadata.member_id

    def owned(self) -> list[Partition]:
        return _plain(self._consumer.assignment())

    def poll(self, seconds: float) -> Iterable[tuple[Partition, int, str]]:
        for partition, records in self._consumer.poll(timeout_ms=int(seconds * 1000)).items():
            for record in records:
                yield tuple(partition), record.offset, record.value.decode()
        self._finish_rejoining()

    def _finish_rejoining(self) -> None:
        """A rejoin for a changed subscription or changed metadata that outlasts one poll is forgotten by
        kafka-python 3.0.12: need_rejoin() is false as soon as the JoinGroup is under way, and nobody looks
        for the answer. Said again, it is remembered."""
        coordinator = self._consumer._coordinator
        if coordinator.rejoining:
            coordinator.request_rejoin()

    def subscribe(self, topics: list[str], pattern: str | None) -> None:
        if pattern is not None:
            # As long as it is not in its group, each poll begins with an answer to Metadata.
            self.poll_seconds = 1.0
        self._consumer.subscribe(topics=topics, pattern=pattern, listener=self)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.on_assigned(_plain(assigned))

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        # A close during a rebalance tells of a revocation that has been told before.
        given_up = self.held.intersection(_plain(revoked))
        offsets = self.due(given_up)
        if offsets:
            try:
                await self._consumer.commit_async(_theirs(offsets))
                self.emit_committed(offsets)
            except Exception as error:
                self.emit_error("commit on revoke", error)
        self.on_revoked(given_up)

    async def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self.on_lost(_plain(lost))

    def assign(self, partitions: list[Partition]) -> None:
        self._consumer.assign([TopicPartition(*partition) for partition in partitions])

    def seek(self, partition: Partition, offset: int) -> None:
        self._consumer.seek(TopicPartition(*partition), offset)

    def commit(self, offsets: Offsets) -> None:
        self._consumer.commit(_theirs(offsets), timeout_ms=int(COMMIT_SECONDS * 1000))

    def committed(self, partitions: list[Partition]) -> dict[Partition, int | None]:
        patience = int(COMMIT_SECONDS * 1000)
        return {
            partition: self._consumer.committed(TopicPartition(*partition), timeout_ms=patience)
            for partition in partitions
        }

    def close(self) -> None:
        self._consumer.close()


def _plain(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return sorted((item.topic, item.partition) for item in partitions)


def _theirs(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()
    }


if __name__ == "__main__":
    KafkaPython(json.loads(sys.argv[1])).run()
