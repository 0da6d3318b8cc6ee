"""What members tell the leader and what it hands out: both are opaque bytes to the coordinator.

Metadata says what the assignor reads and nothing else, for it rides in the coordinator's members. Each part
of an assignment is labelled with whom it is for, so that a property can see that a member got exactly what
the leader of this generation made for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from rota.environment.assignors import ASSIGNORS, Subscription
from rota.kernel import frozen
from rota.spec import MemberMetadata

TOPIC = "t"
"""The only topic that exists; a client that changes its subscription asks for `OTHER_TOPIC` as well."""

OTHER_TOPIC = "u"


@frozen
class Claim:
    """What a member says that it owns, and the generation in which it got it."""

    partitions: tuple[int, ...]
    generation_id: int


@dataclass(frozen=True)
class Metadata:
    """A member's subscription.

    client: only tells one member's metadata from another's; changed: it wants another topic as well; claim:
    None where nothing is claimed; readable: topics stand where a coordinator reads them, which only those do
    that keep offsets.
    """

    client: str
    changed: bool = False
    claim: Claim | None = None
    readable: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        """What it wants."""
        return (TOPIC, OTHER_TOPIC) if self.changed else (TOPIC,)

    def encode(self) -> bytes:
        """As the bytes that travel: the client, `*` if changed, `@generation:partitions` if claimed.

        Readable metadata are version 0 of Kafka's consumer protocol with these as user data.
        """
        claim = "" if self.claim is None else f"@{self.claim.generation_id}:{_written(self.claim.partitions)}"
        text = f"{self.client}{'*' * self.changed}{claim}".encode()
        if not self.readable:
            return text
        names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in self.topics)
        return struct.pack(">hi", 0, len(self.topics)) + names + struct.pack(">i", len(text)) + text

    @classmethod
    def decode(cls, raw: bytes) -> Metadata:
        """The inverse of `encode`; bytes that it has not made are taken for a client's name."""
        readable = raw.startswith(b"\0")
        text = raw.rpartition(b"\0")[2][1:] if readable else raw
        wants, claims, rest = text.decode().partition("@")
        generation_id, _, numbers = rest.partition(":")
        claim = Claim(_read(numbers), int(generation_id)) if claims else None
        return cls(wants.removesuffix("*"), wants.endswith("*"), claim, readable)


@frozen
class Assignment:
    """One member's part.

    member_id: whom it is for; a static member's instance id stands for all the ids that it may have.
    partitions: numbers of the topic.
    """

    generation_id: int
    member_id: str
    partitions: tuple[int, ...]

    def encode(self) -> bytes:
        """As the bytes that travel: `generation/member id/partitions`."""
        return f"{self.generation_id}/{self.member_id}/{_written(self.partitions)}".encode()

    @classmethod
    def decode(cls, raw: bytes) -> Assignment:
        """The inverse of `encode`. Errors: ValueError for other bytes."""
        generation, member_id, numbers = raw.decode().split("/")
        return cls(int(generation), member_id, _read(numbers))


def assign(
    generation_id: int, protocol_name: str | None, members: Iterable[MemberMetadata], partitions: int
) -> tuple[tuple[str, bytes], ...]:
    """What a leader makes of the member list with the assignor that the vote chose.

    Parameters: partitions, how many the topic has. Returns (member id, encoded assignment) in order of ids.
    A protocol that is no assignor's name is taken for range.
    """
    assignor = ASSIGNORS.get(protocol_name or "", ASSIGNORS["range"])
    lines = tuple(members)
    labels = {line.member_id: line.group_instance_id or line.member_id for line in lines}
    parts = assignor({TOPIC: partitions}, [_subscription(line) for line in lines])
    return tuple(
        (member_id, Assignment(generation_id, labels[member_id], tuple(n for _, n in part)).encode())
        for member_id, part in parts.items()
    )


def _subscription(line: MemberMetadata) -> Subscription:
    metadata = Metadata.decode(line.metadata)
    claim = metadata.claim or Claim((), -1)
    return Subscription(
        member_id=line.member_id,
        topics=metadata.topics,
        owned_partitions=tuple((TOPIC, number) for number in claim.partitions),
        generation_id=claim.generation_id,
        group_instance_id=line.group_instance_id,
    )


def _written(numbers: Iterable[int]) -> str:
    return ",".join(str(number) for number in numbers)


def _read(numbers: str) -> tuple[int, ...]:
    return tuple(int(number) for number in numbers.split(",") if number)
