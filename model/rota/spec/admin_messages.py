"""Requests and replies of the administration of groups, with the field names of Kafka's message schemas.

One group per request, where Kafka's requests name several. That is safe: a coordinator looks at each group by
itself and puts the answers side by side (DeleteGroups names a group once, and what it writes for one group
does not depend on the others). Client ids, hosts and authorised operations are left out: no rule reads them.
"""

from __future__ import annotations

from rota.kernel import frozen
from rota.spec.messages import ReplyMessage, Request
from rota.spec.vocabulary import ErrorCode

CLASSIC = "classic"
"""The type of every group in this spec, as ListGroups tells it."""


@frozen
class DescribeGroupsRequest(Request):
    """DescribeGroups, of one group."""

    group_id: str


@frozen
class DescribedMember:
    """A member as DescribeGroups tells of it."""

    member_id: str
    group_instance_id: str | None
    member_metadata: bytes
    member_assignment: bytes


@frozen
class DescribeGroupsReply(ReplyMessage):
    """The answer to DescribeGroups, for one group; the defaults are those of an error."""

    error_code: ErrorCode
    group_id: str
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()


@frozen
class ListGroupsRequest(Request):
    """ListGroups; group_id is the one group that this is about, which the real request does not name.

    An empty filter lets everything pass. states_filter: version 4; types_filter: version 5.
    """

    group_id: str
    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


@frozen
class ListedGroup:
    """A group as ListGroups tells of it."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = CLASSIC


@frozen
class ListGroupsReply(ReplyMessage):
    """The answer to ListGroups, as far as one group is concerned."""

    error_code: ErrorCode
    groups: tuple[ListedGroup, ...] = ()


@frozen
class DeleteGroupsRequest(Request):
    """DeleteGroups, of one group."""

    group_id: str


@frozen
class DeleteGroupsReply(ReplyMessage):
    """The answer to DeleteGroups, for one group."""

    group_id: str
    error_code: ErrorCode


AdminRequest = DescribeGroupsRequest | ListGroupsRequest | DeleteGroupsRequest
AdminReply = DescribeGroupsReply | ListGroupsReply | DeleteGroupsReply


def refused_admin(request: AdminRequest, error: ErrorCode) -> AdminReply:
    """The answer to a request of the administration that fails before its group is looked at."""
    if isinstance(request, DescribeGroupsRequest):
        return DescribeGroupsReply(error, request.group_id)
    if isinstance(request, ListGroupsRequest):
        return ListGroupsReply(error)
    return DeleteGroupsReply(request.group_id, error)
