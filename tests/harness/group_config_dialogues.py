"""Dialogues about what groups have set for themselves, on any broker of one node, as text.

As `topic_dialogues.py` tells them; a part is for brokers with settings of its own.
"""

from pathlib import Path

from harness.topic_dialogues import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    alter,
    change,
    create,
    describe,
    play,
)
from harness.topic_dialogues import recorded as recorded_in

SESSION, HEARTBEAT, INTERVAL = (
    f"consumer.{name}.ms" for name in ("session.timeout", "heartbeat.interval", "assignment.interval")
)
TAGS = "streams.rack.aware.assignment.tags"
QUEUE = "errors.deadletterqueue.topic.name"

SHORT = {
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.max.heartbeat.interval.ms": 30_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.session.timeout.ms": 20_000,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.max.assignment.interval.ms": 2000,
}
"""Settings of a broker whose bounds let a session be shorter than a heartbeat's interval."""


def tried(name, *values):
    """What a broker would say if a group were given each of these."""
    return [change(GROUP, "g", (name, SET, value), validate_only=True) for value in values]


def set_to(group, **configs):
    return change(GROUP, group, *((name.replace("_", "."), SET, value) for name, value in configs.items()))


def told(*names, synonyms=True):
    return describe((GROUP, "g"), keys=list(names), synonyms=synonyms)


def listed(*kinds):
    return "ListConfigResources", 1, {"resource_types": list(kinds)}


def beats(group, epoch, **said):
    body = {"group_id": group, "member_id": "m", "member_epoch": epoch}
    return "ConsumerGroupHeartbeat", 1, body | said


def joins(group, topic):
    told = {"rebalance_timeout_ms": 5000, "subscribed_topic_names": [topic], "topic_partitions": []}
    return beats(group, 0, **told)


