"""Which broker leads which partition, and coordinates which groups and transactions.

A topic's partitions go round the brokers, from one that its name decides on; who leads the partition of
`__consumer_offsets` that a group is in coordinates it, and likewise with transactions (upstream's
GroupCoordinatorService#partitionFor, TransactionStateManager#partitionFor). All brokers are one process, so
whatever moves is only asked for elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rota.log.data_folder import partition_of
from rota.server.settings import NODE_ID

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"

TRANSACTION_PARTITIONS = 50
"""Kafka's transaction.state.log.num.partitions."""


class Placement:
    """Of so many brokers; `group_partition` says in which partition of `__consumer_offsets` a group is.

    is_loaded: whether anybody coordinates groups now.
    """

    def __init__(self, brokers: int, group_partition: Callable[[str], int]) -> None:
        self._nodes = range(NODE_ID, NODE_ID + brokers)
        self._group_partition = group_partition
        self._everything: int | None = None
        self._moved: dict[int, int] = {}
        self.is_loaded = True

    @property
    def brokers(self) -> int:
        """How many brokers have partitions of topics."""
        return len(self._nodes)

    @property
    def is_one(self) -> bool:
        """Whether one broker does everything."""
        return len(self._nodes) == 1 and self._everything is None and not self._moved and self.is_loaded

    def leader(self, topic: str, index: int) -> int:
        """The node that leads a partition."""
        if topic == OFFSETS:
            moved = self._moved.get(index, self._everything)
            if moved is not None:
                return moved
        return self._nodes[(self._first(topic) + index) % len(self._nodes)]

    def replicas(self, topic: str, index: int, factor: int) -> list[int]:
        """The nodes that have a partition, its leader first."""
        leader = self.leader(topic, index)
        if leader not in self._nodes:
            return [leader]
        count, first = len(self._nodes), self._nodes.index(leader)
        return [self._nodes[(first + more) % count] for more in range(min(factor, count))]

    def of_group(self, group_id: str) -> int:
        """The node that coordinates a group."""
        return self.leader(OFFSETS, self._group_partition(group_id))

    def of_transaction(self, transactional_id: str) -> int:
        """The node that coordinates a producer's transactions."""
        return self.leader(TRANSACTIONS, partition_of(transactional_id, TRANSACTION_PARTITIONS))

    def move(self, node_id: int, group_id: str | None = None) -> None:
        """A node coordinates all groups from now on; or those that are in one partition with this one."""
        if group_id is None:
            self._everything = node_id
            self._moved.clear()
        else:
            self._moved[self._group_partition(group_id)] = node_id

    def coordinators(self, partitions: int) -> Sequence[int]:
        """The nodes that coordinate groups, of so many partitions, in order."""
        return sorted({self.leader(OFFSETS, index) for index in range(partitions)})

    def _first(self, topic: str) -> int:
        return partition_of(topic, len(self._nodes))
