"""What groups may be told: every config of Kafka's groups, and what the coordinator takes from them.

Each is accepted, checked and told as Kafka does, for any group id, whether there is such a group or not;
those of share and streams groups change nothing, as rota has none. Like topics they are gone when the server
ends.
Source: KIP-848, KIP-932, KIP-1071; upstream's GroupConfig (validate) and GroupConfigManager; names, types,
defaults and bounds as a running Kafka 4.4.0 tells them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rota.coordinator import CoordinatorConfig
from rota.server.broker_configs import DEFAULT, BrokerConfigs, Sourced, check_length
from rota.server.config_kinds import (
    INT,
    LONG,
    STRING,
    BadValue,
    Kind,
    Value,
    any_list,
    any_text,
    boolean,
    formed,
    one_of,
    refused,
    whole,
)
from rota.server.errors import ErrorCode, Refusal
from rota.server.settings import KNOWN, Settings

OF_GROUP = 8
"""Where a value is from that a group has for itself, by the number of DescribeConfigs."""

MOST_CHARACTERS = 16 << 20
"""How many characters the names and configs of all groups may have together."""

QUEUE, TAGS = "errors.deadletterqueue.topic.name", "streams.rack.aware.assignment.tags"
ASSIGNOR, RESET = "streams.assignor.name", "share.auto.offset.reset"
STREAMS_ASSIGNORS = ("sticky",)

TIMES = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")
"""What the coordinator takes of them."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A group's config: how it is read, and what it is if nobody says.

    of_broker: what brokers call it, where they call it otherwise. internal: it is told only where it is set,
    and then as it was set.
    """

    kind: Kind
    default: str
    of_broker: str | None = None
    internal: bool = False


def _in_brokers(kind: Kind, default: str, *names: str, internal: bool = False) -> dict[str, Definition]:
    return {name: Definition(kind, default, f"group.{name}", internal) for name in names}


_DURATION = r"\+?P(?=[0-9T])([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.,][0-9]{0,9})?S)?)?"
_WANTED = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
_RESETS = formed(
    rf"earliest|latest|by_duration:(?i:{_DURATION})",
    f"Invalid value `{{}}` for configuration {RESET}. {_WANTED}",
)

DEFINITIONS: Mapping[str, Definition] = {
    **_in_brokers(whole(INT, 1), "45000", "consumer.session.timeout.ms"),
    **_in_brokers(whole(INT, 1), "5000", "consumer.heartbeat.interval.ms"),
    **_in_brokers(whole(INT, 0), "1000", "consumer.assignment.interval.ms"),
    **_in_brokers(boolean(), "true", "consumer.assignor.offload.enable", internal=True),
    **_in_brokers(whole(INT, 1), "45000", "share.session.timeout.ms"),
    **_in_brokers(whole(INT, 1), "5000", "share.heartbeat.interval.ms"),
    **_in_brokers(whole(INT, 1000), "30000", "share.record.lock.duration.ms"),
    **_in_brokers(whole(INT, 2), "5", "share.delivery.count.limit"),
    **_in_brokers(whole(INT, 100), "2000", "share.partition.max.record.locks"),
    RESET: Definition(_RESETS, "latest"),
    "share.isolation.level": Definition(one_of("read_committed", "read_uncommitted"), "read_uncommitted"),
    "share.renew.acknowledge.enable": Definition(boolean(), "true"),
    **_in_brokers(whole(INT, 0), "1000", "share.assignment.interval.ms"),
    **_in_brokers(boolean(), "true", "share.assignor.offload.enable", internal=True),
    **_in_brokers(whole(INT, 1), "45000", "streams.session.timeout.ms"),
    **_in_brokers(whole(INT, 1), "5000", "streams.heartbeat.interval.ms"),
    **_in_brokers(whole(INT, 0), "0", "streams.num.standby.replicas"),
    **_in_brokers(whole(INT, 0), "3000", "streams.initial.rebalance.delay.ms"),
    **_in_brokers(whole(INT, 0), "1000", "streams.assignment.interval.ms"),
    **_in_brokers(boolean(), "true", "streams.assignor.offload.enable", internal=True),
    **_in_brokers(whole(INT, 1), "60000", "streams.task.offset.interval.ms", internal=True),
    **_in_brokers(whole(INT, 0), "2", "streams.num.warmup.replicas", internal=True),
    **_in_brokers(any_list(), "", TAGS),
    **_in_brokers(whole(LONG, 0), "10000", "streams.acceptable.recovery.lag", internal=True),
    ASSIGNOR: Definition(any_text(), "sticky", "group.streams.assignors"),
    QUEUE: Definition(any_text(), ""),
    "errors.deadletterqueue.copy.record.enable": Definition(boolean(), "false"),
}
"""By name, in the order in which Kafka reads them: of several mistakes the first is told."""

SHARES_AND_STREAMS: Mapping[str, tuple[int | None, int | None]] = {
    "share.heartbeat.interval.ms": (5_000, 15_000),
    "share.session.timeout.ms": (45_000, 60_000),
    "share.record.lock.duration.ms": (15_000, 60_000),
    "share.delivery.count.limit": (2, 10),
    "share.partition.max.record.locks": (100, 4_000),
    "share.assignment.interval.ms": (0, 15_000),
    "streams.heartbeat.interval.ms": (5_000, 15_000),
    "streams.session.timeout.ms": (45_000, 60_000),
    "streams.num.standby.replicas": (None, 2),
    "streams.assignment.interval.ms": (0, 15_000),
    "streams.task.offset.interval.ms": (15_000, None),
    "streams.num.warmup.replicas": (None, 20),
}
"""Within which bounds values have to be that no setting of rota's bounds, in the order of Kafka's checks."""


class GroupConfigs:
    """What groups have for themselves, and for all else what the broker has."""

    def __init__(self, settings: Settings, broker: BrokerConfigs) -> None:
        self._coordinator = settings.coordinator
        self._broker = broker
        self._own: dict[str, Mapping[str, str]] = {}
        self._configs: dict[str, CoordinatorConfig] = {}
        self._characters = 0

    def names(self) -> tuple[str, ...]:
        """The groups that have anything of their own."""
        return (*self._own,)

    def own(self, group_id: str) -> Mapping[str, str]:
        """What a group has for itself."""
        return self._own.get(group_id, {})

    def config_of(self, group_id: str) -> CoordinatorConfig | None:
        """What the coordinator goes by, None where that is what it goes by for all."""
        return self._configs.get(group_id)

    def alter(self, group_id: str, given: Mapping[str, str], validate_only: bool = False) -> None:
        """From now on a group has these for itself, and no others.

        Errors: Refusal, INVALID_REQUEST without a group and INVALID_CONFIG for what cannot be, in Kafka's
        words; and for more than rota keeps.
        """
        if not group_id:
            raise Refusal(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        values = _read_all(given)
        _check(values, self._coordinator)
        check_length(given)
        characters = self._characters - self._length(group_id) + _length(group_id, given)
        if characters > MOST_CHARACTERS:
            said = f"all groups' configs would have {characters} characters"
            raise Refusal(ErrorCode.INVALID_CONFIG, f"{said}, of which rota keeps at most {MOST_CHARACTERS}")
        if not validate_only:
            self._characters = characters
            self._keep(group_id, given, values)

    def _length(self, group_id: str) -> int:
        return _length(group_id, self.own(group_id))

    def _keep(self, group_id: str, given: Mapping[str, str], values: Mapping[str, Value]) -> None:
        self._own.pop(group_id, None)
        self._configs.pop(group_id, None)
        if given:
            self._own[group_id] = dict(given)
        times = {
            f"group_consumer_{name}": values[key]
            for name in TIMES
            if (key := f"consumer.{name.replace('_', '.')}") in values
        }
        if times:
            self._configs[group_id] = replace(self._coordinator, **times)  # type: ignore[arg-type]

    def of_group(self, group_id: str) -> Iterator[tuple[str, list[Sourced], int]]:
        """Each config with the values that it has, the one that counts first, and its type.

        Errors: Refusal with INVALID_REQUEST without a group.
        """
        if not group_id:
            raise Refusal(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        own = self.own(group_id)
        for name, definition in DEFINITIONS.items():
            if name in own or not definition.internal:
                yield name, [*_told(name, own), *self._of_broker(name)], definition.kind.number

    def _of_broker(self, name: str) -> Iterator[Sourced]:
        called = DEFINITIONS[name].of_broker or name
        if called in KNOWN:
            yield from self._broker.of_broker(called)
        else:
            yield Sourced(called, DEFINITIONS[name].default, DEFAULT)


def _length(group_id: str, configs: Mapping[str, str]) -> int:
    return sum(len(name) + len(text) for name, text in configs.items()) + (len(group_id) if configs else 0)


def _told(name: str, own: Mapping[str, str]) -> Iterator[Sourced]:
    if name not in own:
        return
    definition = DEFINITIONS[name]
    shown = own[name]
    if not definition.internal:
        value = _read(name, own[name])
        shown = ",".join(value) if isinstance(value, tuple) else str(value)
        shown = shown.lower() if isinstance(value, bool) else shown
    yield Sourced(name, shown, OF_GROUP)


def _read_all(given: Mapping[str, str]) -> dict[str, Value]:
    """The values. Errors: Refusal with INVALID_CONFIG."""
    for name in given:
        if name not in DEFINITIONS:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
    tags = [each.strip() for each in given.get(TAGS, "").split(",")]
    if len({*tags}) < len(tags):
        raise Refusal(ErrorCode.INVALID_CONFIG, f"{TAGS} must not contain duplicate tag keys.")
    return {name: _read(name, given[name]) for name in DEFINITIONS if name in given}


def _read(name: str, text: str) -> Value:
    kind = DEFINITIONS[name].kind
    try:
        value = kind.read(name, text.strip() if kind.number == STRING else text)
    except BadValue as error:
        raise refused(error) from None
    if isinstance(value, tuple) and "" in value:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Configuration '{name}' values must not be empty.")
    return value


def _check(values: Mapping[str, Value], config: CoordinatorConfig) -> None:
    """Whether values may be together. Source: GroupConfig#validateValues. Errors: Refusal."""
    wrong = next(_mistakes(values, config), None)
    if wrong is not None:
        raise Refusal(ErrorCode.INVALID_CONFIG, wrong)


