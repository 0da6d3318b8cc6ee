"""A consumer of aiokafka in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from rota.clients.consumer_process import ConsumerProcess, Offsets, Partition

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class Aiokafka(ConsumerProcess, ConsumerRebalanceListener):
    """The library's own tasks run while this polls, and its callbacks are asynchronous."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._loop = asyncio.new_event_loop()
        self._consumer: Any = None

    async def _make(self) -> Any:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.settings["address"],
            group_id=self.settings["group_id"],
            client_id=self.settings["client_id"],
            group_instance_id=self.settings.get("instance_id"),
            partition_assignment_strategy=[ASSIGNORS[self.settings["assignor"]]],
            session_timeout_ms=self.settings["session_timeout_ms"],
            heartbeat_interval_ms=self.settings["heartbeat_interval_ms"],
            auto_offset_reset=self.settings["auto_offset_reset"],
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
            metadata_max_age_ms=500,
        )
        await consumer.start()
        return consumer

    def membership(self) -> tuple[int, str]:
        coordinator = getattr(self._consumer, "_coordinator", None)
        return (coordinator.generation, coordinator.member_id) if coordinator is not None else (-1, "")

    def owned(self) -> list[Partition]:
        return _plain(self._consumer.assignment()) if self._consumer is not None else []

    def poll(self, seconds: float) -> Iterable[tuple[Partition, int, str]]:
        if self._consumer is None:
            self._loop.run_until_complete(asyncio.sleep(seconds))
            return
        found = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=int(seconds * 1000)))
        for partition, records in found.items():
            for record in records:
                if tuple(partition) in self.held:
                    yield tuple(partition), record.offset, record.value.decode()

    def subscribe(self, topics: list[str], pattern: str | None) -> None:
        self._consumer = self._loop.run_until_complete(self._make())
        self._consumer.subscribe(topics=topics, pattern=pattern, listener=self)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.on_assigned(_plain(assigned))

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        given_up = self.held.intersection(_plain(revoked))
        offsets = self.due(given_up)
        if offsets:
            try:
                await self._consumer.commit(_theirs(offsets))
                self.emit_committed(offsets)
            except Exception as error:
                self.emit_error("commit on revoke", error)
        self.on_revoked(given_up)

    def assign(self, partitions: list[Partition]) -> None:
        raise NotImplementedError

    def seek(self, partition: Partition, offset: int) -> None:
        self._consumer.seek(TopicPartition(*partition), offset)

    def commit(self, offsets: Offsets) -> None:
        self._loop.run_until_complete(self._consumer.commit(_theirs(offsets)))

    def committed(self, partitions: list[Partition]) -> dict[Partition, int | None]:
        return {
            each: self._loop.run_until_complete(self._consumer.committed(TopicPartition(*each)))
            for each in partitions
        }

    def close(self) -> None:
        if self._consumer is None:
            return
        # It leaves without telling its listener.
        self._loop.run_until_complete(
            self.on_partitions_revoked([TopicPartition(*each) for each in self.held])
        )
        self._loop.run_until_complete(self._consumer.stop())


def _plain(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return sorted((item.topic, item.partition) for item in partitions)


def _theirs(offsets: Offsets) -> dict[TopicPartition, int]:
    return {TopicPartition(*partition): offset for partition, offset in offsets.items()}


if __name__ == "__main__":
    Aiokafka(json.loads(sys.argv[1])).run()
