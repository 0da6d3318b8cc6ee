"""What Java's consumer prints of its group, from kafka-clients 2.5 on; the versions are those of Kafka."""

from __future__ import annotations

from typing import Any

from rota.history import Kind
from rota.logs.patterns import Sentences, Table, sentences

_INTERNALS = "org.apache.kafka.clients.consumer.internals"

_GENERATION = "Generation{generationId={generation}, memberId='{member}', protocol='{protocol}'}"
RESET = "Resetting generation and member id due to: {_why}"
"""From here on the consumer has no member id."""

_NODE = "{address} (id: {node} rack: {_rack})"


def _refused(api: str) -> tuple[Kind, dict[str, Any]]:
    return (Kind.REFUSED, {"api": api})


_ABSTRACT: Sentences = {
    "(Re-)joining group": Kind.JOINING,
    "Request joining group due to: group is already rebalancing": Kind.REBALANCE_TOLD,
    "Request joining group due to: need to re-join with the given member-id: {member}": Kind.ID_GIVEN,
    "Request joining group due to: {why}": None,
    "Attempt to heartbeat failed since group is rebalancing": Kind.REBALANCE_TOLD,
    f"Successfully joined group with generation {_GENERATION}": Kind.WAS_JOINED,
    f"Successfully synced group in generation {_GENERATION}": None,
    f"Discovered group coordinator {_NODE}": Kind.FOUND,
    f"Group coordinator {_NODE} is unavailable or invalid due to cause: session timed out without receiving a"
    " heartbeat response. isDisconnected: {_lost}. Rediscovery will be attempted.": Kind.SESSION_LATE,
    f"Group coordinator {_NODE} is unavailable or invalid due to cause: {{reason}}. isDisconnected:"
    f" {{_lost}}."
    " Rediscovery will be attempted.": Kind.FINDING,
    f"Group coordinator {_NODE} is unavailable or invalid due to cause: {{reason}}.isDisconnected: {{_lost}}."
    " Rediscovery will be attempted.": Kind.FINDING,
    f"Group coordinator {_NODE} is unavailable or invalid, will attempt rediscovery": Kind.FINDING,
    "Group coordinator lookup failed: {reason}": Kind.FINDING,
    f"Requesting disconnect from last known coordinator {_NODE}": None,
    "Consumer has been disconnected from the group coordinator for {milliseconds}ms": Kind.DISCONNECTED,
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer"
    " than the configured max.poll.interval.ms, {_advice}": Kind.POLL_LATE,
    "This member will leave the group because consumer poll timeout has expired. {_advice}": Kind.POLL_LATE,
    f"Member {{member}} sending LeaveGroup request to coordinator {_NODE} due to {{reason}}": Kind.LEAVING,
    "LeaveGroup request with Generation{_generation} failed with error: {reason}": _refused("LeaveGroup"),
    RESET: None,
    "Resetting generation {_what}": None,
    f"JoinGroup failed: {{reason}} Need to re-join the group. Sent generation was {_GENERATION}": (
        _refused("JoinGroup")
    ),
    f"JoinGroup failed: {{reason}} Marking coordinator unknown. Sent generation was {_GENERATION}": (
        _refused("JoinGroup")
    ),
    "JoinGroup failed: {reason}": _refused("JoinGroup"),
    "JoinGroup failed due to {reason}": _refused("JoinGroup"),
    "Join group failed with {reason}": _refused("JoinGroup"),
    "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was"
    f" {_GENERATION}": Kind.REBALANCE_TOLD,
    f"SyncGroup failed: {{reason}} Need to re-join the group. Sent generation was {_GENERATION}": (
        _refused("SyncGroup")
    ),
    f"SyncGroup failed: {{reason}} Marking coordinator unknown. Sent generation was {_GENERATION}": (
        _refused("SyncGroup")
    ),
    "SyncGroup failed: {reason}": _refused("SyncGroup"),
    "SyncGroup failed due to {reason}": _refused("SyncGroup"),
    f"Attempt to heartbeat with {_GENERATION} and group instance id {{_instance}} failed due to {{reason}},"
    " resetting generation": _refused("Heartbeat"),
    "Attempt to heartbeat with stale Generation{_generation} and group instance id {_instance} failed due to"
    " {_reason}, ignoring the error": None,
    "Attempt to heartbeat failed since coordinator {_coordinator} is either not started or not valid": None,
    "Caught fenced group.instance.id {_instance} error in heartbeat thread": (
        Kind.REFUSED,
        {"api": "Heartbeat", "reason": "FENCED_INSTANCE_ID"},
    ),
    "Generation data was cleared by heartbeat thread {_what}": None,
    "rebalance failed {_what}": None,
    "Heartbeat thread {_what}": None,
    "Enabling heartbeat thread": None,
    "Disabling heartbeat thread": None,
    "Sending {_what}": None,
    "Received {_what}": None,
}

