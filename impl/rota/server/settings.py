"""A broker's settings under Kafka's own names, from text or values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from rota.coordinator import MENDED, UNMENDED, ConfigError, CoordinatorConfig, Mends
from rota.log.data_folder import partition_of

NODE_ID = 1
"""The broker's node.id."""

PARTITIONS = 50
"""How many partitions the groups' log has, if nothing is said."""

MAX_PARTITIONS = 10_000
"""How many partitions all topics together may have."""

SERVED: Mapping[str, Mends] = {"rota": MENDED, "kafka-4.x": UNMENDED}
"""The profiles that a server can have, the usual one first, and what its coordinator mends under each."""

USUAL = "rota"

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1


MEMORY_LIMITS = {
    "group_members_max_bytes": 24 << 20,
    "members_max_bytes": 256 << 20,
    "group_offsets_max_bytes": 16 << 20,
    "offsets_max_bytes": 512 << 20,
}
"""What members of one group and of all may take of memory, and their offsets, if nothing is said."""


class SettingsError(ValueError):
    """A setting that does not exist or a value that it cannot have; the text says what would do."""


@dataclass(frozen=True)
class Settings:
    """What the server reads: the coordinator's part, and the broker's.

    `num_partitions` is for topics whose creator does not say; `auto_create_topics_enable` lets Metadata
    create them. `socket_request_max_bytes` bounds a request frame, `queued_max_request_bytes` all those that
    are longer than 64 KiB together (negative: no bound; a longer one is taken in alone), `message_max_bytes`
    a record batch, `fetch_max_bytes` the records of a Fetch response, `log_retention_bytes` and
    `log_retention_ms` a partition (negative: no bound but that of all topics together), `records_max_bytes`
    what the records of all topics take, `max_connections` the connections. Old records are looked for every
    `log_retention_check_interval_ms`, topics to be compacted every `log_cleaner_backoff_ms`.
    `max_incremental_fetch_session_cache_slots` bounds the fetch sessions. A topic that Metadata creates is
    there `auto_create_topics_delay_ms` later (0: at once). Expired offsets
    are looked for every `offsets_retention_check_interval_ms`. `offsets_topic_num_partitions` and
    `offsets_topic_segment_bytes` are of the groups' log, if there is one. A connection without a request in
    flight and without bytes in or out for `connections_max_idle_ms` is closed (negative: never), one that
    has authenticated after `connections_max_reauth_ms`, unless it does again before (0: never); who fails to
    waits for `connection_failed_authentication_delay_ms`.
    `group_consumer_migration_policy` has one value.

    Defaults are Kafka's but for `queued_max_request_bytes`, which has no bound there: here it is memory. So
    are `records_max_bytes` and MEMORY_LIMITS, which Kafka does not know.
    """

    coordinator: CoordinatorConfig = field(
        default_factory=lambda: CoordinatorConfig(
            mends=SERVED[USUAL],
            partition_of=_placed(PARTITIONS),
            **MEMORY_LIMITS,  # type: ignore[arg-type]
        )
    )
    auto_create_topics_delay_ms: int = 0
    auto_create_topics_enable: bool = True
    connection_failed_authentication_delay_ms: int = 100
    connections_max_idle_ms: int = 600_000
    connections_max_reauth_ms: int = 0
    fetch_max_bytes: int = 57_671_680
    group_consumer_migration_policy: str = "disabled"
    log_cleaner_backoff_ms: int = 15_000
    log_cleanup_policy: tuple[str, ...] = ("delete",)
    log_retention_bytes: int = -1
    log_retention_check_interval_ms: int = 300_000
    log_retention_ms: int = 604_800_000
    max_connections: int = _INT_MAX
    max_incremental_fetch_session_cache_slots: int = 1_000
    message_max_bytes: int = 1_048_588
    num_partitions: int = 1
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = PARTITIONS
    offsets_topic_segment_bytes: int = 104_857_600
    queued_max_request_bytes: int = 128 << 20
    records_max_bytes: int = 512 << 20
    socket_request_max_bytes: int = 104_857_600
    transaction_max_timeout_ms: int = 900_000

    def text_of(self, name: str) -> str:
        """A setting by Kafka's name, as Kafka writes its value."""
        return _as_text(_value_of(self, _field(name)))

    @staticmethod
    def of(config: Mapping[str, object], profile: str = USUAL) -> Settings:
        """Settings from Kafka's names to values (numbers, or text as in a properties file).

        profile: one of `SERVED`.

        Errors: SettingsError for an unknown name (it lists the known ones), a bad value or bad bounds.
        """
        values = {_field(name): _parse(name, value) for name, value in config.items()}
        broker = {name: value for name, value in values.items() if name in Settings.__dataclass_fields__}
        core = {name: value for name, value in values.items() if name not in broker}
        try:
            limited = {**MEMORY_LIMITS, **core, "mends": SERVED[profile]}
            settings = Settings(coordinator=CoordinatorConfig(**limited), **broker)  # type: ignore[arg-type]
        except ConfigError as error:
            raise SettingsError(f"{str(error).replace('_', '.')}; change one of them") from None
        placed = _placed(settings.offsets_topic_num_partitions)
        return replace(settings, coordinator=replace(settings.coordinator, partition_of=placed))


