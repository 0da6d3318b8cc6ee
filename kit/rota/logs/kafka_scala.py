"""What the coordinator of Kafka 3 prints, which is written in Scala; some of it is of Kafka 2 alone."""

from __future__ import annotations

from rota.history import Kind
from rota.logs.patterns import Sentences, Table, sentences

_GROUP = "kafka.coordinator.group"

_COORDINATOR: Sentences = {
    "Preparing to rebalance group {group} in state {state} with old generation {generation}"
    " (__consumer_offsets-{partition}) (reason: {reason})": Kind.PREPARING,
    "Stabilized group {group} generation {generation} (__consumer_offsets-{partition}) with {members}"
    " members": Kind.STABILIZED,
    "Assignment received from leader {member} for group {group} for generation {generation}. The group has"
    " {members} members, {static} of which are static.": Kind.ASSIGNMENT,
    "Dynamic member with unknown member id joins group {group} in {state} state. Created a new member id"
    " {member} and request the member to rejoin with this id.": Kind.ID_GIVEN,
    "Dynamic Member with unknown member id joins group {group} in {state} state. Created a new member id"
    " {member} for this member and add to the group.": Kind.JOINED,
    "Pending dynamic member with id {member} joins group {group} in {state} state. Adding to the group"
    " now.": Kind.JOINED,
    "Static member with groupInstanceId={instance} and unknown member id joins group {group} in {state}"
    " state. Created a new member id {member} for this member and add to the group.": Kind.JOINED,
    "Static member with groupInstanceId={instance} and unknown member id joins group {group} in {state}"
    " state. Replacing previously mapped member {old_member} with this groupInstanceId.": Kind.REPLACED,
    "Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger"
    " rebalance.": None,
    "Request memberId={member} for static member with groupInstanceId={instance} is fenced by current"
    " memberId={other_member} during operation {api}": (Kind.REFUSED, {"reason": "FENCED_INSTANCE_ID"}),
    "Member MemberMetadata(memberId={member}, groupInstanceId={instance}, clientId={client},"
    " clientHost={host}, sessionTimeoutMs={session_ms}, rebalanceTimeoutMs={rebalance_ms},"
    " supportedProtocols={_protocols}) has left group {group} through explicit `LeaveGroup`; client"
    " reason: {reason}": Kind.LEFT,
    "Member MemberMetadata(memberId={member}, groupInstanceId={instance}, clientId={client},"
    " clientHost={host}, sessionTimeoutMs={session_ms}, rebalanceTimeoutMs={rebalance_ms},"
    " supportedProtocols={_protocols}) has left group {group} through explicit `LeaveGroup`"
    " request": Kind.LEFT,
    "Member[group.instance.id {instance}, member.id {member}] in group {group} has left, removing it from the"
    " group": Kind.LEFT,
    "Pending member with memberId={member} has left group {group} through explicit `LeaveGroup` request": (
        Kind.LEFT,
        {"pending": True},
    ),
    "Pending member {member} in group {group} has been removed after session timeout expiration.": (
        Kind.FAILED,
        {"pending": True, "reason": "it did not come back with its member id within its session timeout"},
    ),
    "Member {member} in group {group} has failed, removing it from the group": Kind.FAILED,
    "Member {member} has already been removed from the group.": None,
    "Member id {_member} was not found in {_group} during heartbeat completion check": None,
    "Group {group} removed dynamic members who haven't joined: {removed}": Kind.NOT_REJOINED,
    "Group {group} removed members who haven't sent their sync request: {removed}": Kind.NOT_SYNCED,
    "Group {group} could not complete rebalance because no members rejoined": (
        Kind.NOT_REJOINED,
        {"reason": "no members rejoined"},
    ),
    "Group {group} with generation {generation} is now empty (__consumer_offsets-{partition})": Kind.EMPTY,
    "Group {group} is dead, skipping rebalance stage": None,
    "Failed to persist metadata for group {group}: {reason}": Kind.APPEND_FAILED,
    "Failed to write empty metadata for group {group}: {reason}": Kind.APPEND_FAILED,
    "Error {reason} when storing group assignment during SyncGroup (member: {member})": Kind.APPEND_FAILED,
    "Freshly-loaded group is over capacity {_size}. Rebalancing in order to give a chance for consumers to"
    " commit offsets": None,
    "Loading group metadata for {group} with generation {generation}": Kind.LOADED,
    "Unloading group metadata for {group} with generation {generation}": Kind.UNLOADED,
    "Elected as the group coordinator for partition {partition} in epoch {epoch}": None,
    "Resigned as the group coordinator for partition {partition} in epoch {epoch}": None,
    "Resigned as the group coordinator for partition {_partition}": None,
    "The following groups were deleted: {groups}. A total of {offsets} offsets were removed.": Kind.DEAD,
    "The following offsets of the group {_group} were deleted: {_offsets}": None,
    "Removed {_number} offsets associated with deleted partitions: {_partitions}": None,
    "Setting empty assignments for members {_members} of {_group} for generation {_generation}": None,
    "Sending empty assignment to member {_member} of {_group} for generation {_generation} with no"
    " errors": None,
    "Attempt to add rejoining member {member} of group {group} in unexpected group state"
    " {state}": Kind.REFUSED,
    "Received notification of heartbeat expiration for member {_member} after group {_group} had already been"
    " unloaded or deleted.": None,
    "Received unexpected notification of sync expiration {_what}": None,
    "Starting up.": None,
    "Startup complete.": None,
    "Shutting down.": None,
    "Shutdown complete.": None,
}