USUAL = {
    "a group's configs described": [
        describe((GROUP, "g"), synonyms=True),
        describe((GROUP, "g")),
        describe((GROUP, "")),
        describe((GROUP, " "), (GROUP, "a b"), keys=[SESSION]),
        describe((GROUP, "g"), (GROUP, "g"), keys=[SESSION, "nonsense", "retention.ms"], version=1),
        listed(GROUP),
        listed(),
    ],
    "what times consumer groups may have": [
        *tried(SESSION, "44999", "45000", "60000", "60001", "0", "-1"),
        *tried(SESSION, "soon", "", None, " 50000 ", "1.5", "9223372036854775808"),
        *tried(HEARTBEAT, "4999", "5000", "15000", "15001", "0", "x"),
        *tried(INTERVAL, "-1", "0", "15000", "15001"),
        *tried("consumer.assignor.offload.enable", "false", "TRUE", "maybe"),
    ],
    "what share groups may have": [
        *tried("share.session.timeout.ms", "44999", "60001", "50000"),
        *tried("share.heartbeat.interval.ms", "4999", "15001", "6000"),
        *tried("share.assignment.interval.ms", "-1", "15001", "6000"),
        *tried("share.auto.offset.reset", "latest", "earliest", "none", "Latest", "", "latest "),
        *tried("share.auto.offset.reset", "by_duration:PT1H", "by_duration:P1D", "by_duration:pt1.5s"),
        *tried("share.auto.offset.reset", "by_duration:PT0S", "by_duration:P", "by_duration:PT"),
        *tried("share.auto.offset.reset", "by_duration:-PT1H", "BY_DURATION:PT1S", "by_duration: PT1S"),
        *tried("share.delivery.count.limit", "1", "2", "10", "11"),
        *tried("share.isolation.level", "read_committed", "READ_COMMITTED"),
        *tried("share.partition.max.record.locks", "99", "100", "4000", "4001"),
        *tried("share.record.lock.duration.ms", "14999", "15000", "60000", "60001", "999"),
        *tried("share.renew.acknowledge.enable", "false", "x"),
        *tried("share.assignor.offload.enable", "true", "x"),
        *tried("errors.deadletterqueue.copy.record.enable", "true", "x"),
        *tried(QUEUE, "x", "a b", "", "..", "__x", "x" * 250),
    ],
    "what streams groups may have": [
        *tried("streams.session.timeout.ms", "44999", "60001", "50000"),
        *tried("streams.heartbeat.interval.ms", "4999", "15001", "6000"),
        *tried("streams.assignment.interval.ms", "-1", "15001", "6000"),
        *tried("streams.assignor.name", "sticky", "x", "", " sticky"),
        *tried("streams.initial.rebalance.delay.ms", "-1", "0", "2147483647"),
        *tried("streams.num.standby.replicas", "-1", "0", "2", "3"),
        *tried(TAGS, "a", "a,b", "", "a,a", "a,,b", "a,b,c,d,e,f", "x" * 300),
        *tried("streams.assignor.offload.enable", "false", "x"),
        *tried("streams.task.offset.interval.ms", "0", "14999", "15000", "2147483647"),
        *tried("streams.num.warmup.replicas", "-1", "0", "20", "21"),
        *tried("streams.acceptable.recovery.lag", "-1", "0", "9223372036854775807", "x"),
    ],
    "a group's configs altered one by one": [
        set_to("g", nonsense="1"),
        set_to("g", retention_ms="1"),
        change(GROUP, "g", ("", SET, "1")),
        change(GROUP, "g", ("nonsense", SET, None)),
        change(GROUP, "g", (SESSION, APPEND, "50000")),
        change(GROUP, "g", (SESSION, SUBTRACT, "50000")),
        change(GROUP, "g", (TAGS, APPEND, "a")),
        change(GROUP, "g", ("nonsense", APPEND, "a")),
        change(GROUP, "g", (SESSION, 7, "50000")),
        change(GROUP, "g", (SESSION, SET, "50000"), (SESSION, SET, "50001")),
        change(GROUP, "", (SESSION, SET, "50000")),
        change(GROUP, " ", (SESSION, SET, "50000")),
        change(GROUP, "x" * 300, (SESSION, SET, "50000"), validate_only=True),
        listed(GROUP),
        set_to("g", consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="x"),
        told(SESSION, HEARTBEAT),
        set_to("g", consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="6000"),
        told(SESSION, HEARTBEAT),
        told(SESSION, synonyms=False),
        describe((GROUP, "g")),
        listed(GROUP),
        set_to("g", consumer_session_timeout_ms="5"),
        told(SESSION, HEARTBEAT, synonyms=False),
        change(GROUP, "g", (SESSION, DELETE, None), ("nonsense", DELETE, None)),
        told(SESSION, HEARTBEAT),
        change(GROUP, "g", (HEARTBEAT, DELETE, None)),
        change(GROUP, "never", (HEARTBEAT, DELETE, None)),
        change(GROUP, " ", (SESSION, DELETE, None)),
        listed(GROUP),
    ],
    "which mistake is told of several": [
        set_to("g", consumer_session_timeout_ms="50000", nonsense="x", consumer_heartbeat_interval_ms="1"),
        set_to("g", consumer_session_timeout_ms="50000", nonsense="x", consumer_heartbeat_interval_ms="y"),
        set_to("g", consumer_session_timeout_ms="1", consumer_heartbeat_interval_ms="1"),
        set_to("g", consumer_session_timeout_ms="1", consumer_assignment_interval_ms="16000"),
        set_to("g", consumer_heartbeat_interval_ms="1", consumer_assignment_interval_ms="16000"),
        set_to("g", consumer_assignment_interval_ms="x", consumer_session_timeout_ms="y"),
        set_to("g", consumer_session_timeout_ms="y", consumer_assignment_interval_ms="x"),
        set_to("g", share_session_timeout_ms="1", consumer_heartbeat_interval_ms="1"),
        set_to("g", share_session_timeout_ms="1", consumer_assignment_interval_ms="16000"),
        set_to("g", share_session_timeout_ms="1", share_heartbeat_interval_ms="1"),
        set_to("g", share_session_timeout_ms="1", share_delivery_count_limit="11"),
        set_to("g", share_assignment_interval_ms="16000", share_delivery_count_limit="11"),
        set_to("g", share_record_lock_duration_ms="1000", share_delivery_count_limit="11"),
        set_to("g", share_record_lock_duration_ms="1000", share_partition_max_record_locks="5000"),
        set_to("g", share_session_timeout_ms="1", streams_session_timeout_ms="1"),
        set_to("g", share_assignment_interval_ms="16000", streams_heartbeat_interval_ms="1"),
        set_to("g", streams_num_standby_replicas="3", streams_heartbeat_interval_ms="1"),
        set_to("g", streams_num_standby_replicas="3", streams_session_timeout_ms="1"),
        set_to("g", streams_num_standby_replicas="3", streams_assignment_interval_ms="16000"),
        set_to("g", streams_num_standby_replicas="3", streams_assignor_name="x"),
        set_to("g", streams_assignor_name="x", streams_session_timeout_ms="1"),
        set_to("g", streams_assignor_name="x", streams_num_warmup_replicas="21"),
        set_to("g", streams_task_offset_interval_ms="1", streams_num_warmup_replicas="21"),
        set_to("g", streams_assignor_name="x", **{TAGS.replace(".", "_"): "a,a"}),
        set_to("g", streams_session_timeout_ms="1", **{TAGS.replace(".", "_"): "a,a"}),
        set_to("g", streams_session_timeout_ms="1", errors_deadletterqueue_topic_name="__x"),
        set_to("g", consumer_session_timeout_ms="1", errors_deadletterqueue_topic_name="__x"),
        set_to("g", share_session_timeout_ms="1", errors_deadletterqueue_topic_name="__x"),
    ],
    "how values are kept": [
        set_to("g", consumer_assignor_offload_enable=" FALSE "),
        told("consumer.assignor.offload.enable"),
        describe((GROUP, "g")),
        set_to("g", streams_task_offset_interval_ms=" 60000 ", streams_num_warmup_replicas="1"),
        told("streams.task.offset.interval.ms", "streams.num.warmup.replicas"),
        change(GROUP, "g", (TAGS, SET, " a , b "), (QUEUE, SET, " d ")),
        told(TAGS, QUEUE),
        change(GROUP, "g", (TAGS, SET, ""), (QUEUE, SET, "")),
        told(TAGS, QUEUE),
        set_to("g", share_session_timeout_ms="0050000", consumer_session_timeout_ms=" 50000 "),
        told("share.session.timeout.ms", SESSION),
        alter(GROUP, "g"),
        describe((GROUP, "g")),
    ],
    "a group's configs altered all at once": [
        set_to("g", consumer_session_timeout_ms="50000"),
        alter(GROUP, "g", consumer_assignment_interval_ms="100"),
        told(SESSION, INTERVAL, synonyms=False),
        alter(GROUP, "g", validate_only=True),
        told(INTERVAL),
        alter(GROUP, "g", validate_only=True, consumer_assignment_interval_ms="7"),
        alter(GROUP, "g", nonsense="100"),
        alter(GROUP, "g", consumer_assignment_interval_ms="-1"),
        alter(GROUP, "", consumer_assignment_interval_ms="100"),
        told(SESSION, INTERVAL, synonyms=False),
        alter(GROUP, "g"),
        told(SESSION, INTERVAL, synonyms=False),
        listed(GROUP),
        change(BROKER, "", ("group.consumer.session.timeout.ms", SET, "50000")),
    ],
    "what a group's members are told": [
        create("t"),
        joins("g", "t"),
        set_to("g", consumer_heartbeat_interval_ms="7000"),
        beats("g", 2),
        joins("other", "t"),
        change(GROUP, "g", (HEARTBEAT, DELETE, None)),
        beats("g", 2),
    ],
}
"""On a broker as it is if nothing is said."""