def _placed(partitions: int) -> Callable[[str], int]:
    """In which of so many partitions of the log a group is."""
    return partial(partition_of, partitions=partitions)


Value = int | bool | str | tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of value: how its text is read (ValueError or KeyError if it cannot be), and what to give."""

    read: Callable[[str], Value]
    what: str


def _integer(least: int, most: int = _INT_MAX) -> Kind:
    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError
        return number

    return Kind(read, f"a whole number from {least} to {most}")


_ASSIGNORS = Kind(
    lambda text: tuple(
        {name: name for name in ("uniform", "range")}[each.strip()] for each in text.split(",")
    ),
    "uniform and range, or one of them, with a comma between; the first is the default",
)
_POLICIES = Kind(
    lambda text: tuple(
        {name: name for name in ("compact", "delete")}[each.strip()] for each in text.split(",")
    ),
    "compact and delete, or one of them, with a comma between",
)
_DISABLED = Kind(lambda text: {"disabled": "disabled"}[text.lower()], "disabled: rota migrates no groups")
_BOOLEAN = Kind(lambda text: {"true": True, "false": False}[text.lower()], "true or false")

KNOWN: Mapping[str, Kind] = {
    "auto.create.topics.delay.ms": _integer(0),
    "auto.create.topics.enable": _BOOLEAN,
    "connection.failed.authentication.delay.ms": _integer(0, 60_000),
    "connections.max.idle.ms": _integer(-1),
    "connections.max.reauth.ms": _integer(0, _LONG_MAX),
    "fetch.max.bytes": _integer(1024),
    "group.consumer.assignment.interval.ms": _integer(0),
    "group.consumer.assignors": _ASSIGNORS,
    "group.consumer.heartbeat.interval.ms": _integer(1),
    "group.consumer.max.assignment.interval.ms": _integer(0),
    "group.consumer.max.heartbeat.interval.ms": _integer(1),
    "group.consumer.max.session.timeout.ms": _integer(1),
    "group.consumer.max.size": _integer(1),
    "group.consumer.migration.policy": _DISABLED,
    "group.consumer.min.assignment.interval.ms": _integer(0),
    "group.consumer.min.heartbeat.interval.ms": _integer(1),
    "group.consumer.min.session.timeout.ms": _integer(1),
    "group.consumer.session.timeout.ms": _integer(1),
    "group.initial.rebalance.delay.ms": _integer(0),
    "group.members.max.bytes": _integer(0),
    "group.offsets.max.bytes": _integer(0),
    "group.max.session.timeout.ms": _integer(0),
    "group.max.size": _integer(1),
    "group.min.session.timeout.ms": _integer(0),
    "log.cleaner.backoff.ms": _integer(1),
    "log.cleanup.policy": _POLICIES,
    "log.retention.bytes": _integer(-1, _LONG_MAX),
    "log.retention.check.interval.ms": _integer(1),
    "log.retention.ms": _integer(-1, _LONG_MAX),
    "max.connections": _integer(0),
    "max.incremental.fetch.session.cache.slots": _integer(0),
    "members.max.bytes": _integer(0),
    "message.max.bytes": _integer(0),
    "num.partitions": _integer(1, MAX_PARTITIONS),
    "offset.metadata.max.bytes": _integer(0),
    "offsets.max.bytes": _integer(0),
    "offsets.retention.check.interval.ms": _integer(1),
    "offsets.retention.minutes": _integer(1),
    "offsets.topic.num.partitions": _integer(1, MAX_PARTITIONS),
    "offsets.topic.segment.bytes": _integer(1 << 10),
    "queued.max.request.bytes": _integer(-1),
    "records.max.bytes": _integer(0, _LONG_MAX),
    "socket.request.max.bytes": _integer(1),
    "transaction.max.timeout.ms": _integer(1),
}
"""Kafka's name of each setting, and how its value is read."""


def default(name: str) -> int | bool | str:
    """What a setting is if nothing is said."""
    return _value_of(Settings(), _field(name))


def default_text(name: str) -> str:
    """The same, as Kafka writes it."""
    return _as_text(default(name))


def _value_of(settings: Settings, field_name: str) -> int | bool | str:
    owner = settings if hasattr(settings, field_name) else settings.coordinator
    value: Value = getattr(owner, field_name)
    return ",".join(value) if isinstance(value, tuple) else value


def _as_text(value: int | bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _field(name: str) -> str:
    if name not in KNOWN:
        raise SettingsError(f"unknown setting {name!r}; known are {', '.join(KNOWN)}")
    return name.replace(".", "_")


def _parse(name: str, value: object) -> Value:
    try:
        return KNOWN[name].read(str(value))
    except (ValueError, KeyError):
        raise SettingsError(f"{name} cannot be {str(value)!r}; give {KNOWN[name].what}") from None
