"""Which rule a step rests on: what is broken where an answer is another than the step needs."""

from __future__ import annotations

from rota.spec import RULES

_GRANTED = {
    "JoinGroup": "join.next-generation",
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


def rule_behind(api: str, error: str) -> str:
    """The slug of the rule by which a request is answered so; empty where no single rule says it."""
    if error == "NONE":
        return _GRANTED.get(api, "")
    slug = f"{_PARTS.get(api)}.{_REFUSED.get(error)}"
    return slug if slug in RULES else ""
