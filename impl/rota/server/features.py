"""The finalised features of a server, by which clients learn what a cluster does whatever its APIs are.

Only what is true here: the consumer protocol (`group.version`), transactions that are begun by what is sent
in them and get a new epoch with each end (`transaction.version` 2, KIP-890), and that all else is as in the
version of Kafka that this is compared with (`metadata.version`). Source: KIP-584, KIP-1022; Kafka 4.4.0.
"""

from __future__ import annotations

from typing import Any

_EPOCH = 0
LEVELS = {"group.version": (0, 1), "metadata.version": (33, 33), "transaction.version": (0, 2)}
"""The levels of each that there are. The last one is the one that is in force."""

_FROM_ZERO_SINCE = 4
"""The version of ApiVersions from which on a feature is told whose first level is 0 (KAFKA-17011)."""


def features(version: int) -> dict[str, Any]:
    """What an ApiVersions of that version tells of them."""
    if version < 3:
        return {}
    return {
        "finalized_features_epoch": _EPOCH,
        "supported_features": [
            {"name": name, "min_version": first, "max_version": last}
            for name, (first, last) in LEVELS.items()
            if first or version >= _FROM_ZERO_SINCE
        ],
        "finalized_features": [
            {"name": name, "max_version_level": last, "min_version_level": last}
            for name, (_, last) in LEVELS.items()
        ],
    }
