"""What topics can be told: every config of Kafka's topics, and what a log takes from them.

Each is accepted, checked and told as Kafka does; docs/serving.md says which of them change anything here.
Source: upstream's LogConfig and ServerTopicConfigSynonyms; names, types, defaults and bounds as a running
Kafka 4.4.0 tells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rota.server.config_kinds import (
    INT,
    LONG,
    BadValue,
    Kind,
    Value,
    boolean,
    gzip_level,
    one_of,
    ratio,
    refused,
    replicas,
    some_of,
    whole,
)
from rota.server.errors import ErrorCode, Refusal

_FOREVER = str(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Definition:
    """A topic's config: how it is read, what it is if nobody says, and what brokers call it, if they do."""

    kind: Kind
    default: str
    of_broker: str | None = None


def _throttled(name: str) -> Definition:
    return Definition(replicas(name), "")


DEFINITIONS: Mapping[str, Definition] = {
    "cleanup.policy": Definition(some_of("compact", "delete"), "delete", "log.cleanup.policy"),
    "compression.gzip.level": Definition(gzip_level(), "-1", "compression.gzip.level"),
    "compression.lz4.level": Definition(whole(INT, 1, 17), "9", "compression.lz4.level"),
    "compression.type": Definition(
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), "producer", "compression.type"
    ),
    "compression.zstd.level": Definition(whole(INT, -131_072, 22), "3", "compression.zstd.level"),
    "delete.retention.ms": Definition(whole(LONG, 0), "86400000", "log.cleaner.delete.retention.ms"),
    "errors.deadletterqueue.group.enable": Definition(boolean(), "false"),
    "file.delete.delay.ms": Definition(whole(LONG, 0), "60000", "log.segment.delete.delay.ms"),
    "flush.messages": Definition(whole(LONG, 1), _FOREVER, "log.flush.interval.messages"),
    "flush.ms": Definition(whole(LONG, 0), _FOREVER),
    "follower.replication.throttled.replicas": _throttled("follower.replication.throttled.replicas"),
    "index.interval.bytes": Definition(whole(INT, 0), "4096", "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": _throttled("leader.replication.throttled.replicas"),
    "local.retention.bytes": Definition(whole(LONG, -2), "-2", "log.local.retention.bytes"),
    "local.retention.ms": Definition(whole(LONG, -2), "-2", "log.local.retention.ms"),
    "max.compaction.lag.ms": Definition(whole(LONG, 1), _FOREVER, "log.cleaner.max.compaction.lag.ms"),
    "max.decompressed.message.bytes": Definition(
        whole(INT, 1), "2147483639", "max.decompressed.message.bytes"
    ),
    "max.message.bytes": Definition(whole(INT, 0), "1048588", "message.max.bytes"),
    "message.timestamp.after.max.ms": Definition(
        whole(LONG, 0), "3600000", "log.message.timestamp.after.max.ms"
    ),
    "message.timestamp.before.max.ms": Definition(
        whole(LONG, 0), _FOREVER, "log.message.timestamp.before.max.ms"
    ),
    "message.timestamp.type": Definition(
        one_of("CreateTime", "LogAppendTime"), "CreateTime", "log.message.timestamp.type"
    ),
    "min.cleanable.dirty.ratio": Definition(ratio(), "0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": Definition(whole(LONG, 0), "0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": Definition(whole(INT, 1), "1", "min.insync.replicas"),
    "preallocate": Definition(boolean(), "false", "log.preallocate"),
    "remote.copy.lag.bytes": Definition(whole(LONG, -1), "-1", "log.remote.copy.lag.bytes"),
    "remote.copy.lag.ms": Definition(whole(LONG, -1), "0", "log.remote.copy.lag.ms"),
    "remote.log.copy.disable": Definition(boolean(), "false"),
    "remote.log.delete.on.disable": Definition(boolean(), "false"),
    "remote.storage.enable": Definition(boolean(), "false"),
    "retention.bytes": Definition(whole(LONG), "-1", "log.retention.bytes"),
    "retention.ms": Definition(whole(LONG, -1), "604800000", "log.retention.ms"),
    "segment.bytes": Definition(whole(INT, 1 << 20), "1073741824", "log.segment.bytes"),
    "segment.index.bytes": Definition(whole(INT, 4), "10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": Definition(whole(LONG, 0), "0"),
    "segment.ms": Definition(whole(LONG, 1), "604800000"),
    "unclean.leader.election.enable": Definition(boolean(), "false", "unclean.leader.election.enable"),
}
"""By name. Three of a broker's have a default of their own there and are no synonyms (log.roll.ms, ...)."""

BY_BROKERS_NAME = {each.of_broker: name for name, each in DEFINITIONS.items() if each.of_broker}
"""A topic's config by what brokers call it."""

Configs = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What a partition's log keeps to; bytes and milliseconds, negative: no bound.

    is_compacted and is_deleted: its cleanup policies.
    """

    retention_bytes: int = -1
    retention_ms: int = -1
    max_message_bytes: int = 1_048_588
    is_compacted: bool = False
    is_deleted: bool = True
    is_append_time: bool = False
    timestamp_before_max_ms: int = 2**63 - 1
    timestamp_after_max_ms: int = 2**63 - 1
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    min_cleanable_dirty_ratio: float = 0.5
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000


def log_config(values: Configs) -> LogConfig:
    """What a log takes from the configs of its topic, which have all been checked."""
    read = {name: DEFINITIONS[name].kind.read(name, values[name]) for name in values}
    policies = read.pop("cleanup.policy")
    assert isinstance(policies, tuple)
    timestamps = read.pop("message.timestamp.type")
    numbers = {name.replace(".", "_").removeprefix("message_"): value for name, value in read.items()}
    taken = {name: numbers[name] for name in LogConfig.__dataclass_fields__ if name in numbers}
    return LogConfig(
        **taken,  # type: ignore[arg-type]
        is_compacted="compact" in policies,
        is_deleted="delete" in policies,
        is_append_time=timestamps == "LogAppendTime",
    )


def check(given: Configs, inherited: Configs) -> None:
    """Whether a topic may have these configs; `inherited` are those of all topics.

    Errors: Refusal with INVALID_CONFIG and Kafka's words. Source: LogConfig#validate.
    """
    values = {name: _read(name, text) for name, text in given.items()}
    if values.get("remote.storage.enable"):
        text = "Tiered Storage functionality is disabled in the broker. "
        raise Refusal(ErrorCode.INVALID_CONFIG, f"{text}Topic cannot be configured with remote log storage.")
    least, most = (
        int(given.get(name, inherited[name])) for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if least > most:
        text = "conflict topic config setting min.compaction.lag.ms"
        raise Refusal(ErrorCode.INVALID_CONFIG, f"{text} ({least}) > max.compaction.lag.ms ({most})")


def _read(name: str, text: str) -> Value:
    if name not in DEFINITIONS:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    try:
        return DEFINITIONS[name].kind.read(name, text)
    except BadValue as error:
        raise refused(error) from None
