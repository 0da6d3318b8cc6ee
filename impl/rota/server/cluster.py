"""What a broker answers without its group coordinator: ApiVersions, Metadata, FindCoordinator.

The cluster is this one broker: it leads every partition and coordinates every group. Topics exist in name
only; they are made when Metadata asks for them, if settings and request allow it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from rota.server.settings import Settings
from rota.wire import api, membership_apis

NODE_ID = 1
CLUSTER_ID = "rota"

_COORDINATOR_NOT_AVAILABLE = 15
_UNKNOWN_TOPIC_OR_PARTITION = 3
_INVALID_TOPIC_EXCEPTION = 17
_UNSUPPORTED_VERSION = 35
_INVALID_REQUEST = 42
_UNKNOWN_TOPIC_ID = 100

_NO_TOPIC_ID = UUID(int=0)
_TOPIC_NAME = re.compile(r"(?!\.\.?$)[a-zA-Z0-9._-]{1,249}")
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_GROUP, _TRANSACTION = 0, 1

Body = Mapping[str, Any]


def api_versions(body: Body, version: int) -> dict[str, Any]:
    """All APIs of the server. From version 3 on, a client that names itself oddly gets INVALID_REQUEST."""
    software = (body["client_software_name"], body["client_software_version"]) if version >= 3 else ()
    if not all(_SOFTWARE.fullmatch(text) for text in software):
        return {"error_code": _INVALID_REQUEST}
    return {"api_keys": [_range(item.key) for item in membership_apis()]}


def api_versions_out_of_range() -> dict[str, Any]:
    """The answer, in version 0, to an ApiVersions of a version that the server does not have (KIP-511)."""
    return {"error_code": _UNSUPPORTED_VERSION, "api_keys": [_range(api("ApiVersions").key)]}


def _range(key: int) -> dict[str, int]:
    found = api(key)
    return {"api_key": key, "min_version": found.min_version, "max_version": found.max_version}


class Cluster:
    """The topics of the one broker at `host`:`port`."""

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        self._settings = settings
        self._host = host
        self._port = port
        self._topics: dict[str, UUID] = {}

    def find_coordinator(self, body: Body, version: int) -> dict[str, Any]:
        """This broker for groups. It has no transactions (COORDINATOR_NOT_AVAILABLE) and nothing else."""
        key_type = body.get("key_type", _GROUP)
        if version >= 4:
            return {"coordinators": [self._coordinator(key_type, key) for key in body["coordinator_keys"]]}
        found = self._coordinator(key_type, body["key"])
        return {name: value for name, value in found.items() if name != "key"}

    def _coordinator(self, key_type: int, key: str) -> dict[str, Any]:
        if key_type == _GROUP:
            return {"key": key, "node_id": NODE_ID, "host": self._host, "port": self._port}
        error = _COORDINATOR_NOT_AVAILABLE if key_type == _TRANSACTION else _INVALID_REQUEST
        return {"key": key, "node_id": -1, "host": "", "port": -1, "error_code": error}

    def metadata(self, body: Body, version: int) -> dict[str, Any]:
        """The broker and the topics asked for: all for null (in version 0: for none), by name, or by id."""
        asked = body["topics"]
        if asked is None or (version == 0 and not asked):
            topics = [self._topic(name) for name in self._topics]
        elif 10 <= version < 12 and any(_by_id(topic) for topic in asked):
            topics = [
                {**topic, "name": topic["name"] or "", "error_code": _INVALID_REQUEST} for topic in asked
            ]
        else:
            topics = self._asked(asked, body.get("allow_auto_topic_creation", True))
        return {
            "brokers": [{"node_id": NODE_ID, "host": self._host, "port": self._port}],
            "cluster_id": CLUSTER_ID,
            "controller_id": NODE_ID,
            "topics": topics,
        }

    def _asked(self, asked: list[dict[str, Any]], allow_creation: bool) -> list[dict[str, Any]]:
        """Topics by id if the request has any id (names are ignored then, as a broker does), else by name."""
        ids = dict.fromkeys(topic["topic_id"] for topic in asked if topic.get("topic_id", _NO_TOPIC_ID).int)
        if ids:
            names = {topic_id: name for name, topic_id in self._topics.items()}
            return [self._topic(names[key]) if key in names else _unknown_id(key) for key in ids]
        return [self._named(name, allow_creation) for name in dict.fromkeys(topic["name"] for topic in asked)]

    def _named(self, name: str | None, allow_creation: bool) -> dict[str, Any]:
        if name in self._topics:
            return self._topic(name)
        if name is None or not _TOPIC_NAME.fullmatch(name):
            return {"name": name or "", "error_code": _INVALID_TOPIC_EXCEPTION}
        if not (allow_creation and self._settings.auto_create_topics_enable):
            return {"name": name, "error_code": _UNKNOWN_TOPIC_OR_PARTITION}
        self._topics[name] = uuid4()
        return self._topic(name)

    def _topic(self, name: str) -> dict[str, Any]:
        nodes = [NODE_ID]
        partitions = [
            {
                "partition_index": index,
                "leader_id": NODE_ID,
                "leader_epoch": 0,
                "replica_nodes": nodes,
                "isr_nodes": nodes,
            }
            for index in range(self._settings.num_partitions)
        ]
        return {"name": name, "topic_id": self._topics[name], "partitions": partitions}


def _by_id(topic: Body) -> bool:
    return topic["name"] is None or topic["topic_id"] != _NO_TOPIC_ID


def _unknown_id(topic_id: UUID) -> dict[str, Any]:
    return {"name": None, "topic_id": topic_id, "error_code": _UNKNOWN_TOPIC_ID}
