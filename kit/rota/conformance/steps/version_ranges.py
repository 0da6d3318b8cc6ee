"""Versions of the APIs in which something can be seen: what cases and probes need."""

from __future__ import annotations

HANDSHAKE = {"JoinGroup": (4, 9)}
"""Versions in which a newcomer is handed its member id before it is admitted (KIP-394)."""

STATIC = {"JoinGroup": (5, 9), "SyncGroup": (3, 5), "Heartbeat": (3, 4)}
"""Versions that know group instance ids (KIP-345)."""

LEAVES = {**STATIC, "LeaveGroup": (3, 5)}
"""The same, and LeaveGroup by instance id."""

TOPICS = {"Metadata": (0, 13)}
"""What a case needs that is about topics which are there or not; no case judges Metadata itself."""

COMMIT = {"OffsetCommit": (2, 9)}

CREATE = {"CreateTopics": (2, 7)}
"""Versions of CreateTopics that make a topic of so many partitions; no case judges it."""

FETCH = {"OffsetFetch": (8, 9)}

COMMIT_AND_FETCH = {**COMMIT, **FETCH}

DESCRIBE = {"DescribeGroups": (0, 6)}

DELETE = {"DeleteGroups": (0, 2)}
