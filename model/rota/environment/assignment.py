"""What a leader hands out: a range assignment, each part labelled with whom it is for.

The coordinator passes assignments on as opaque bytes. The label lets a property see that a member got
exactly what the leader of this generation made for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Assignment:
    """One member's part. partitions: numbers of the only topic."""

    generation_id: int
    member_id: str
    partitions: tuple[int, ...]

    def encode(self) -> bytes:
        """As the bytes that travel: `generation/member id/partitions`."""
        numbers = ",".join(str(partition) for partition in self.partitions)
        return f"{self.generation_id}/{self.member_id}/{numbers}".encode()

    @classmethod
    def decode(cls, raw: bytes) -> Assignment:
        """The inverse of `encode`. Errors: ValueError for other bytes."""
        generation, member_id, numbers = raw.decode().split("/")
        return cls(int(generation), member_id, tuple(int(n) for n in numbers.split(",") if n))


def assign(generation_id: int, member_ids: Sequence[str], partitions: int) -> tuple[tuple[str, bytes], ...]:
    """The range assignor on one topic: consecutive partitions in order of member ids, the first get more.

    Returns (member id, encoded assignment) in order of ids.
    """
    ordered = sorted(member_ids)
    share, extra = divmod(partitions, len(ordered))
    out, start = [], 0
    for position, member_id in enumerate(ordered):
        end = start + share + (position < extra)
        out.append((member_id, Assignment(generation_id, member_id, tuple(range(start, end))).encode()))
        start = end
    return tuple(out)
