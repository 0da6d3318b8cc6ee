"""What `rota serve` prints of groups: sentences alike to Kafka's."""

from __future__ import annotations

from rota.history import Kind
from rota.logs.patterns import Sentences, Table, sentences

_FULL = (Kind.REFUSED, {"api": "JoinGroup", "reason": "GROUP_MAX_SIZE_REACHED"})
"""Lines of rota's own: Kafka's log has no word of it."""

_LINES: Sentences = {
    "Preparing to rebalance group {group} in state {state} with old generation {generation} and {members}"
    " members (reason: {reason})": Kind.PREPARING,
    "Stabilized group {group} generation {generation} with {members} members, {static} of which are static,"
    " leader {member}": Kind.STABILIZED,
    "Assignment received from leader {member} for group {group} for generation {generation}: {members}"
    " members, {static} of which are static": Kind.ASSIGNMENT,
    "Group {group} with generation {generation} is now empty": Kind.EMPTY,
    "Dynamic member with unknown member id joins group {group} in state {state}: it has to rejoin with new"
    " member id {member}": Kind.ID_GIVEN,
    "Dynamic member with unknown member id joins group {group} in state {state}: new member id {member} is"
    " added": Kind.JOINED,
    "Static (instance id {instance}) member with unknown member id joins group {group} in state {state}: new"
    " member id {member} is added": Kind.JOINED,
    "Pending dynamic member {member} joins group {group} in state {state}: it is added": Kind.JOINED,
    "Static (instance id {instance}) member with unknown member id joins group {group} in state {state}: new"
    " member id {member} replaces {old_member}": Kind.REPLACED,
    "Dynamic member {member} in group {group} has failed: {reason} in state {state}, it is"
    " removed": Kind.FAILED,
    "Static (instance id {instance}) member {member} in group {group} has failed: {reason} in state {state},"
    " it is removed": Kind.FAILED,
    "Pending member {member} in group {group} has been removed: {reason}": (Kind.FAILED, {"pending": True}),
    "Dynamic member {member} has left group {group} through explicit LeaveGroup; client reason:"
    " {reason}": Kind.LEFT,
    "Static (instance id {instance}) member {member} has left group {group} through explicit LeaveGroup;"
    " client reason: {reason}": Kind.LEFT,
    "Pending member {member} has left group {group} through explicit LeaveGroup; client reason: {reason}": (
        Kind.LEFT,
        {"pending": True},
    ),
    "Group {group} removed dynamic members who have not joined: {removed}": Kind.NOT_REJOINED,
    "Group {group} removed members who have not sent their SyncGroup: {removed}": Kind.NOT_SYNCED,
    "Dynamic member with unknown member id joins group {group} in state {state}: client {client} is refused,"
    " group.max.size is reached": _FULL,
    "Static (instance id {instance}) member with unknown member id joins group {group} in state {state}:"
    " client {client} is refused, group.max.size is reached": _FULL,
    "Dynamic member {member} joins group {group} in state {state}: it is refused, group.max.size is"
    " reached": _FULL,
    "Static (instance id {instance}) member {member} joins group {group} in state {state}: it is refused,"
    " group.max.size is reached": _FULL,
    "Loading group metadata for {group} with generation {generation} and {members} members": Kind.LOADED,
    "Unloading group metadata for {group} with generation {generation} and {members} members": Kind.UNLOADED,
}

_OTHER = Kind.OTHER_PROTOCOL

_CONSUMERS: Sentences = {
    "Member {member} joins the consumer group {group}: epoch {_epoch}, {_members} members": _OTHER,
    "Member {member} left the consumer group {group}: epoch {_epoch}, {_members} members": _OTHER,
    "Member {member} fenced from the consumer group {group} because {reason}: epoch {_epoch}, {_members}"
    " members": _OTHER,
    "Members removed from the consumer group {group} through explicit LeaveGroup: epoch {_epoch}, {_members}"
    " members, without {_removed}": _OTHER,
    "Member {member} joins the consumer group {group}: client {_client} is refused, group.consumer.max.size"
    " is reached": _OTHER,
    "Computed a new target assignment for the consumer group {group} with assignor {_assignor}: epoch"
    " {_epoch}, {_members} members": _OTHER,
}

SERVER = Table(
    (
        *sentences("rota.server.log_lines", "rota", _LINES),
        *sentences("rota.server.log_lines", "rota", _CONSUMERS),
    )
)
"""The lines of rota's own server."""
