"""What a cluster's controllers are asked: their quorum, and features. Answered as by a cluster of one.

The broker is its only voter, whose log of metadata is empty; features are what they are at the start.
Source: KIP-595, KIP-853, KIP-584, KIP-778; upstream's FeatureControlManager, and a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.server.errors import ErrorCode, Refusal
from rota.server.features import LEVELS
from rota.server.settings import NODE_ID

QUORUM = ("__cluster_metadata", 0)
"""The one partition that the controllers vote for."""

_EPOCH = 1
_BY_TYPE_SINCE = 1
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_RESULTS_UP_TO = 1
"""The last version of UpdateFeatures whose answer names each feature."""

Body = Mapping[str, Any]


def describe_quorum(body: Body, version: int) -> dict[str, Any]:
    """The one voter. Whoever asks for anything else, even beside it, is told that nothing is there."""
    asked = [
        (topic["topic_name"], partition["partition_index"])
        for topic in body["topics"]
        for partition in topic["partitions"]
    ]
    if asked and asked != [QUORUM]:
        return {"error_message": "", "topics": [_unknown(topic) for topic in body["topics"]]}
    voter = {"replica_id": NODE_ID, "log_end_offset": 0}
    partition = {
        "partition_index": QUORUM[1], "error_message": "", "leader_id": NODE_ID, "leader_epoch": _EPOCH,
        "high_watermark": 0, "current_voters": [voter],
    }  # fmt: skip
    topics = [{"topic_name": QUORUM[0], "partitions": [partition]}] if asked else []
    nodes = [{"node_id": NODE_ID, "listeners": []}] if asked else []
    return {"error_message": "", "topics": topics, "nodes": nodes}


def _unknown(topic: Body) -> dict[str, Any]:
    error = {
        "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "error_message": "This server does not host this topic-partition.",
    }
    partitions = [{"partition_index": each["partition_index"], **error} for each in topic["partitions"]]
    return {"topic_name": topic["topic_name"], "partitions": partitions}


def update_features(body: Body, version: int) -> dict[str, Any]:
    """Levels can be set to what they are; one that cannot be as it is asked for fails all."""
    for update in body["feature_updates"]:
        if problem := _problem(update, version):
            why = (
                "The update failed for all features since the following feature had an error: Invalid update "
                f"version {update['max_version_level']} for feature {update['feature']}. {problem}"
            )
            refusal = Refusal(ErrorCode.INVALID_UPDATE_VERSION, why)
            return {"error_code": refusal.error_code, "error_message": refusal.message}
    if version > _RESULTS_UP_TO:
        return {"error_message": ""}
    names = dict.fromkeys(update["feature"] for update in body["feature_updates"])
    return {"error_message": "", "results": [{"feature": name, "error_message": ""} for name in names]}


def _problem(update: Body, version: int) -> str:
    """Why a feature cannot have that level, in Kafka's words; nothing if it has it."""
    name, level = update["feature"], update["max_version_level"]
    how = update["upgrade_type"] if version >= _BY_TYPE_SINCE else _of_old(update["allow_downgrade"])
    if how not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if name not in LEVELS:
        return (
            f"Local controller {NODE_ID} does not support this feature."
            if level
            else f"Feature {name} not found."
        )
    first, last = LEVELS[name]
    if not first <= level <= last:
        return f"Local controller {NODE_ID} only supports versions {first}-{last}"
    if level == last:
        return ""
    if how == _UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    return "rota has this feature at one level alone."


def _of_old(allow_downgrade: bool) -> int:
    """The type of an update of version 0."""
    return _SAFE_DOWNGRADE if allow_downgrade else _UPGRADE
