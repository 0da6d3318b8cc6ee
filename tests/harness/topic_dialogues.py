"""Dialogues about topics, their configs, fetch sessions and the cluster, on any broker of one node, as text.

A dialogue is a list of requests, sent one after the other on one connection to a broker that was started for
it; what is told leaves out what differs between two runs: ids are the names of their topics, session ids are
numbered, ports and clocks are gone.
"""

import json
import socket
import time
from pathlib import Path
from uuid import UUID

from rota.wire import decode_response, encode_request, frame
from rota.wire.error_codes import ERROR_CODES
from rota.wire.records import Record, encode_batch

NAMES = {code: name for name, code in ERROR_CODES.items()}
LEFT_OUT = {
    "throttle_time_ms", "cluster_id", "documentation", "log_append_time_ms", "port", "log_dir", "total_bytes",
    "usable_bytes", "last_fetch_timestamp", "last_caught_up_timestamp", "diverging_epoch", "current_leader",
    "snapshot_id", "preferred_read_replica", "is_sensitive",
}  # fmt: skip
CHANGES = {"CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs"}
"""What a broker of Kafka knows of only when its metadata have come from the controller."""

MANY, DEFAULT = 20, 5
"""Of so many configs those that are default are only counted; what a default one's source is."""

PATIENCE = 60
"""Seconds to wait for an answer."""


