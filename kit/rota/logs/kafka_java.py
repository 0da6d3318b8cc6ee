"""What the coordinator of Kafka 4 prints, which is written in Java (3.7 to 3.9 have it beside the other)."""

from __future__ import annotations

from rota.history import Kind
from rota.logs.patterns import Sentences, Table, sentences

_GROUP = "org.apache.kafka.coordinator.group"
_RUNTIME = "org.apache.kafka.coordinator.common.runtime"

_CLASSIC: Sentences = {
    "Preparing to rebalance group {group} in state {state} with old generation {generation}"
    " (reason: {reason}).": Kind.PREPARING,
    "Stabilized group {group} generation {generation} with {members} members.": Kind.STABILIZED,
    "Assignment received from leader {member} for group {group} for generation {generation}. The group has"
    " {members} members, {static} of which are static.": Kind.ASSIGNMENT,
    "Dynamic member with unknown member id joins group {group} in {state} state. Created a new member id"
    " {member} and requesting the member to rejoin with this id.": Kind.ID_GIVEN,
    "Dynamic member with unknown member id joins group {group} in state {state}. Created a new member id"
    " {member} and added the member to the group.": Kind.JOINED,
    "Pending dynamic member with id {member} joins group {group} in {state} state. Adding to the group"
    " now.": Kind.JOINED,
    "Static member with groupInstanceId={instance} and unknown member id joins group {group} in {state}"
    " state. Created a new member id {member} for this member and added to the group.": Kind.JOINED,
    "Static member with groupInstanceId={instance} and unknown member id joins group {group} in {state}"
    " state. Replacing previously mapped member {old_member} with this groupInstanceId.": Kind.REPLACED,
    "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger"
    " a rebalance.": None,
    "Member {member} in group {group} has failed, removing it from the group.": Kind.FAILED,
    "Pending member {member} in group {group} has been removed after session timeout expiration.": (
        Kind.FAILED,
        {"pending": True, "reason": "it did not come back with its member id within its session timeout"},
    ),
    "Member {member} has already been removed from the group.": None,
    "Group {group} removed dynamic members who haven't joined: {removed}": Kind.NOT_REJOINED,
    "Group {group} removed members who haven't sent their sync requests: {removed}": Kind.NOT_SYNCED,
    "Group {group} could not complete rebalance because no members rejoined.": (
        Kind.NOT_REJOINED,
        {"reason": "no members rejoined"},
    ),
    "Group {group} with generation {generation} is now empty.": Kind.EMPTY,
    "Group {group} is dead, skipping rebalance stage.": None,
    "[Group {group}] Member {member} has left group through explicit `LeaveGroup` request; client reason:"
    " {reason}": Kind.LEFT,
    "[Group {group}] Pending member {member} has left group through explicit `LeaveGroup` request; client"
    " reason: {reason}": (Kind.LEFT, {"pending": True}),
    "[GroupId {group}] Dynamic member {member} has left group through explicit `LeaveGroup` request; client"
    " reason: {reason}": Kind.LEFT,
    "[GroupId {group}] Static member {member} with instance id {instance} has left group through explicit"
    " `LeaveGroup` request; client reason: {reason}": Kind.LEFT,
    "Failed to persist metadata for group {group} static member {member} with group instance id {instance}"
    " due to {reason}. Reverting to old member id {old_member}.": Kind.APPEND_FAILED,
    "Failed to write empty metadata for group {group}: {reason}": Kind.APPEND_FAILED,
    "Attempt to add rejoining member {member} of group {group} in unexpected group state"
    " {state}": Kind.REFUSED,
    "Setting empty assignments for members {_members} of {_group} for generation {_generation}.": None,
    "Sending empty assignment to member {_member} of {_group} for generation {_generation} with no"
    " errors": None,
    "Cannot complete join phase of group {_group} because {_reason}.": None,
    "Cannot find the group, skipping {_stage}.": None,
    "Received notification of heartbeat expiration for member {_member} after group {_group} had already been"
    " {_gone}.": None,
    "Received notification of sync expiration for an unknown classic group {_group}.": None,
    "Received unexpected notification of sync expiration {_what}.": None,
    "Loaded classic group {group} with {members} members.": Kind.LOADED,
    "Loaded member {_member} in classic group {_group}.": None,
    "[GroupId={group}] Unloading group metadata for generation {generation}.": Kind.UNLOADED,
}

