"""AlterConfigs and IncrementalAlterConfigs, of topics, of groups and of the broker.

Source: KIP-133, KIP-339; upstream's ConfigAdminManager and ConfigurationControlManager, and a running Kafka
4.4.0. That one never answers an AlterConfigs which names a resource twice; here it is answered as an
IncrementalAlterConfigs is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from rota.server.broker_configs import ALL, check_broker, check_length, named_broker
from rota.server.config_kinds import LIST
from rota.server.describe_configs import BROKER, GROUP, TOPIC
from rota.server.errors import ErrorCode, Refusal
from rota.server.group_configs import GroupConfigs
from rota.server.topic_configs import DEFINITIONS, Configs, check
from rota.server.topics import Topics, name_problem

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_WORDS = {_APPEND: "APPEND", _SUBTRACT: "SUBTRACT"}

Body = Mapping[str, Any]
Change = Callable[[Body, Mapping[str, str]], dict[str, str]]
"""What a resource's own configs are to be, from what is asked and what they are."""


class AlterConfigs:
    """The handler of both requests; `incremental` says of which."""

    def __init__(self, topics: Topics, groups: GroupConfigs, incremental: bool) -> None:
        self._topics = topics
        self._groups = groups
        self._changed: Change = _incremented if incremental else _replaced

    def __call__(self, body: Body, version: int) -> Generator[None, None, dict[str, Any]]:
        """Alters what can be altered, or with `validate_only` says what could be."""
        counts = Counter((each["resource_type"], each["resource_name"]) for each in body["resources"])
        responses = []
        for asked in body["resources"]:
            kind, name = asked["resource_type"], asked["resource_name"]
            response = {"resource_type": kind, "resource_name": name}
            try:
                if counts[kind, name] > 1:
                    text = "Each resource must appear at most once."
                    raise Refusal(ErrorCode.INVALID_REQUEST, text)
                yield from self._alter(kind, name, asked, body["validate_only"])
            except Refusal as refusal:
                response |= {"error_code": refusal.error_code, "error_message": refusal.message}
            responses.append(response)
            yield
        return {"responses": responses}

    def _alter(self, kind: int, name: str, asked: Body, validate_only: bool) -> Iterator[None]:
        _check_configs(asked["configs"])
        if kind == TOPIC:
            self._alter_topic(name, asked, validate_only)
        elif kind == BROKER:
            self._alter_broker(name, asked, validate_only)
            yield from self._topics.inherit()
        elif kind == GROUP:
            self._groups.alter(name, self._changed(asked, self._groups.own(name)), validate_only)
        else:
            raise Refusal(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")

    def _alter_topic(self, name: str, asked: Body, validate_only: bool) -> None:
        if not name:
            raise Refusal(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        problem = name_problem(name)
        if problem:
            raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if not self._topics.partition_count(name):
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        changed = self._changed(asked, self._topics.effective(name))
        own = _own(changed, self._topics.named(name).configs, asked)
        check_length(own)
        check(own, self._topics.configs.inherited())
        if not validate_only:
            self._topics.configure(name, own)

    def _alter_broker(self, name: str, asked: Body, validate_only: bool) -> None:
        if name != ALL and not re.fullmatch(r"[+-]?[0-9]{1,9}", name):
            raise Refusal(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
        broker = named_broker(name, "Unexpected broker id, expected {}, but received {}")
        changed = self._changed(asked, self._topics.configs.altered(broker))
        check_length(changed)
        check_broker(
            {each["name"]: changed[each["name"]] for each in asked["configs"] if each["name"] in changed}
        )
        if not validate_only:
            self._topics.configs.alter(broker, changed)


def _check_configs(configs: list[Body]) -> None:
    """Errors: Refusal with INVALID_REQUEST."""
    if len({each["name"] for each in configs}) < len(configs):
        raise Refusal(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    without = [
        each["name"] for each in configs if each["value"] is None and each.get("config_operation") != _DELETE
    ]
    if without:
        text = f"Null value not supported for : {','.join(without)}"
        raise Refusal(ErrorCode.INVALID_REQUEST, text)


def _own(changed: Configs, before: Configs, asked: Body) -> dict[str, str]:
    """Of what a topic then has, what is its own: what it had and what was asked for."""
    names = {*before, *(each["name"] for each in asked["configs"])}
    return {name: changed[name] for name in changed if name in names}


def _replaced(asked: Body, now: Mapping[str, str]) -> dict[str, str]:
    """AlterConfigs: what is not named goes back to what it is by default."""
    return {each["name"]: each["value"] for each in asked["configs"]}


def _incremented(asked: Body, now: Mapping[str, str]) -> dict[str, str]:
    changed = dict(now)
    for each in asked["configs"]:
        name, how = each["name"], each["config_operation"]
        if how == _DELETE:
            changed.pop(name, None)
        elif how == _SET:
            changed[name] = each["value"]
        elif how in _WORDS:
            changed[name] = _listed(name, how, each["value"], changed.get(name, ""))
        else:
            raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return changed


def _listed(name: str, how: int, value: str, before: str) -> str:
    """A list with the values appended or taken out. Errors: Refusal with INVALID_CONFIG."""
    definition = DEFINITIONS.get(name)
    if definition is None or definition.kind.number != LIST:
        text = f"Can't {_WORDS[how]} to key {name} because its type is not LIST."
        raise Refusal(ErrorCode.INVALID_CONFIG, text)
    values = [each for each in before.split(",") if each]
    for each in value.split(","):
        if how == _APPEND and each not in values:
            values.append(each)
        elif how == _SUBTRACT and each in values:
            values.remove(each)
    return ",".join(values)
