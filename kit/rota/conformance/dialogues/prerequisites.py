"""Which rule a step rests on: what is broken where an answer is another than the step needs."""

from __future__ import annotations

from rota.spec import RULES

_GRANTED = {
    "JoinGroup": "join.new-member",
    "SyncGroup": "sync.leader-assigns",
    "Heartbeat": "heartbeat.alive",
    "LeaveGroup": "leave.remove-member",
    "OffsetCommit": "offsets.commit",
    "TxnOffsetCommit": "transactions.commit",
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


_ANSWERED = {**_GRANTED, "JoinGroup": "join.barrier"}
"""API -> the rule by which a request that is granted is answered at all; some wait for others first."""

_WAITS = {"JoinGroup": "join.barrier", "SyncGroup": "sync.follower-waits"}
"""API -> the rule by which its request waits."""

_FIELDS = {
    "generation_id": "join.next-generation",
    "leader": "join.leader",
    "protocol_name": "voting.tally",
    "assignment": "sync.leader-assigns",
}
"""Field of an answer -> the rule by which it has its value."""

_CONSEQUENCE = "UNKNOWN_MEMBER_ID"
"""What whoever has been removed is answered, by whatever mistake that was."""


def rule_behind(api: str, error: str, actual: str | None, known: str = "") -> str:
    """The slug of the rule that is broken where a request is answered with another error than it should be.

    Empty where no single rule says it. A refusal that is out of place breaks the rule by which it is made.
    actual: the error, None if there is no answer. known: the rule, if it is not such a refusal.
    """
    if actual not in (None, _CONSEQUENCE) and (wrongly := _refusal(api, str(actual))):
        return wrongly
    if known:
        return known
    if error == "NONE":
        return (_ANSWERED if actual is None else _GRANTED).get(api, "")
    return _refusal(api, error)


def rule_of_field(field: str) -> str:
    """The slug of the rule by which a field has its value; empty where no single rule says it."""
    return _FIELDS.get(field, "")


def _refusal(api: str, error: str) -> str:
    slug = f"{_PARTS.get(api)}.{_REFUSED.get(error)}"
    return slug if slug in RULES else ""


def rule_of_waiting(api: str) -> str:
    """The slug of the rule by which such a request is not answered before others have sent theirs."""
    return _WAITS.get(api, "")