_OF_CLASSIC_GROUP: Sentences = {
    "Request memberId={member} for static member with groupInstanceId={instance} is fenced by existing"
    " memberId={other_member} during operation {api}": (Kind.REFUSED, {"reason": "FENCED_INSTANCE_ID"}),
    "Group leader [memberId: {member}, groupInstanceId: {instance}] failed to join before the rebalance"
    " timeout. Member {new_leader} was elected as the new leader.": (Kind.NOT_REJOINED, {"leader": True}),
    "Group leader [memberId: {member}, groupInstanceId: {instance}] failed to join before the rebalance"
    " timeout and the group couldn't proceed to the next generation because no member joined.": (
        Kind.NOT_REJOINED,
        {"leader": True},
    ),
    "Failed to parse Consumer Protocol {_protocol} of group {_group}. Consumer group coordinator is not aware"
    " of the subscribed topics.": None,
}

_OTHER = Kind.OTHER_PROTOCOL

_NOT_CLASSIC: Sentences = {
    "[GroupId {group}] Member {member} joins the {_type} group using the {_protocol} protocol.": _OTHER,
    "[GroupId {group}] Static member {member} with instance id {instance} joins the consumer group using the"
    " {_protocol} protocol.": _OTHER,
    "[GroupId {group}] Static member with instance id {instance} re-joins the consumer group using the"
    " {_protocol} protocol. Created a new member {member} to replace the existing member"
    " {old_member}.": _OTHER,
    "[GroupId {group}] Dynamic member with unknown member id joins the consumer group. Created a new member"
    " id {member} and requesting the member to rejoin with this id.": _OTHER,
    "[GroupId {group}] Member {member} left the {_type} group.": _OTHER,
    "[GroupId {group}] Static member {member} with instance id {instance} temporarily left the consumer"
    " group.": _OTHER,
    "[GroupId {group}] Static member {member} with instance id {instance} left the consumer group.": _OTHER,
    "[GroupId {group}] Static member {member} with instance id {instance} cannot join the group because the"
    " instance id is owned by member {old_member}.": _OTHER,
    "[GroupId {group}] Static member {member} with instance id {instance} is fenced by existing member"
    " {old_member}.": _OTHER,
    "[GroupId {group}] Member {member} fenced from the group because {reason}.": _OTHER,
    "[GroupId {group}] Streams member {member} fenced from the group because {reason}.": _OTHER,
    "[GroupId {group}] Member {member} updated its {_what}": _OTHER,
    "[GroupId {group}] Member {member} new assignment state: {_state}": _OTHER,
    "[GroupId {group}] Bumped group epoch to {_epoch}.": _OTHER,
    "[GroupId {group}] Computed {_what}": _OTHER,
    "[GroupId {group}] Refreshing regular expressions: {_what}": _OTHER,
    "[GroupId {group}] Scanned {_what}": _OTHER,
    "[GroupId {group}] Received updated regular expressions{_what}": _OTHER,
    "[GroupId {group}] Received result of regular expression{_what}": _OTHER,
    "[GroupId {group}] Couldn't {_what}": _OTHER,
    "[GroupId {group}] Could not fence {_what}": _OTHER,
    "[GroupId {group}] Ignoring rebalance timeout {_what}": _OTHER,
    "[GroupId {group}] Skipping delayed target assignment: {_what}": _OTHER,
    "[GroupId {group}] Assignment delayed due to {reason}.": _OTHER,
    "[GroupId {group}] Converted {_what}": _OTHER,
    "Cannot downgrade consumer group {group} to classic group because {reason}.": _OTHER,
    "Cannot upgrade classic group {group} to consumer group because {reason}.": _OTHER,
    "Cannot upgrade classic group {group} to consumer group: {reason}.": _OTHER,
    "Loaded {_type} group {group} with {members} members.": _OTHER,
    "Loaded member {_member} in {_type} group {_group}.": None,
    "[GroupId={group}] Unloaded group metadata for group epoch {_epoch}.": _OTHER,
}

