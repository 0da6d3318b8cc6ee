"""What the coordinator sees of the cluster's topics. The server has them, and may change them any time.

Source: upstream's CoordinatorMetadataImage, group Utils#computeGroupHash and
GroupMetadataManager#onMetadataUpdate.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Protocol
from uuid import UUID


class TopicImage(Protocol):
    """All topics as they are now; `version` is another one after each change."""

    @property
    def version(self) -> int: ...

    def id_of(self, name: str) -> UUID | None:
        """The topic's id, None if there is no such topic."""

    def name_of(self, topic_id: UUID) -> str | None:
        """The topic's name, None if there is no topic of this id."""

    def partition_count(self, name: str) -> int:
        """How many partitions the topic has, 0 if there is no such topic."""


class NoTopics:
    """A cluster without a topic."""

    version = 0

    def id_of(self, name: str) -> UUID | None:
        return None

    def name_of(self, topic_id: UUID) -> str | None:
        return None

    def partition_count(self, name: str) -> int:
        return 0


def ids_of(topics: TopicImage, names: Iterable[str]) -> frozenset[UUID]:
    """The ids of those topics that there are."""
    found = (topics.id_of(name) for name in names)
    return frozenset(topic_id for topic_id in found if topic_id is not None)


def metadata_hash(topics: TopicImage, names: Iterable[str]) -> int:
    """A number of 64 bits that is another one if any of these topics changes; 0 if there is none of them.

    (A broker's number comes from another function: who takes over its log sees a change once.)
    """
    known = sorted((name, topic_id) for name in names if (topic_id := topics.id_of(name)) is not None)
    if not known:
        return 0
    digest = blake2b(digest_size=8)
    for name, topic_id in known:
        digest.update(topic_id.bytes + topics.partition_count(name).to_bytes(4, "big"))
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0")
    return int.from_bytes(digest.digest(), "big", signed=True) or 1
