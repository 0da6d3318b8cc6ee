"""Which APIs a server has, in which versions: ApiVersions."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from rota.server.errors import ErrorCode
from rota.server.features import features
from rota.server.settings import NODE_ID
from rota.wire import advertised, api

CLUSTER_ID = "rota"

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_REFUSED_BELOW = {"Produce": 3}
"""First versions served where older ones are advertised, as Kafka does for librdkafka (KAFKA-18659)."""

Body = Mapping[str, Any]


class ApiRanges:
    """The APIs of a server, in the versions that a broker of Kafka 4.x has and the codec can do.

    nodes: the ids under which clients may look for it.
    """

    def __init__(self, names: frozenset[str], nodes: Container[int] = (NODE_ID,)) -> None:
        self._nodes = nodes
        self._ranges = {
            api(name).key: (first, min(last, api(name).max_version))
            for name, (first, last) in advertised().items()
            if name in names
        }
        self._served = dict(self._ranges)
        for name, first in _REFUSED_BELOW.items():
            if name in names:
                self._served[api(name).key] = (first, self._ranges[api(name).key][1])

    def serves(self, key: int, version: int) -> bool:
        """Whether a request of that API and version is answered."""
        first, last = self._served.get(key, (0, -1))
        return first <= version <= last

    def api_versions(self, body: Body, version: int) -> dict[str, Any]:
        """All APIs. From version 3 on, a client that names itself oddly gets INVALID_REQUEST; from 5 on, one
        that looks for another broker gets REBOOTSTRAP_REQUIRED (KIP-1242)."""
        software = (body["client_software_name"], body["client_software_version"]) if version >= 3 else ()
        if not all(_SOFTWARE.fullmatch(text) for text in software):
            return {"error_code": ErrorCode.INVALID_REQUEST}
        if error := self._addressee_error(body):
            return {"error_code": error}
        return {"api_keys": [self._range(key) for key in self._ranges], **features(version)}

    def out_of_range(self) -> dict[str, Any]:
        """The answer, in version 0, to an ApiVersions of a version that is not served (KIP-511)."""
        key = api("ApiVersions").key
        return {"error_code": ErrorCode.UNSUPPORTED_VERSION, "api_keys": [self._range(key)]}

    def _range(self, key: int) -> dict[str, int]:
        first, last = self._ranges[key]
        return {"api_key": key, "min_version": first, "max_version": last}

    def _addressee_error(self, body: Body) -> int:
        """What is wrong with whom a client looks for: cluster and node are named both or neither."""
        cluster_id, node_id = body.get("cluster_id"), body.get("node_id", -1)
        if (cluster_id is None) != (node_id == -1):
            return ErrorCode.INVALID_REQUEST
        if cluster_id is not None and (cluster_id != CLUSTER_ID or node_id not in self._nodes):
            return ErrorCode.REBOOTSTRAP_REQUIRED
        return ErrorCode.NONE