_COORDINATOR: Sentences = {
    "Finished assignment for group at generation {generation}: {assignments}": Kind.ASSIGNMENT,
    "Notifying assignor about the new Assignment(partitions=[{partitions}])": Kind.SYNCED,
    "Notifying assignor about the new Assignment(partitions=[{partitions}],"
    " userDataSize={_size})": Kind.SYNCED,
    "Giving away all assigned partitions as lost since generation{_why}": None,
    "Offset commit failed on partition {partition_of} at offset {_offset}: {reason}": Kind.COMMIT_REFUSED,
    f"OffsetCommit failed with {_GENERATION}: {{reason}}": Kind.COMMIT_REFUSED,
    f"OffsetCommit failed with {_GENERATION} due to group instance id {{_instance}} fenced": (
        Kind.COMMIT_REFUSED,
        {"reason": "FENCED_INSTANCE_ID"},
    ),
    "Offset commit with offsets {_offsets} failed": None,
    "Synchronous auto-commit of offsets {_offsets} failed: {reason}": Kind.COMMIT_REFUSED,
    "Asynchronous auto-commit of offsets {_offsets} failed: {reason}": Kind.COMMIT_REFUSED,
    "Asynchronous auto-commit of offsets {_offsets} failed due to retriable error{_reason}": None,
    "Asynchronous auto-commit of offsets failed: {reason}. Will continue to join group.": Kind.COMMIT_REFUSED,
    "Failing OffsetCommit request since the consumer is not part of an active group": (
        Kind.COMMIT_REFUSED,
        {"reason": "the consumer is not part of an active group"},
    ),
    "Updating assignment with{_what}": None,
    "Executing {_what}": None,
    "Performing assignment using {_what}": None,
    "Joining group with current subscription: {_what}": None,
    "Skipped assignment for returning static leader at generation {_what}": None,
    "Found no committed offset for partition {_partition}": None,
    "Completed {_what}": None,
    "Committed {_what}": None,
}

_INVOKER: Sentences = {
    "Adding newly assigned partitions: [{added}]": Kind.SYNCED,
    "Adding newly assigned partitions: {added}": Kind.SYNCED,
    "Revoke previously assigned partitions [{partitions}]": Kind.REVOKED,
    "Revoke previously assigned partitions {partitions}": Kind.REVOKED,
    "Lost previously assigned partitions [{partitions}]": Kind.LOST,
    "Lost previously assigned partitions {partitions}": Kind.LOST,
    "The pause flag in partitions {_what}": None,
}

_ELSEWHERE: Sentences = {
    "Subscribed to {_what}": None,
    "Unsubscribed all topics {_what}": None,
    "Resetting offset for partition {_what}": None,
    "Setting offset for partition {_what}": None,
    "Resetting the last seen epoch {_what}": None,
    "Cluster ID: {_cluster}": None,
    "Node {_what}": None,
    "Client requested disconnect {_what}": None,
    "Cancelled in-flight {_what}": None,
    "Disconnecting from node {_what}": None,
    "Connection to node {_what}": None,
    "Closing the Kafka consumer": None,
    "Kafka consumer has been closed": Kind.CLIENT_CLOSED,
}

VERSIONS = "2.5 to 4.x"

CONSUMER = Table(
    (
        *sentences(f"{_INTERNALS}.AbstractCoordinator", VERSIONS, _ABSTRACT),
        *sentences(f"{_INTERNALS}.ConsumerCoordinator", VERSIONS, _COORDINATOR),
        *sentences(f"{_INTERNALS}.ConsumerRebalanceListenerInvoker", VERSIONS, _INVOKER),
        *sentences("org.apache.kafka.clients", VERSIONS, _ELSEWHERE),
    )
)
"""The lines of Java's consumer, without what stands in brackets before them."""

CLOSED = "App info kafka.consumer for {client} unregistered"
"""The last line of a consumer that was closed, by AppInfoParser; it does not say its group."""

_SETTINGS = """
auto.commit.interval.ms auto.offset.reset client.id enable.auto.commit group.id group.instance.id
group.protocol heartbeat.interval.ms max.poll.interval.ms max.poll.records partition.assignment.strategy
request.timeout.ms session.timeout.ms
"""

SETTINGS = frozenset(_SETTINGS.split())
"""Those that a consumer prints when it begins and that rebalances depend on."""
