"""Profiles: which brokers the spec speaks for, and the configuration that a group runs under."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A line of brokers. versions: advertised (min, max) per request; omitted: what is not modelled yet."""

    name: str
    title: str
    versions: tuple[tuple[str, tuple[int, int]], ...]
    omitted: tuple[str, ...]


KAFKA_4 = Profile(
    name="kafka-4.x",
    title="Apache Kafka 4.x, the Java group coordinator",
    versions=(
        ("JoinGroup", (0, 9)),
        ("SyncGroup", (0, 5)),
        ("Heartbeat", (0, 4)),
        ("LeaveGroup", (0, 5)),
    ),
    omitted=(
        "static members (group.instance.id)",
        "group.max.size",
        "OffsetCommit, OffsetFetch and the other offset requests",
        "DescribeGroups, ListGroups, DeleteGroups, expiry of empty groups",
        "load, unload and fail-over of a coordinator",
        "cooperative clients, several requests in flight on a connection",
        "liveness (a group that never settles)",
    ),
)

PROFILES = {KAFKA_4.name: KAFKA_4}


@dataclass(frozen=True)
class BrokerConfig:
    """Kafka's own configuration names, dots written as underscores; milliseconds.

    new_member_join_timeout_ms is a constant upstream (five minutes), not a setting.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000