class Player:
    """One connection; `settle` is how long a change takes until all of a broker knows of it, in seconds."""

    def __init__(self, address, settle=0.0):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.settle = settle
        self.ids = {}
        self.sessions = []
        self.number = 0

    def close(self):
        self.stream.close()
        self.socket.close()

    def ask(self, name, version, body):
        self.number += 1
        self.socket.sendall(frame(encode_request(name, version, body, self.number, "dialogue")))
        size = self.stream.read(4)
        if len(size) < 4:
            return None
        return decode_response(name, version, self.stream.read(int.from_bytes(size, "big"))).body

    def play(self, name, version, body):
        """The line that tells the answer."""
        answer = self.ask(name, version, self.sent(body))
        if name == "CreateTopics" and answer:
            for topic in answer["topics"]:
                if "topic_id" in topic and topic["topic_id"].int:
                    self.ids[topic["name"]] = topic["topic_id"]
        if name in CHANGES:
            time.sleep(self.settle)
        if name == "Produce" and answer:
            for partition in (each for topic in answer["responses"] for each in topic["partition_responses"]):
                # The words of a refused batch have clocks in them; those of Kafka are about single records.
                partition["error_message"] = partition["record_errors"] = None
        return "closed" if answer is None else text(self.told(answer))

    def sent(self, value):
        """A body with ids for `id of NAME` and sessions for `session N`."""
        if isinstance(value, dict):
            return {key: self.sent(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.sent(each) for each in value]
        if isinstance(value, str) and value.startswith("id of "):
            return self.ids.get(value.removeprefix("id of "), UUID(int=77))
        if isinstance(value, str) and value.startswith("session "):
            return self.sessions[int(value.removeprefix("session "))]
        return value

    def told(self, value, key=""):
        if isinstance(value, dict):
            names = [each for each in value if each not in LEFT_OUT]
            shown = {each: self.told(value[each], each) for each in names}
            return {each: one for each, one in shown.items() if one not in (None, "", [], "NONE")}
        if isinstance(value, list):
            items = [self.told(each) for each in value]
            if key == "configs" and len(items) > MANY and "synonyms" not in value[0]:
                set_ones = [each for each in items if each["config_source"] != DEFAULT]
                return [*sorted(set_ones, key=text), f"{len(items) - len(set_ones)} defaults"]
            return sorted(items, key=text)
        if isinstance(value, UUID):
            labels = {found: name for name, found in self.ids.items()}
            return labels.get(value, "no id" if not value.int else "an id")
        if isinstance(value, bytes | memoryview):
            return f"{len(value)} bytes"
        if key == "error_code":
            return NAMES[value]
        if key == "session_id":
            if value and value not in self.sessions:
                self.sessions.append(value)
            return f"session {self.sessions.index(value)}" if value else "none"
        return value


def text(value):
    """A value of JSON in one line, without quotes around names."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def asked(name, version, body):
    """The line that tells a request."""
    return f"{name} v{version} {text(body) if body else ''}".rstrip()


def play(address, dialogue, settle=0.0):
    """The lines of a dialogue on a broker."""
    player = Player(address, settle)
    lines = []
    try:
        for name, version, body in dialogue:
            shown = {key: each for key, each in body.items() if key not in {"timeout_ms", "topic_data"}}
            lines += [asked(name, version, shown), f"    {player.play(name, version, body)}"]
    finally:
        player.close()
    return lines


TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def create(*names, version=7, validate_only=False, count=1, **configs):
    pairs = [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]
    each = [
        {"name": name, "num_partitions": count, "replication_factor": 1, "configs": pairs} for name in names
    ]
    return "CreateTopics", version, {"topics": each, "timeout_ms": 30_000, "validate_only": validate_only}


def refused(**configs):
    """A topic that is not made."""
    return create("x", validate_only=True, version=4, **configs)


def describe(*resources, keys=None, version=4, synonyms=False):
    each = [
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys} for kind, name in resources
    ]
    return "DescribeConfigs", version, {"resources": each, "include_synonyms": synonyms}


def alter(kind, name, validate_only=False, **configs):
    pairs = [{"name": one.replace("_", "."), "value": value} for one, value in configs.items()]
    each = {"resource_type": kind, "resource_name": name, "configs": pairs}
    return "AlterConfigs", 2, {"resources": [each], "validate_only": validate_only}


def change(kind, name, *configs, validate_only=False):
    pairs = [{"name": one, "config_operation": how, "value": value} for one, how, value in configs]
    each = {"resource_type": kind, "resource_name": name, "configs": pairs}
    return "IncrementalAlterConfigs", 1, {"resources": [each], "validate_only": validate_only}


def produce(name, *values, index=0, key=None, timestamp=None):
    at = int(time.time() * 1000) if timestamp is None else timestamp
    records = [Record(number, at, key, value) for number, value in enumerate(values)]
    data = [{"name": name, "partition_data": [{"index": index, "records": encode_batch(records)}]}]
    return "Produce", 12, {"acks": -1, "timeout_ms": 30_000, "topic_data": data}


def delete_records(name, *offsets):
    places = [{"partition_index": index, "offset": offset} for index, offset in offsets]
    return "DeleteRecords", 2, {"topics": [{"name": name, "partitions": places}], "timeout_ms": 30_000}


def delete(*topics, version=6):
    asked = {"topics": list(topics)} if version >= 6 else {"topic_names": list(topics)}
    return "DeleteTopics", version, {**asked, "timeout_ms": 30_000}


def grow(*topics, validate_only=False):
    each = [{"assignments": None} | topic for topic in topics]
    return "CreatePartitions", 3, {"topics": each, "timeout_ms": 30_000, "validate_only": validate_only}


def metadata(*names, create=False, version=12):
    wanted = [{"name": name} for name in names]
    return "Metadata", version, {"topics": wanted, "allow_auto_topic_creation": create}


def partitions_of(*names, limit=2000, cursor=None):
    wanted = [{"name": name} for name in names]
    return (
        "DescribeTopicPartitions",
        0,
        {"topics": wanted, "response_partition_limit": limit, "cursor": cursor},
    )


def place(index, offset=0):
    return {"partition": index, "fetch_offset": offset, "partition_max_bytes": 2**20}


def fetch(session, epoch, topics=(), forgotten=(), version=12, wait=0):
    body = {"max_wait_ms": wait, "min_bytes": 1, "session_id": session, "session_epoch": epoch}
    return "Fetch", version, {**body, "topics": list(topics), "forgotten_topics_data": list(forgotten)}


def listed(name, timestamp):
    asked = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}]
    return "ListOffsets", 7, {"topics": asked}


def epochs(name, index, epoch, current=-1):
    one = {"partition": index, "current_leader_epoch": current, "leader_epoch": epoch}
    return "OffsetForLeaderEpoch", 4, {"topics": [{"topic": name, "partitions": [one]}]}


def features(*updates, version=2, validate_only=True):
    each = [
        {"feature": name, "max_version_level": level, "upgrade_type": how} for name, level, how in updates
    ]
    return "UpdateFeatures", version, {"feature_updates": each, "validate_only": validate_only}


def moved(*places, version=2):
    dirs = [
        {"path": path, "topics": [{"name": name, "partitions": indexes}]} for path, name, indexes in places
    ]
    return "AlterReplicaLogDirs", version, {"dirs": dirs}


def quorum(*places, version=2):
    each = [{"topic_name": name, "partitions": [{"partition_index": index}]} for name, index in places]
    return "DescribeQuorum", version, {"topics": each}


A, B = "t", "u"
LOG_OF_METADATA = "__cluster_metadata"
DIALOGUES = {
    "configs of a new topic": [
        create(A, retention_ms="1000000", cleanup_policy="compact", max_message_bytes="2000"),
        create("v5", version=5),
        refused(nonsense="1"),
        refused(nonsense=None),
        refused(retention_ms=None),
        refused(retention_ms="soon"),
        refused(retention_ms="-2"),
        refused(retention_ms=" 1000 "),
        refused(retention_ms="1.5"),
        refused(retention_ms="9223372036854775808"),
        refused(retention_ms=""),
        refused(max_message_bytes="-1"),
        refused(max_message_bytes="3000000000"),
        refused(cleanup_policy="shrink"),
        refused(cleanup_policy="compact,delete"),
        refused(cleanup_policy=" compact , delete "),
        refused(cleanup_policy=""),
        refused(cleanup_policy="compact,compact"),
        refused(compression_type="best"),
        refused(compression_type="zstd"),
        refused(compression_gzip_level="0"),
        refused(compression_gzip_level="10"),
        refused(compression_lz4_level="18"),
        refused(compression_zstd_level="99"),
        refused(message_timestamp_type="Never"),
        refused(message_timestamp_type="LogAppendTime"),
        refused(min_cleanable_dirty_ratio="2"),
        refused(min_cleanable_dirty_ratio="half"),
        refused(min_cleanable_dirty_ratio="0"),
        refused(min_insync_replicas="0"),
        refused(min_insync_replicas="2"),
        refused(preallocate="maybe"),
        refused(preallocate="TRUE"),
        refused(segment_bytes="1"),
        refused(segment_bytes="1048576"),
        refused(segment_ms="0"),
        refused(segment_jitter_ms="-1"),
        refused(segment_index_bytes="3"),
        refused(index_interval_bytes="-1"),
        refused(flush_messages="0"),
        refused(flush_ms="-1"),
        refused(file_delete_delay_ms="-1"),
        refused(delete_retention_ms="-1"),
        refused(min_compaction_lag_ms="-1"),
        refused(max_compaction_lag_ms="0"),
        refused(min_compaction_lag_ms="10", max_compaction_lag_ms="5"),
        refused(message_timestamp_before_max_ms="-1"),
        refused(message_timestamp_after_max_ms="-1"),
        refused(retention_bytes="-2"),
        refused(retention_bytes="100", local_retention_bytes="200"),
        refused(local_retention_bytes="-3"),
        refused(retention_ms="100", local_retention_ms="200"),
        refused(local_retention_ms="-3"),
        refused(leader_replication_throttled_replicas="foo"),
        refused(leader_replication_throttled_replicas="*"),
        refused(leader_replication_throttled_replicas="0:1,1:1"),
        refused(remote_storage_enable="true"),
        refused(unclean_leader_election_enable="true"),
        refused(max_decompressed_message_bytes="-1"),
        refused(errors_deadletterqueue_group_enable="true"),
        refused(remote_copy_lag_ms="-3"),
        refused(remote_copy_lag_bytes="-3"),
        refused(remote_log_copy_disable="true"),
        refused(remote_log_delete_on_disable="true"),
        refused(**{"": "1"}),
        create("x", "x", validate_only=True, version=4),
        create("__consumer_offsets", version=4),
    ],
    "configs described": [
        create(A, retention_ms="1000000", cleanup_policy="compact,delete"),
        describe((TOPIC, A), synonyms=True),
        describe((TOPIC, A), keys=["retention.ms", "nonsense", "cleanup.policy"]),
        describe((TOPIC, A), keys=["cleanup.policy"], version=1, synonyms=True),
        describe((TOPIC, A), keys=[]),
        describe((TOPIC, A), (TOPIC, "no"), (TOPIC, "a b"), (TOPIC, A), keys=["retention.ms"]),
        describe((TOPIC, ""), keys=["retention.ms"]),
        describe((BROKER, "1"), keys=["num.partitions", "message.max.bytes", "group.max.size", "nonsense"]),
        describe((BROKER, "1"), keys=["log.retention.bytes", "node.id"], synonyms=True),
        describe((BROKER, ""), keys=None),
        describe((BROKER, "2"), keys=["num.partitions"]),
        describe((BROKER, "x"), keys=["num.partitions"]),
        describe((1, "x")),
        describe((99, "x")),
        ("ListConfigResources", 1, {"resource_types": [TOPIC]}),
        ("ListConfigResources", 1, {"resource_types": []}),
        ("ListConfigResources", 1, {"resource_types": [99]}),
        ("ListConfigResources", 0, {}),
    ],
    "configs altered": [
        create(A, retention_ms="1000000"),
        alter(TOPIC, A, cleanup_policy="compact", max_message_bytes="5000"),
        describe((TOPIC, A), keys=["retention.ms", "cleanup.policy", "max.message.bytes"]),
        alter(TOPIC, A, validate_only=True, retention_ms="1"),
        alter(TOPIC, A, nonsense="1"),
        alter(TOPIC, A, retention_ms=None),
        alter(TOPIC, A, retention_ms="soon"),
        alter(TOPIC, "no", retention_ms="1"),
        alter(TOPIC, "a b", retention_ms="1"),
        alter(TOPIC, "", retention_ms="1"),
        alter(BROKER, "2", num_partitions="1"),
        alter(1, "x", retention_ms="1"),
        alter(99, "x", retention_ms="1"),
        alter(TOPIC, A),
        describe((TOPIC, A), keys=["retention.ms", "cleanup.policy", "max.message.bytes"]),
    ],
    "configs altered one by one": [
        create(A, retention_ms="1000000"),
        change(TOPIC, A, ("cleanup.policy", APPEND, "compact"), ("retention.ms", SET, "5")),
        describe((TOPIC, A), keys=["retention.ms", "cleanup.policy"]),
        change(TOPIC, A, ("cleanup.policy", APPEND, "compact")),
        change(TOPIC, A, ("cleanup.policy", SUBTRACT, "delete")),
        describe((TOPIC, A), keys=["cleanup.policy"]),
        change(TOPIC, A, ("cleanup.policy", SUBTRACT, "nothing")),
        change(TOPIC, A, ("cleanup.policy", SUBTRACT, "compact")),
        change(TOPIC, A, ("cleanup.policy", DELETE, None), ("retention.ms", DELETE, "x")),
        describe((TOPIC, A), keys=["retention.ms", "cleanup.policy"]),
        change(TOPIC, A, ("retention.ms", DELETE, None)),
        change(TOPIC, A, ("nonsense", DELETE, None)),
        change(TOPIC, A, ("nonsense", SET, "1")),
        change(TOPIC, A, ("retention.ms", APPEND, "1")),
        change(TOPIC, A, ("retention.ms", SET, None)),
        change(TOPIC, A, ("retention.ms", SET, "soon")),
        change(TOPIC, A, ("retention.ms", 7, "1")),
        change(TOPIC, A, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
        change(TOPIC, A, ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)),
        change(TOPIC, A, ("retention.ms", SET, "1"), validate_only=True),
        change(TOPIC, A, ("retention.bytes", SET, "100"), ("local.retention.bytes", SET, "200")),
        change(TOPIC, "no", ("retention.ms", SET, "1")),
        change(TOPIC, A),
        change(TOPIC, "no"),
        describe((TOPIC, A), keys=["retention.ms", "retention.bytes"]),
        (
            "IncrementalAlterConfigs",
            1,
            {"resources": change(TOPIC, A, ("retention.ms", SET, "1"))[2]["resources"] * 2},
        ),
    ],
    "configs of the broker": [
        create(A),
        change(BROKER, "1", ("message.max.bytes", SET, "3000")),
        describe((BROKER, "1"), keys=["message.max.bytes"], synonyms=True),
        describe((TOPIC, A), keys=["max.message.bytes"], synonyms=True),
        change(BROKER, "", ("message.max.bytes", SET, "4000"), ("log.retention.bytes", SET, "7")),
        describe((BROKER, "1"), keys=["message.max.bytes", "log.retention.bytes"], synonyms=True),
        describe((BROKER, ""), keys=["message.max.bytes", "log.retention.bytes"], synonyms=True),
        describe((TOPIC, A), keys=["max.message.bytes", "retention.bytes"], synonyms=True),
        change(BROKER, "1", ("message.max.bytes", DELETE, None)),
        describe((BROKER, "1"), keys=["message.max.bytes"], synonyms=True),
        change(BROKER, "1", ("message.max.bytes", SET, "-1")),
        change(BROKER, "1", ("message.max.bytes", SET, "many")),
        change(BROKER, "1", ("num.partitions", SET, "3")),
        change(BROKER, "", ("num.partitions", SET, "3")),
        change(BROKER, "1", ("auto.create.topics.enable", SET, "false")),
        change(BROKER, "1", ("advertised.listeners", SET, "PLAINTEXT://127.0.0.1:1")),
        change(BROKER, "1", ("node.id", SET, "3")),
        change(BROKER, "1", ("log.cleaner.backoff.ms", SET, "-1")),
        change(BROKER, "1", ("log.cleaner.backoff.ms", SET, "soon")),
        change(BROKER, "1", ("log.cleaner.backoff.ms", SET, "15001")),
        describe((BROKER, "1"), keys=["log.cleaner.backoff.ms"], synonyms=True),
        change(BROKER, "1", ("log.cleaner.backoff.ms", DELETE, None)),
        change(BROKER, "1", ("nonsense", SET, "3")),
        describe((BROKER, "1"), keys=["nonsense"]),
        change(BROKER, "2", ("message.max.bytes", SET, "3000")),
        change(BROKER, "x", ("message.max.bytes", SET, "3000")),
        change(BROKER, "-1", ("message.max.bytes", SET, "3000")),
        change(1, "x", ("retention.ms", SET, "1")),
        change(99, "x", ("retention.ms", SET, "1")),
        change(BROKER, "1", ("nonsense", DELETE, None)),
        change(BROKER, "", ("message.max.bytes", DELETE, None), ("log.retention.bytes", DELETE, None)),
        describe((BROKER, ""), keys=None),
    ],
    "max.message.bytes is kept to": [
        create(A, max_message_bytes="1000"),
        produce(A, b"x" * 900),
        produce(A, b"x" * 1000),
        change(TOPIC, A, ("max.message.bytes", SET, "2000")),
        produce(A, b"x" * 1000),
        change(TOPIC, A, ("message.timestamp.type", SET, "LogAppendTime")),
        change(
            TOPIC,
            A,
            ("message.timestamp.type", SET, "CreateTime"),
            ("message.timestamp.after.max.ms", SET, "1000"),
        ),
        produce(A, b"x", timestamp=2**42),
        change(TOPIC, A, ("message.timestamp.before.max.ms", SET, "1000")),
        produce(A, b"x", timestamp=1000),
    ],
    "compacted topics want keys": [
        create(A, cleanup_policy="compact"),
        produce(A, b"x"),
        produce(A, b"x", key=b"k"),
        produce(A, b"", key=b""),
        delete_records(A, (0, 1)),
    ],
    "topics deleted": [
        create(A, B, "w"),
        delete({"name": A}, {"name": None, "topic_id": f"id of {B}"}),
        delete({"name": A}, {"name": None, "topic_id": f"id of {B}"}),
        delete({"name": "no"}, {"name": None, "topic_id": "id of no"}),
        delete({"name": "w", "topic_id": "id of w"}, {"name": None}),
        delete({"name": "w"}, {"name": "w"}),
        delete({"name": "w"}, {"name": None, "topic_id": "id of w"}),
        delete({"name": "a b"}, {"name": ""}),
        delete("no", "no", "w", version=5),
        delete("no", version=1),
        delete(),
        metadata(A, B, "w"),
    ],
    "topics grown": [
        create(A, B),
        grow({"name": A, "count": 3}, validate_only=True),
        grow({"name": A, "count": 3}, {"name": "no", "count": 2}, {"name": B, "count": 1}),
        grow({"name": A, "count": 2}, {"name": B, "count": -1}),
        grow({"name": A, "count": 5}, {"name": A, "count": 6}),
        grow({"name": A, "count": 4, "assignments": [{"broker_ids": [1]}]}),
        grow({"name": A, "count": 6, "assignments": [{"broker_ids": [1]}]}),
        grow({"name": A, "count": 5, "assignments": [{"broker_ids": [7]}]}),
        grow({"name": A, "count": 5, "assignments": [{"broker_ids": []}]}),
        grow({"name": A, "count": 5, "assignments": [{"broker_ids": [1, 1]}]}),
        grow({"name": A, "count": 5, "assignments": []}),
        grow({"name": "a b", "count": 5}, {"name": "", "count": 5}),
        metadata(A, B),
    ],
    "records deleted": [
        create(A),
        produce(A, b"a", b"b", b"c"),
        delete_records(A, (0, 1)),
        delete_records(A, (0, 0)),
        delete_records(A, (0, 4), (1, 0), (-1, 0)),
        delete_records(A, (0, -2)),
        listed(A, -2),
        fetch(0, -1, [{"topic": A, "partitions": [place(0, 0)]}]),
        fetch(0, -1, [{"topic": A, "partitions": [place(0, 1)]}]),
        produce(A, b"d"),
        delete_records(A, (0, -1)),
        listed(A, -2),
        listed(A, -1),
        delete_records("no", (0, 1)),
        delete_records("a b", (0, 1)),
        delete_records(A, (0, 4), (0, 2)),
        ("DeleteRecords", 2, {"topics": []}),
        create(B),
        change(TOPIC, B, ("cleanup.policy", SET, "compact")),
        delete_records(B, (0, 0)),
        change(TOPIC, B, ("cleanup.policy", SET, "compact,delete")),
        delete_records(B, (0, 0)),
    ],
    "partitions described": [
        create(A, count=3),
        create(B, count=2),
        partitions_of(),
        partitions_of(B, A),
        partitions_of(B, A, A),
        partitions_of(A, "no", "a b"),
        partitions_of(A, B, limit=2),
        partitions_of(A, B, limit=2, cursor={"topic_name": A, "partition_index": 2}),
        partitions_of(A, B, limit=3),
        partitions_of(limit=2),
        partitions_of(A, cursor={"topic_name": B, "partition_index": 0}),
        partitions_of(A, B, cursor={"topic_name": A, "partition_index": 9}),
        partitions_of(A, B, cursor={"topic_name": "a", "partition_index": 1}),
        partitions_of(A, B, cursor={"topic_name": A, "partition_index": -1}),
        partitions_of(A, B, limit=0),
        partitions_of(A, B, limit=-1),
    ],
    "the offsets topic": [
        metadata("__consumer_offsets"),
        partitions_of("__consumer_offsets"),
        metadata("__consumer_offsets", create=True),
        ("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": ["g"]}),
    ],
    "the offsets topic when it is there": [
        metadata("__consumer_offsets"),
        partitions_of("__consumer_offsets"),
        produce("__consumer_offsets", b"x"),
        produce("__consumer_offsets", b"x", key=b"k"),
        delete_records("__consumer_offsets", (0, 0)),
        create("__consumer_offsets", version=4),
        create("__consumer.offsets", version=4),
        describe((TOPIC, "__consumer_offsets"), keys=["cleanup.policy", "compression.type", "segment.bytes"]),
        listed("__consumer_offsets", -2),
        grow({"name": "__consumer_offsets", "count": 1}),
    ],
    "leader epochs": [
        create(A),
        produce(A, b"a", b"b"),
        epochs(A, 0, 0),
        epochs(A, 0, 1),
        epochs(A, 0, -1),
        epochs(A, 0, 0, 0),
        epochs(A, 0, 0, 1),
        epochs(A, 1, 0),
        epochs("no", 0, 0),
    ],
    "what only a cluster has": [
        create(A, count=2),
        (
            "ElectLeaders",
            2,
            {"election_type": 0, "topic_partitions": [{"topic": A, "partitions": [0, 1, 2]}]},
        ),
        ("ElectLeaders", 2, {"election_type": 1, "topic_partitions": [{"topic": A, "partitions": [0]}]}),
        ("ElectLeaders", 2, {"election_type": 0, "topic_partitions": [{"topic": "no", "partitions": [0]}]}),
        ("ElectLeaders", 2, {"election_type": 0, "topic_partitions": []}),
        ("ElectLeaders", 2, {"election_type": 0, "topic_partitions": None}),
        ("ElectLeaders", 2, {"election_type": 1, "topic_partitions": None}),
        ("ElectLeaders", 2, {"election_type": 7, "topic_partitions": []}),
        ("ElectLeaders", 0, {"topic_partitions": [{"topic": A, "partitions": [0]}]}),
        ("ListPartitionReassignments", 0, {"topics": None}),
        (
            "ListPartitionReassignments",
            0,
            {"topics": [{"name": A, "partition_indexes": [0, 5]}, {"name": "no", "partition_indexes": [0]}]},
        ),
        ("AlterPartitionReassignments", 1, {"topics": []}),
        *(
            (
                "AlterPartitionReassignments",
                1,
                {
                    "topics": [
                        {"name": name, "partitions": [{"partition_index": index, "replicas": replicas}]}
                    ]
                },
            )
            for name, index, replicas in [
                (A, 0, [1]),
                (A, 0, None),
                (A, 0, [2]),
                (A, 0, []),
                (A, 0, [1, 1]),
                (A, 0, [1, 2]),
                (A, 0, [-1]),
                (A, 7, [1]),
                (A, 7, None),
                ("no", 0, [1]),
                ("no", 0, None),
            ]
        ),
        ("DescribeClientQuotas", 1, {"components": [], "strict": False}),
        (
            "DescribeClientQuotas",
            1,
            {"components": [{"entity_type": "user", "match_type": 2}], "strict": False},
        ),
        (
            "DescribeClientQuotas",
            1,
            {"components": [{"entity_type": "dog", "match_type": 2}], "strict": False},
        ),
        ("DescribeClientQuotas", 1, {"components": [{"entity_type": "", "match_type": 2}], "strict": False}),
        (
            "DescribeClientQuotas",
            1,
            {"components": [{"entity_type": "user", "match_type": 9}], "strict": False},
        ),
        (
            "DescribeClientQuotas",
            1,
            {"components": [{"entity_type": "user", "match_type": 0}], "strict": False},
        ),
        (
            "DescribeClientQuotas",
            1,
            {"components": [{"entity_type": "user", "match_type": 1, "match": "x"}], "strict": False},
        ),
        (
            "DescribeClientQuotas",
            1,
            {"components": [{"entity_type": "user", "match_type": 2}] * 2, "strict": False},
        ),
        (
            "DescribeLogDirs",
            5,
            {"topics": [{"topic": A, "partitions": [0, 7]}, {"topic": "no", "partitions": [0]}]},
        ),
        ("DescribeLogDirs", 5, {"topics": []}),
        ("DescribeLogDirs", 5, {"topics": None}),
        ("DescribeLogDirs", 1, {"topics": None}),
        ("DescribeCluster", 2, {"endpoint_type": 1}),
        ("DescribeCluster", 1, {"endpoint_type": 2}),
        ("DescribeCluster", 1, {"endpoint_type": 3}),
        ("DescribeCluster", 0, {}),
        (
            "DescribeCluster",
            2,
            {
                "endpoint_type": 1,
                "include_fenced_brokers": True,
                "include_cluster_authorized_operations": True,
            },
        ),
    ],
    "controllers and directories": [
        create(A),
        quorum(),
        quorum((LOG_OF_METADATA, 1)),
        quorum((A, 0)),
        quorum((LOG_OF_METADATA, 0), (A, 0)),
        quorum((LOG_OF_METADATA, 0), (LOG_OF_METADATA, 0)),
        moved(),
        moved(("/nowhere", A, [0])),
        moved(("nowhere", A, [0, 7]), version=1),
        moved(("/nowhere", "no", [0])),
        features(),
        features(version=1),
        features(("nonsense", 1, 1)),
        features(("nonsense", 1, 1), version=1, validate_only=False),
        features(("nonsense", 0, 1)),
        features(("nonsense", 0, 2)),
        features(("", 1, 1)),
        features(("group.version", 1, 1)),
        features(("group.version", 1, 1), version=1),
        features(("group.version", 9, 1)),
        features(("group.version", -1, 1)),
        features(("group.version", 1, 0)),
        features(("group.version", 1, 7)),
        features(("group.version", 0, 1)),
        features(("group.version", 1, 1), ("nonsense", 1, 1), version=1),
        features(("transaction.version", 3, 1), version=1),
        features(("transaction.version", 2, 1)),
    ],
    "fetch sessions": [
        create(A, B, count=2),
        produce(A, b"a"),
        fetch(0, 0, [{"topic": A, "partitions": [place(0), place(1)]}]),
        fetch("session 0", 1),
        fetch("session 0", 2, [{"topic": A, "partitions": [place(0, 1)]}]),
        produce(A, b"b"),
        fetch("session 0", 3),
        fetch("session 0", 3),
        fetch("session 0", 5),
        fetch(
            "session 0",
            4,
            [{"topic": A, "partitions": [place(0, 2)]}, {"topic": B, "partitions": [place(0)]}],
        ),
        fetch("session 0", 5, forgotten=[{"topic": A, "partitions": [0]}]),
        produce(A, b"c"),
        produce(B, b"d"),
        fetch("session 0", 6),
        fetch("session 0", 7, [{"topic": "no", "partitions": [place(0)]}]),
        fetch("session 0", 8),
        fetch("session 0", 9, [{"topic": B, "partitions": [place(7)]}]),
        fetch("session 0", 10, [{"topic": B, "partitions": [place(0, 9)]}]),
        fetch("session 0", 11),
        fetch("session 0", 12, forgotten=[{"topic": "never", "partitions": [0]}]),
        fetch("session 0", 13, [{"topic": B, "partitions": [place(0, 1)]}]),
        fetch("session 0", -1),
        fetch("session 0", 14),
        fetch("session 0", -1, [{"topic": A, "partitions": [place(0)]}]),
        fetch("session 0", 0, [{"topic": A, "partitions": [place(0)]}]),
        fetch("session 1", 1),
        fetch("session 1", 0, [{"topic": A, "partitions": [place(0)]}]),
        fetch("session 1", 1),
        fetch(12345, 1),
        fetch(12345, -1, [{"topic": A, "partitions": [place(0)]}]),
        fetch(0, 1),
        fetch(0, -1, [{"topic": A, "partitions": [place(0)]}]),
        fetch(0, 0),
        fetch(0, 0, [{"topic": A, "partitions": [place(0), place(0, 1)]}]),
    ],
    "fetch sessions by id": [
        create(A, B, count=2),
        produce(A, b"a"),
        fetch(0, 0, [{"topic_id": f"id of {A}", "partitions": [place(0), place(1)]}], version=13),
        fetch("session 0", 1, version=13),
        fetch("session 0", 2, [{"topic_id": "id of no", "partitions": [place(0)]}], version=13),
        fetch("session 0", 3, version=13),
        fetch("session 0", 4, [{"topic": A, "partitions": [place(0)]}], version=12),
        fetch("session 0", 5, version=13),
        fetch(0, 0, [{"topic_id": f"id of {B}", "partitions": [place(0)]}], version=17),
        delete({"name": B}),
        fetch("session 1", 1, version=17),
        fetch("session 1", 2, version=17),
        create(B),
        fetch("session 1", 3, version=17),
        fetch(0, 0, [{"topic": A, "partitions": [place(0)]}], version=12),
        fetch("session 2", 1, version=13),
        delete({"name": A}),
        fetch("session 2", 2, version=12),
        fetch("session 2", 3, version=12),
    ],
}


RECORDED = Path(__file__).parent.parent / "server" / "topic_dialogues.txt"
"""What Apache Kafka 4.4.0 says to all of it."""


def with_coordinator(address):
    """A first look for a coordinator, upon which the topic of offsets is there."""
    player = Player(address)
    player.ask("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": ["g"]})
    player.close()


def cleared(address):
    """No topics are left but the broker's own, so that dialogues may share a broker of Kafka."""
    player = Player(address)
    topics = player.ask("Metadata", 12, {"topics": None})["topics"]
    gone = [{"name": topic["name"]} for topic in topics if not topic["is_internal"]]
    player.ask("DeleteTopics", 6, {"topics": gone, "timeout_ms": 30_000})
    player.close()
    time.sleep(0.5)


def recorded(path=RECORDED):
    """The lines of each dialogue, by its title."""
    parts = path.read_text(encoding="utf-8").split("## ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].splitlines() for part in parts}


def record(address):
    """Writes down what a broker of Kafka says, whose changes take a moment."""
    with_coordinator(address)
    told = []
    for title, dialogue in DIALOGUES.items():
        cleared(address)
        told += [f"## {title}", *play(address, dialogue, settle=0.3)]
    RECORDED.write_text("\n".join(told) + "\n", encoding="utf-8")
