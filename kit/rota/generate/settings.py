"""The settings that walks are played with, and what the spec makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rota.conformance.dialogues.broker_settings import (
    CONSUMER_HEARTBEAT,
    CONSUMER_INTERVAL,
    CONSUMER_MAX_SIZE,
    CONSUMER_MIN_HEARTBEAT,
    CONSUMER_MIN_SESSION,
    CONSUMER_SESSION,
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MAX_SIZE,
    MIN_SESSION,
    RETENTION,
    RETENTION_CHECK,
)
from rota.conformance.targets.target import DEFAULTS
from rota.linearise.consumer.requests import ConsumerTerms
from rota.spec import ROTA, BrokerConfig, Profile
from rota.spec.consumer.context import ConsumerConfig
from rota.spec.consumer.messages import Topics

SETTINGS = {
    INITIAL_DELAY: 1000,
    MIN_SESSION: 2000,
    MAX_SESSION: 60_000,
    MAX_SIZE: 3,
    MAX_METADATA: 64,
    RETENTION_CHECK: 2500,
    CONSUMER_MIN_SESSION: 1000,
    CONSUMER_SESSION: 3000,
    CONSUMER_MIN_HEARTBEAT: 100,
    CONSUMER_HEARTBEAT: 500,
    CONSUMER_MAX_SIZE: 3,
    CONSUMER_INTERVAL: 1000,
}
"""What a target is started with that can be: times in which more can be asked than by Kafka's defaults, and
limits that walks come to. It looks for what has expired a few times in each walk.
"""

OTHERS = {MAX_SIZE: 2}
"""What is otherwise where a target is started again that can be set: groups may then be too large."""

FOLLOWED = 60_000
"""Milliseconds between two looks for what has expired up to which they are followed: where there are more, a
walk meets one in passing if at all, and it may not be known how many there are.
"""


def looks_every_ms(settings: Mapping[str, int]) -> int | None:
    """Milliseconds between two looks for what has expired, None where they are too seldom to be followed."""
    found = {**DEFAULTS, **settings}[RETENTION_CHECK]
    return found if found <= FOLLOWED else None


def broker_config(settings: Mapping[str, int]) -> BrokerConfig:
    """The settings of a target as the spec has them; those that are not given are Kafka's defaults."""
    known = {**DEFAULTS, **settings}
    return BrokerConfig(
        group_min_session_timeout_ms=known[MIN_SESSION],
        group_max_session_timeout_ms=known[MAX_SESSION],
        group_initial_rebalance_delay_ms=known[INITIAL_DELAY],
        group_max_size=known[MAX_SIZE],
        offset_metadata_max_bytes=known[MAX_METADATA],
        offsets_retention_ms=known[RETENTION] * 60_000,
    )


def consumer_terms(settings: Mapping[str, int], topics: Topics, profile: Profile) -> ConsumerTerms:
    """What is known of a target that serves the consumer protocol. topics: that there are at first."""
    known, every = {**DEFAULTS, **settings}, looks_every_ms(settings)
    config = ConsumerConfig(
        known[CONSUMER_SESSION],
        known[CONSUMER_HEARTBEAT],
        known[CONSUMER_INTERVAL],
        known[CONSUMER_MAX_SIZE],
    )
    looks = None if every is None else every / 1000
    ours = profile.name == ROTA.name
    return ConsumerTerms(config, topics, looks_every=looks, refuses=ours, ties=ours)


def set_otherwise(config: BrokerConfig, others: Mapping[str, int]) -> BrokerConfig:
    """The settings of a target that is started again with some of `OTHERS`."""
    return replace(config, group_max_size=others.get(MAX_SIZE, config.group_max_size))
