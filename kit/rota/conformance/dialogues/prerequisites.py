"""Which rule a step rests on: what is broken where an answer is another than the step needs."""

from __future__ import annotations

from rota.spec import RULES

_GRANTED = {
    "JoinGroup": "join.new-member",
    "SyncGroup": "sync.leader-assigns",
    "Heartbeat": "heartbeat.alive",
    "LeaveGroup": "leave.member",
    "OffsetCommit": "offsets.commit",
    "OffsetFetch": "offsets.fetch",
    "OffsetDelete": "offsets.delete",
    "DescribeGroups": "admin.describe",
    "ListGroups": "admin.list",
    "DeleteGroups": "admin.delete",
    "FindCoordinator": "hosting.find-coordinator",
}
"""API -> the rule by which its request is granted."""

_PARTS = {"JoinGroup": "join", "SyncGroup": "sync", "Heartbeat": "heartbeat", "LeaveGroup": "leave"}

_REFUSED = {
    "INVALID_GROUP_ID": "invalid-group-id",
    "INVALID_SESSION_TIMEOUT": "invalid-session-timeout",
    "INCONSISTENT_GROUP_PROTOCOL": "inconsistent-protocol",
    "FENCED_INSTANCE_ID": "fenced-instance-id",
    "UNKNOWN_MEMBER_ID": "unknown-member",
    "ILLEGAL_GENERATION": "illegal-generation",
    "REBALANCE_IN_PROGRESS": "rebalance-in-progress",
    "MEMBER_ID_REQUIRED": "member-id-required",
    "GROUP_MAX_SIZE_REACHED": "group-max-size-reached",
}
"""Error -> how the rules are called by which it is answered, in each part that has one."""


_ANSWERED = {**_GRANTED, "JoinGroup": "join.complete-if-all-joined"}
"""API -> the rule by which a request that is granted is answered at all; some wait for others first."""

_WAITS = {"JoinGroup": "join.barrier", "SyncGroup": "sync.follower-waits"}
"""API -> the rule by which its request waits."""


def rule_behind(api: str, error: str, answered: bool = True) -> str:
    """The slug of the rule by which a request is answered so; empty where no single rule says it.

    answered: or was there no answer at all.
    """
    if error == "NONE":
        return (_GRANTED if answered else _ANSWERED).get(api, "")
    slug = f"{_PARTS.get(api)}.{_REFUSED.get(error)}"
    return slug if slug in RULES else ""


def rule_of_waiting(api: str) -> str:
    """The slug of the rule by which such a request is not answered before others have sent theirs."""
    return _WAITS.get(api, "")
