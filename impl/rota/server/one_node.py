"""What only a cluster has, answered as by a cluster of one: elections, reassignments, quotas, directories.

Nothing is ever elected, reassigned or throttled here, and there is one directory, which is memory.
Source: KIP-183, KIP-455, KIP-546, KIP-113, KIP-700; a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from rota.server.alter_topics import replicas_problem
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.settings import NODE_ID
from rota.server.topics import Topics

LOG_DIR = "memory"

ALLOWED_ON_THE_CLUSTER = 8_096
"""Everything that can be done to a cluster, as bits of AclOperation."""

_ENTITIES = ("user", "client-id", "ip")
_EXACT, _DEFAULT, _ANY = range(3)
_BROKERS, _CONTROLLERS = 1, 2

Body = Mapping[str, Any]
Steps = Generator[None, None, dict[str, Any]]


class OneNode:
    """The handlers; `nodes` gives the brokers at a listener, as Metadata tells them."""

    def __init__(self, topics: Topics, cluster_id: str, nodes: Callable[[str], list[dict[str, Any]]]) -> None:
        self._topics = topics
        self._cluster_id = cluster_id
        self._nodes = nodes

    def elect_leaders(self, body: Body, version: int) -> Steps:
        """Every partition has the leader that it is to have."""
        asked = body["topic_partitions"]
        if asked is None:
            names = sorted(topic.name for topic in self._topics.all())
            return {"replica_election_results": [{"topic": name, "partition_result": []} for name in names]}
        results = []
        for entry in asked:
            yield
            partitions = [self._elected(entry["topic"], index) for index in entry["partitions"]]
            results.append({"topic": entry["topic"], "partition_result": partitions})
        return {"replica_election_results": results}

    def _elected(self, name: str, index: int) -> dict[str, Any]:
        count = self._topics.partition_count(name)
        code, text = ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        if not 0 <= index < count:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            text = f"No such partition as {name}-{index}" if count else f"No such topic as {name}"
        return {"partition_id": index, "error_code": code, "error_message": text}

    def alter_reassignments(self, body: Body, version: int) -> Steps:
        """A partition stays where it is, or cannot go where it is wanted."""
        responses = []
        for entry in body["topics"]:
            yield
            partitions = [self._reassigned(entry["name"], item) for item in entry["partitions"]]
            responses.append({"name": entry["name"], "partitions": partitions})
        allowed = body.get("allow_replication_factor_change", True)
        return {"responses": responses, "allow_replication_factor_change": allowed}

    def _reassigned(self, name: str, item: Body) -> dict[str, Any]:
        index, replicas = item["partition_index"], item["replicas"]
        answer = {"partition_index": index, "error_message": None}
        try:
            if not self._topics.partition_count(name):
                text = f"Unable to find a topic named {name}."
                raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
            if not 0 <= index < self._topics.partition_count(name):
                text = f"Unable to find partition {name}:{index}."
                raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
            if replicas is None:
                raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)
            if problem := replicas_problem(replicas):
                raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
        except Refusal as refusal:
            return answer | {"error_code": refusal.error_code, "error_message": refusal.message}
        return answer

    def list_reassignments(self, body: Body, version: int) -> dict[str, Any]:
        """None is under way."""
        return {"topics": []}

    def describe_quotas(self, body: Body, version: int) -> dict[str, Any]:
        """There are none. Source: ClientQuotasImage#describe."""
        seen: set[str] = set()
        for item in body["components"]:
            kind, how, match = item["entity_type"], item["match_type"], item["match"]
            try:
                _check_component(kind, how, match, kind in seen)
            except Refusal as refusal:
                return {"error_code": refusal.error_code, "error_message": refusal.message, "entries": None}
            seen.add(kind)
        return {"entries": []}

    def describe_log_dirs(self, body: Body, version: int) -> Steps:
        """One directory, with what records take in memory."""
        asked = body["topics"]
        if asked is None:
            wanted = {topic.name: range(len(topic.partitions)) for topic in self._topics.all()}
        else:
            wanted = {entry["topic"]: entry["partitions"] for entry in asked}
        topics = []
        for name, indexes in wanted.items():
            yield
            count = self._topics.partition_count(name)
            partitions = [self._size(name, index) for index in indexes if 0 <= index < count]
            if partitions:
                topics.append({"name": name, "partitions": partitions})
        memory = self._topics.memory
        room = {"total_bytes": memory.capacity, "usable_bytes": memory.capacity - memory.held}
        return {"results": [{"log_dir": LOG_DIR, "topics": topics, **room}]}

    def alter_log_dirs(self, body: Body, version: int) -> Steps:
        """A partition stays in the one directory; where else it is wanted is not there."""
        told: dict[str, list[dict[str, Any]]] = {}
        for entry in body["dirs"]:
            for topic in entry["topics"]:
                yield
                count = self._topics.partition_count(topic["name"])
                partitions = told.setdefault(topic["name"], [])
                for index in topic["partitions"]:
                    code = ErrorCode.NONE if 0 <= index < count else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    if entry["path"] != LOG_DIR:
                        code = ErrorCode.LOG_DIR_NOT_FOUND
                    partitions.append({"partition_index": index, "error_code": code})
        return {"results": [{"topic_name": name, "partitions": told[name]} for name in told]}

    def _size(self, name: str, index: int) -> dict[str, Any]:
        return {"partition_index": index, "partition_size": self._topics.named(name).partition(index).held}

    def describe_cluster(self, body: Body, context: RequestContext) -> None:
        """The brokers; controllers are asked elsewhere."""
        context.reply(self._cluster(body, context.endpoint.listener))

    def _cluster(self, body: Body, listener: str) -> dict[str, Any]:
        kind = body.get("endpoint_type", _BROKERS)
        code, text = ErrorCode.NONE, ""
        if kind == _CONTROLLERS:
            code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
            text = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
            text += "CONTROLLER"
        elif kind != _BROKERS:
            code, text = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {kind}"
        if code:
            return {"error_code": code, "error_message": text, "cluster_id": "", "brokers": []}
        brokers = [
            {"broker_id": each["node_id"], "host": each["host"], "port": each["port"]}
            for each in self._nodes(listener)
        ]
        told = {"cluster_id": self._cluster_id, "controller_id": NODE_ID, "brokers": brokers}
        if body["include_cluster_authorized_operations"]:
            told["cluster_authorized_operations"] = ALLOWED_ON_THE_CLUSTER
        return told


def _check_component(kind: str, how: int, match: str | None, repeated: bool) -> None:
    """Whether quotas can be looked for by this. Errors: Refusal."""
    if not kind:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if repeated:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"Entity type {kind} cannot appear more than once in the filter."
        )
    if kind not in _ENTITIES:
        raise Refusal(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if how not in (_EXACT, _DEFAULT, _ANY):
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Unknown match type {how}")
    named = {_DEFAULT: "MATCH_TYPE_DEFAULT", _ANY: "MATCH_TYPE_SPECIFIED"}
    if how in named and match is not None:
        text = f"Request specified {named[how]}, but also specified a match string."
        raise Refusal(ErrorCode.INVALID_REQUEST, text)
