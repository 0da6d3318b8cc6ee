"""The broker settings that dialogues ask for, by the names that Kafka has for them."""

from __future__ import annotations

INITIAL_DELAY = "group.initial.rebalance.delay.ms"

MIN_SESSION = "group.min.session.timeout.ms"

MAX_SESSION = "group.max.session.timeout.ms"

MAX_SIZE = "group.max.size"

RETENTION = "offsets.retention.minutes"

RETENTION_CHECK = "offsets.retention.check.interval.ms"

MAX_METADATA = "offset.metadata.max.bytes"

CONSUMER_SESSION = "group.consumer.session.timeout.ms"

CONSUMER_MIN_SESSION = "group.consumer.min.session.timeout.ms"

CONSUMER_HEARTBEAT = "group.consumer.heartbeat.interval.ms"

CONSUMER_MIN_HEARTBEAT = "group.consumer.min.heartbeat.interval.ms"

CONSUMER_MAX_SIZE = "group.consumer.max.size"

CONSUMER_INTERVAL = "group.consumer.assignment.interval.ms"