def _mistakes(values: Mapping[str, Value], config: CoordinatorConfig) -> Iterator[str]:
    """What is wrong, in Kafka's words and order."""
    for name, (least, most) in {**_bounds(config), **SHARES_AND_STREAMS}.items():
        value = values.get(name)
        if isinstance(value, int) and not (
            (least is None or least <= value) and (most is None or value <= most)
        ):
            yield f"{name} must be {_within(least, most)}"
    if values.get(ASSIGNOR, STREAMS_ASSIGNORS[0]) not in STREAMS_ASSIGNORS:
        named = f"{ASSIGNOR} '{values[ASSIGNOR]}' is not a registered task assignor."
        yield f"{named} Registered assignors are: [{', '.join(STREAMS_ASSIGNORS)}]."
    session = values.get("consumer.session.timeout.ms", config.group_consumer_session_timeout_ms)
    heartbeat = values.get("consumer.heartbeat.interval.ms", config.group_consumer_heartbeat_interval_ms)
    assert isinstance(session, int)
    assert isinstance(heartbeat, int)
    if session <= heartbeat:
        yield "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    if str(values.get(QUEUE, "")).startswith("__"):
        yield f"{QUEUE}: DLQ topic name must not start with '__'"


def _bounds(config: CoordinatorConfig) -> dict[str, tuple[int | None, int | None]]:
    """Those that are settings, in the order of Kafka's checks."""
    return {
        f"consumer.{name.replace('_', '.')}": (
            getattr(config, f"group_consumer_min_{name}"),
            getattr(config, f"group_consumer_max_{name}"),
        )
        for name in ("heartbeat_interval_ms", "session_timeout_ms", "assignment_interval_ms")
    }


def _within(least: int | None, most: int | None) -> str:
    if least is None:
        return f"less than or equal to {most}"
    return (
        f"greater than or equal to {least}" if most is None else f"in the range {least} to {most} inclusive."
    )
