"""The configs that topics have from their broker: those of its start, and those it is given while it runs.

Source: KIP-226; upstream's ServerTopicConfigSynonyms, DynamicBrokerConfig and ConfigHelper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rota.server.config_kinds import INT, LIST, LONG, STRING, BadValue, Kind, whole
from rota.server.errors import ErrorCode, Refusal
from rota.server.settings import KNOWN, NODE_ID, Settings, default_text
from rota.server.topic_configs import BY_BROKERS_NAME, DEFINITIONS, Configs

OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT = range(1, 6)
"""Where a config's value is from, by the numbers of DescribeConfigs."""

ALL = ""
"""The name of the broker that stands for all of them."""

MAX_CONFIGS = 4_096
"""Characters of all configs of one topic, or of those that a broker is given while it runs."""

OF_START: Mapping[str, int] = {
    "advertised.listeners": LIST,
    "broker.id": INT,
    "listener.security.protocol.map": STRING,
    "listeners": LIST,
    "node.id": INT,
}
"""What a broker is and where it listens, with its type: known from its start, and never altered here."""

CLEANER_BACKOFF = "log.cleaner.backoff.ms"
DYNAMIC: Mapping[str, Kind] = {CLEANER_BACKOFF: whole(LONG, 0)}
"""Settings that may be altered while the broker runs and that topics have none of."""

_NEW_CLUSTER = {"min.insync.replicas": "1"}
"""What a cluster that is formatted by 4.4.0 has for all brokers (KIP-966)."""


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value of a config, what it is called there, and where it is from."""

    name: str
    value: str
    source: int


class BrokerConfigs:
    """The broker's configs by name; those that are altered are by `NODE_ID` or for all brokers (`ALL`)."""

    def __init__(self, settings: Settings) -> None:
        self._static = {name: settings.text_of(name) for name in KNOWN}
        self._altered: dict[str, dict[str, str]] = {ALL: dict(_NEW_CLUSTER), str(NODE_ID): {}}

    def altered(self, broker: str) -> Mapping[str, str]:
        """What has been altered for this broker, or for all."""
        return self._altered[broker]

    def alter(self, broker: str, configs: Configs) -> None:
        """From now on these are what is altered there."""
        self._altered[broker] = dict(configs)

    def inherited(self) -> dict[str, str]:
        """What a topic has of each config if it is given none of its own."""
        return {name: next(self.of_topic(name)).value for name in DEFINITIONS}

    def of_topic(self, name: str) -> Iterator[Sourced]:
        """The values of a topic's config, but for the topic's own, the one that counts first."""
        of_broker = DEFINITIONS[name].of_broker
        if of_broker is None:
            yield Sourced(name, DEFINITIONS[name].default, DEFAULT)
        else:
            yield from self.of_broker(of_broker)

    def of_broker(self, name: str, broker: str = str(NODE_ID)) -> Iterator[Sourced]:
        """The values of a broker's config, the one that counts first; for all brokers what is altered."""
        for altered, source in ((str(NODE_ID), OF_BROKER), (ALL, OF_ALL_BROKERS)):
            if name in self._altered[altered] and broker in (str(NODE_ID), altered):
                yield Sourced(name, self._altered[altered][name], source)
        if broker == ALL:
            return
        first = usual(name)
        started = self._static.get(name, first)
        if started != first:
            yield Sourced(name, started, STATIC)
        if name in BY_BROKERS_NAME or name in KNOWN:
            yield Sourced(name, first, DEFAULT)

    def names(self, broker: str) -> set[str]:
        """The configs that are told of a broker, or of all."""
        altered = {*self._altered[broker]}
        return altered if broker == ALL else {*KNOWN, *BY_BROKERS_NAME, *altered, *self._altered[ALL]}


def usual(name: str) -> str:
    """What a broker's config is if nothing is said."""
    if name in KNOWN:
        return default_text(name)
    return DEFINITIONS[BY_BROKERS_NAME[name]].default if name in BY_BROKERS_NAME else ""


def is_dynamic(name: str) -> bool:
    """Whether a broker's config can be altered while it runs; what it does not know can, as in Kafka."""
    return name in BY_BROKERS_NAME or name in DYNAMIC or not (name in KNOWN or name in OF_START)


def check_length(configs: Configs) -> None:
    """Whether all that a topic or a broker is told may be kept. Errors: Refusal with INVALID_CONFIG."""
    size = sum(len(name) + len(value) for name, value in configs.items())
    if size > MAX_CONFIGS:
        text = f"the configs have {size} characters, of which rota keeps at most {MAX_CONFIGS}"
        raise Refusal(ErrorCode.INVALID_CONFIG, text)


def check_broker(configs: Configs) -> None:
    """Whether a broker may be given these while it runs.

    Errors: Refusal with INVALID_REQUEST and Kafka's words. Source: DynamicBrokerConfig#validate.
    """
    fixed = [name for name in configs if not is_dynamic(name)]
    if fixed:
        text = f"Cannot update these configs dynamically: [{', '.join(fixed)}]"
        raise Refusal(ErrorCode.INVALID_REQUEST, text)
    for name, text in configs.items():
        kind = DEFINITIONS[BY_BROKERS_NAME[name]].kind if name in BY_BROKERS_NAME else DYNAMIC.get(name)
        if kind is not None:
            try:
                kind.read(name, text)
            except BadValue as error:
                raise Refusal(ErrorCode.INVALID_REQUEST, str(error)) from None


def named_broker(
    name: str, text: str = "Unexpected broker id, expected {} or empty string, but received {}"
) -> str:
    """The broker that is meant, `ALL` for an empty name. Errors: Refusal with INVALID_REQUEST."""
    if name in (ALL, str(NODE_ID)):
        return name
    raise Refusal(ErrorCode.INVALID_REQUEST, text.format(NODE_ID, name))