_SHARD: Sentences = {
    "The following groups were deleted: {groups}. A total of {offsets} offsets were removed.": Kind.DEAD,
    "Generated {offsets} tombstone records while cleaning up group metadata in {milliseconds}"
    " milliseconds.": Kind.EXPIRED,
    "Generated {_number} tombstone records in {_milliseconds} milliseconds while deleting offsets for"
    " {_what}.": None,
    "Generated {_number} records in {_milliseconds} milliseconds while cleaning share group state for topics"
    " {_topics}.": None,
    "Unable to delete share group{_what}": None,
}

_OFFSETS: Sentences = {
    "[GroupId {group}] Creating a simple consumer group via manual offset commit.": None,
    "[GroupId {_group}] Removing expired offset and metadata for {_partition}": None,
    "[GroupId {_group}] Expired offset for partition={_partition}": None,
    "[GroupId {_group}] Committing {_what}": None,
    "Replaying {_what}": None,
    "Replayed {_what}": None,
    "Committed transactional {_what}": None,
    "Aborted transactional {_what}": None,
    "Skipped the materialization {_what}": None,
}

_LOADS: Sentences = {
    "Scheduling loading of metadata from __consumer_offsets-{partition} with epoch {epoch}": Kind.LOADING,
    "Finished loading of metadata from __consumer_offsets-{partition} with epoch {epoch} in {milliseconds}ms"
    " where {_number}ms was spent in the scheduler. Loaded {records} records which total to {bytes}"
    " bytes.": Kind.LOADED,
    "Failed to load metadata from __consumer_offsets-{partition} with epoch {epoch} due to {reason}.": (
        Kind.LOADED
    ),
    "Scheduling unloading of metadata for {_what}": None,
    "Started unloading metadata for {_what}": None,
    "Finished unloading metadata for __consumer_offsets-{partition} with epoch {epoch}.": Kind.UNLOADED,
    "Failed to unload {_what}": None,
    "Ignored {_what}": None,
    "The coordinator {_partition} is already {_state}.": None,
    "Failed to write records to __consumer_offsets-{partition} due to an unexpected error: {reason}.": (
        Kind.APPEND_FAILED
    ),
    "Failed to write records to __consumer_offsets-{partition} because {reason}.": Kind.APPEND_FAILED,
    "Failed to write a batch of {number} record(s) to __consumer_offsets-{partition} because {reason}.": (
        Kind.APPEND_FAILED
    ),
    "Failed to flush the pending records to __consumer_offsets-{partition}: {reason}.": Kind.APPEND_FAILED,
    "Transition from {_state}": None,
    "Scheduled execution of {_what}": None,
    "Execution of {_name} failed due to {_reason}.": None,
    "Scheduling applying of {_what}": None,
    "Applying new metadata image {_what}": None,
    "High watermark of {_what}": None,
    "Updating high watermark of {_what}": None,
    "Coordinator runtime {_what}": None,
    "Closing coordinator runtime.": None,
}

_TIMERS: Sentences = {
    "Registering timer {_what}": None,
    "Executing write event {_what}": None,
    "Scheduling write event {_what}": None,
    "Updated last written offset {_what}": None,
    "Updated committed offset {_what}": None,
}

_SERVICE: Sentences = {
    "Starting up.": None,
    "Startup complete.": None,
    "Shutting down.": None,
    "Shutdown complete.": None,
}

VERSIONS = "4.x"

JAVA = Table(
    (
        *sentences(f"{_GROUP}.GroupMetadataManager", VERSIONS, _CLASSIC),
        *sentences(f"{_GROUP}.classic.ClassicGroup", VERSIONS, _OF_CLASSIC_GROUP),
        *sentences(f"{_GROUP}.GroupMetadataManager", VERSIONS, _NOT_CLASSIC),
        *sentences(f"{_GROUP}.GroupCoordinatorShard", VERSIONS, _SHARD),
        *sentences(f"{_GROUP}.OffsetMetadataManager", VERSIONS, _OFFSETS),
        *sentences(f"{_RUNTIME}.CoordinatorRuntime", VERSIONS, _LOADS),
        *sentences(f"{_RUNTIME}.CoordinatorTimerImpl, SnapshottableCoordinator", VERSIONS, _TIMERS),
        *sentences(f"{_GROUP}.GroupCoordinatorService", VERSIONS, _SERVICE),
    )
)
"""The lines of Kafka's coordinator in Java."""