WITH_SHORT_TIMES = {
    "a session and its heartbeats": [
        told(SESSION, HEARTBEAT, INTERVAL),
        *tried(SESSION, "999", "1000", "5000", "5001"),
        *tried(HEARTBEAT, "99", "100", "19999", "20000", "30000"),
        *tried(INTERVAL, "2000", "2001"),
        set_to("g", consumer_session_timeout_ms="2000", consumer_heartbeat_interval_ms="2000"),
        set_to("g", consumer_session_timeout_ms="2000", consumer_heartbeat_interval_ms="1999"),
        told(SESSION, HEARTBEAT, INTERVAL),
        set_to("g", consumer_heartbeat_interval_ms="2500"),
        set_to("g", consumer_session_timeout_ms="1999"),
        change(GROUP, "g", (HEARTBEAT, DELETE, None)),
        change(GROUP, "g", (SESSION, DELETE, None)),
        alter(GROUP, "g", consumer_session_timeout_ms="2000"),
        told(SESSION, HEARTBEAT, synonyms=False),
        alter(GROUP, "g"),
        set_to("g", consumer_session_timeout_ms="1", share_heartbeat_interval_ms="1"),
    ],
    "which of two mistakes about a session is told": [
        set_to("g", consumer_session_timeout_ms="2000", consumer_assignment_interval_ms="2001"),
        set_to("g", consumer_session_timeout_ms="2000", share_session_timeout_ms="1"),
        set_to("g", consumer_session_timeout_ms="2000", streams_num_standby_replicas="3"),
    ],
}
"""On one with `SHORT`."""

PARTS = (({}, USUAL), (SHORT, WITH_SHORT_TIMES))
"""Settings of a broker and what is played on it."""

RECORDED = Path(__file__).parent.parent / "server" / "group_config_dialogues.txt"
"""What Apache Kafka 4.4.0 says to all of it."""


def recorded():
    """The lines of each dialogue, by its title."""
    return recorded_in(RECORDED)


def forgotten(address):
    """No group has anything of its own any more, so that dialogues may share a broker of Kafka."""
    for group in ("g", " ", "never", "other"):
        play(address, [alter(GROUP, group)], settle=0.1)


def write(told):
    """Writes down what a broker of Kafka says: title → lines."""
    lines = [line for title, said in told.items() for line in (f"## {title}", *said)]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")
