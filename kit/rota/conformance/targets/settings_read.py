"""The settings of a broker, as it says them itself when it is asked with DescribeConfigs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from rota.conformance.connections.connection import Closed, Connection, Garbage, NotListening
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import advertised
from rota.conformance.targets.target import DEFAULTS
from rota.wire import api

_CLIENT = "rota-settings"
_BROKER = 4
"""The type of resource that a broker is."""


def read_settings(address: tuple[str, int], patience: float) -> dict[str, int]:
    """Those of the settings that cases depend on which the coordinator of a group names; none if it cannot.

    Whatever is wrong with an answer, nothing is read then; an answer is awaited for `patience` seconds.
    """
    try:
        with closing(Connection(address, _CLIENT)) as connection:
            return _asked(connection, patience)
    except (Closed, Garbage, NotListening, Deviation, Undecidable, LookupError):
        return {}


def _asked(connection: Connection, patience: float) -> dict[str, int]:
    ranges = advertised(connection, patience)
    described, found = _newest("DescribeConfigs", ranges), _newest("FindCoordinator", ranges, at_most=3)
    if described is None or found is None:
        return {}
    group = {"key": f"{_CLIENT}-{os.urandom(4).hex()}", "key_type": 0}
    node = _answer(connection, "FindCoordinator", found, group, patience)["node_id"]
    wanted = {"resource_type": _BROKER, "resource_name": str(node), "configuration_keys": list(DEFAULTS)}
    body = _answer(connection, "DescribeConfigs", described, {"resources": [wanted]}, patience)
    said = {
        config["name"]: config["value"] or ""
        for result in body["results"]
        if result["error_code"] == 0
        for config in result["configs"]
    }
    return {name: int(said[name]) for name in DEFAULTS if said.get(name, "").isdigit()}


def _newest(name: str, ranges: Mapping[int, tuple[int, int]], at_most: int | None = None) -> int | None:
    """The newest version that both sides have, if there is one."""
    known = api(name)
    first, last = ranges.get(known.key, (0, -1))
    newest = min(last, known.max_version if at_most is None else at_most)
    return newest if newest >= max(first, known.min_version) else None


def _answer(
    connection: Connection, name: str, version: int, body: Mapping[str, Any], patience: float
) -> dict[str, Any]:
    answer = connection.receive(connection.send(name, version, body), patience)
    if answer is None:
        raise Undecidable(f"no answer to {name} in {patience:g} s")
    return answer.body