_GROUP_METADATA: Sentences = {
    "Group leader [member.id: {member}, group.instance.id: {instance}] failed to join before rebalance"
    " timeout, while new leader {new_leader} was elected.": (Kind.NOT_REJOINED, {"leader": True}),
    "Group leader [member.id: {member}, group.instance.id: {instance}] failed to join before rebalance"
    " timeout, and the group couldn't proceed to next generation because no member joined.": (
        Kind.NOT_REJOINED,
        {"leader": True},
    ),
    "Failed to parse Consumer Protocol {_protocol} of group {_group}. Consumer group coordinator is not aware"
    " of the subscribed topics.": None,
}

_MANAGER: Sentences = {
    "Scheduling loading of offsets and group metadata from __consumer_offsets-{partition} for epoch"
    " {epoch}": Kind.LOADING,
    "Scheduling loading of offsets and group metadata from __consumer_offsets-{partition}": Kind.LOADING,
    "Started loading offsets and group metadata {_what}": None,
    "Finished loading offsets and group metadata from __consumer_offsets-{partition} in {milliseconds}"
    " milliseconds for epoch {epoch}, of which {_number} milliseconds was spent in the"
    " scheduler.": Kind.LOADED,
    "Finished loading offsets and group metadata from __consumer_offsets-{partition} in {milliseconds}"
    " milliseconds, of which {_number} milliseconds was spent in the scheduler.": Kind.LOADED,
    "Error loading offsets from __consumer_offsets-{partition}": (Kind.LOADED, {"reason": "it failed"}),
    "Already loading offsets {_what}": None,
    "Not loading offsets {_what}": None,
    "Attempted to load offsets {_what}": None,
    "Loaded offsets and group metadata {_what}": None,
    "Loaded group metadata {_what}": None,
    "Loaded member {_what}": None,
    "Initialized offsets {_what}": None,
    "Scheduling unloading of offsets and group metadata from __consumer_offsets-{_partition}": None,
    "Started unloading offsets and group metadata for __consumer_offsets-{_partition} for coordinator epoch"
    " {_epoch}": None,
    "Finished unloading __consumer_offsets-{partition} for coordinator epoch {epoch}. Removed {_number}"
    " cached offsets and {_groups} cached groups.": Kind.UNLOADED,
    "Finished unloading __consumer_offsets-{partition}. Removed {_number} cached offsets and {_groups} cached"
    " groups.": Kind.UNLOADED,
    "Not removing offsets {_what}": None,
    "Removed {offsets} expired offsets in {milliseconds} milliseconds.": Kind.EXPIRED,
    "Group {group} transitioned to Dead in generation {generation}": Kind.DEAD,
    "Metadata from group {group} with generation {generation} failed when appending to log due to"
    " {reason}": Kind.APPEND_FAILED,
    "Appending metadata message for group {group} generation {generation} failed due to {reason}, returning"
    " UNKNOWN error code to the client": Kind.APPEND_FAILED,
    "Appending metadata message for group {group} generation {generation} failed due to unexpected error:"
    " {reason}": Kind.APPEND_FAILED,
    "Offset commit {_offsets} from group {group}, consumer {member} with generation {generation} failed when"
    " appending to log due to {reason}": Kind.APPEND_FAILED,
    "group: {_group} with leader: {_leader} has received offset commits from consumers as well as"
    " transactional producers. {_what}": None,
    "Getting offsets of {_what}": None,
    "Marked {_what}": None,
    "Removing expired/deleted offset {_what}": None,
    "Successfully appended {_what}": None,
    "Failed to append {_number} tombstones to {_partition} for expired/deleted offsets and/or metadata for"
    " group {group}.": Kind.APPEND_FAILED,
    "TxnOffsetCommit for {_what}": None,
    "Expired offsets from group '{_group}': {_what}": None,
}

VERSIONS = "3.x"

SCALA = Table(
    (
        *sentences(f"{_GROUP}.GroupCoordinator", VERSIONS, _COORDINATOR),
        *sentences(f"{_GROUP}.GroupMetadata", VERSIONS, _GROUP_METADATA),
        *sentences(f"{_GROUP}.GroupMetadataManager", VERSIONS, _MANAGER),
    )
)
"""The lines of Kafka's coordinator in Scala."""
