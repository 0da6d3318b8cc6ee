"""What groups and offsets may take of memory: counted as they come and go, so that no client fills a process.

A broker has no such bounds: its log refuses a group's record above 1 MB, and its heap ends.
"""

from dataclasses import dataclass, field
from sys import getsizeof

from rota.coordinator.messages import ErrorCode, JoinGroupProtocol

GROUP_BYTES = 2_048
"""What a group counts for beside its members."""

MEMBER_BYTES = 1_024
"""What a member counts for beside its names and metadata: its timer and a request that waits are in it."""

PENDING_BYTES = 1_024
"""What an id that was handed out counts for."""

OFFSET_BYTES = 512
"""What an offset counts for beside its metadata: the name of its topic and its place in the log are in it."""


@dataclass(slots=True)
class Memory:
    """What is held, in bytes: by all groups together, and by each that holds anything."""

    held: int = 0
    by_group: dict[str, int] = field(default_factory=dict)

    def of(self, group_id: str) -> int:
        """What a group holds."""
        return self.by_group.get(group_id, 0)

    def put(self, group_id: str, size: int) -> None:
        """A group holds so much from now on."""
        before = self.by_group.get(group_id, 0)
        self.held += size - before
        if size:
            self.by_group[group_id] = size
        elif before:
            del self.by_group[group_id]

    def error(self, group_id: str, grows: int, most_of_one: int, most: int, too_large: int) -> int:
        """Whether a group may grow by so many bytes: `too_large` if it would be so by itself, or NONE.

        COORDINATOR_NOT_AVAILABLE, upon which clients try again, if all groups together would be. Who takes
        no more than before is never refused.
        """
        if grows <= 0:
            return ErrorCode.NONE
        if self.of(group_id) + grows > most_of_one:
            return too_large
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if self.held + grows > most else ErrorCode.NONE


def member_bytes(listed: int, member_id: str, client_id: str, group_instance_id: str | None) -> int:
    """What a member counts for whose list counts for so much."""
    return MEMBER_BYTES + listed + len(member_id) + len(client_id) + len(group_instance_id or "")


def list_bytes(protocols: tuple[JoinGroupProtocol, ...]) -> int:
    """What a member's list counts for."""
    size = 0
    for entry in protocols:
        size += getsizeof(entry.metadata) + 2 * getsizeof(entry.name)
    return size


def offset_bytes(metadata: str) -> int:
    """What an offset with this metadata counts for."""
    return OFFSET_BYTES + getsizeof(metadata)
