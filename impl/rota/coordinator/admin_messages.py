"""Requests, replies and the log record of DescribeGroups, ListGroups and DeleteGroups, as frozen values."""

from dataclasses import dataclass, replace

from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_messages import OffsetTombstone

GROUP_ID_NOT_FOUND_SINCE = 6
"""First DescribeGroups version that has an error for a group that does not exist."""


@dataclass(frozen=True, slots=True)
class DescribedGroupMember:
    """A member in a DescribeGroups response."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """One group of a DescribeGroups response; the defaults are those of one that does not exist."""

    group_id: str
    error_code: int = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = "Dead"
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedGroupMember, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeGroupsReply:
    """DescribeGroups response, in the request's order."""

    groups: tuple[DescribedGroup, ...]

    def for_version(self, version: int) -> "DescribeGroupsReply":
        """This reply as a version can say it: an absent group is only a dead one below version 6."""
        if version >= GROUP_ID_NOT_FOUND_SINCE:
            return self
        return DescribeGroupsReply(
            tuple(replace(group, error_code=ErrorCode.NONE, error_message=None) for group in self.groups)
        )


@dataclass(frozen=True, slots=True)
class ListGroups:
    """ListGroups request; no filter is all states, or all types."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One group of a ListGroups response."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = "classic"


@dataclass(frozen=True, slots=True)
class ListGroupsReply:
    """ListGroups response."""

    groups: tuple[ListedGroup, ...]
    error_code: int = ErrorCode.NONE

    def for_version(self, version: int) -> "ListGroupsReply":
        """This reply: older versions have fewer fields."""
        return self


@dataclass(frozen=True, slots=True)
class DeletableGroupResult:
    """What became of one group that was to be deleted."""

    group_id: str
    error_code: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class DeleteGroupsReply:
    """DeleteGroups response: a result for each group, once."""

    results: tuple[DeletableGroupResult, ...]

    def for_version(self, version: int) -> "DeleteGroupsReply":
        """This reply: its meaning is the same in every version."""
        return self


@dataclass(frozen=True, slots=True)
class GroupTombstone:
    """A group's last entry in the log: it ends, and with it all its offsets, which are named.

    Those are in order of topic and partition; also such as the log has not answered yet. `is_consumer`: it is
    a group of the consumer protocol, whose records have other keys.
    """

    offsets: tuple[OffsetTombstone, ...] = ()
    is_consumer: bool = False


AdminReply = DescribeGroupsReply | ListGroupsReply | DeleteGroupsReply
