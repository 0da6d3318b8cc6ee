"""Lines of the log about groups: one for each event, with the key words that it has in Kafka's.

What clients have chosen (ids, reasons) is cut and escaped, so that an event is one line whatever they send.
"""

from collections.abc import Mapping
from types import MappingProxyType

from rota.coordinator import Event, Notice

MOST_CHARACTERS = 255
"""Of an id or a reason; clients of Kafka cut their reasons there."""

MOST_IDS = 20
"""Of members that were removed together."""

SENTENCES: Mapping[Event, str] = MappingProxyType(
    {
        "preparing": "Preparing to rebalance group {group} in state {state} with old generation {generation}"
        " and {members} members (reason: {reason})",
        "stabilized": "Stabilized group {group} generation {generation} with {members} members,"
        " {static} of which are static, leader {member}",
        "assignment": "Assignment received from leader {member} for group {group} for generation"
        " {generation}: {members} members, {static} of which are static",
        "empty": "Group {group} with generation {generation} is now empty",
        "id_given": "Dynamic member with unknown member id joins group {group} in state {state}:"
        " it has to rejoin with new member id {member}",
        "joined": "{kind} member with unknown member id joins group {group} in state {state}:"
        " new member id {member} is added",
        "joined_with_id": "Pending dynamic member {member} joins group {group} in state {state}: it is added",
        "replaced": "{kind} member with unknown member id joins group {group} in state {state}:"
        " new member id {member} replaces {old}",
        "failed": "{kind} member {member} in group {group} has failed: its session expired in state {state},"
        " it is removed",
        "not_returned": "Pending member {member} in group {group} has been removed:"
        " it did not rejoin within its session timeout",
        "left": "{kind} member {member} has left group {group} through explicit LeaveGroup; {reason}",
        "pending_left": "Pending member {member} has left group {group} through explicit LeaveGroup;"
        " {reason}",
        "not_joined": "Group {group} removed dynamic members who have not joined: {removed}",
        "not_synced": "Group {group} removed members who have not sent their SyncGroup: {removed}",
        "refused": "{kind} member with unknown member id joins group {group} in state {state}:"
        " client {client} is refused, group.max.size is reached",
        "refused_member": "{kind} member {member} joins group {group} in state {state}:"
        " it is refused, group.max.size is reached",
        "loading": "Loading group metadata for {group} with generation {generation} and {members} members",
        "unloading": "Unloading group metadata for {group} with generation {generation} and {members}"
        " members",
        "member_joins": "Member {member} joins the consumer group {group}: epoch {generation}, {members}"
        " members",
        "member_left": "Member {member} left the consumer group {group}: epoch {generation}, {members}"
        " members",
        "member_fenced": "Member {member} fenced from the consumer group {group} because {reason}: epoch"
        " {generation}, {members} members",
        "members_removed": "Members removed from the consumer group {group} through explicit LeaveGroup:"
        " epoch {generation}, {members} members, without {removed}",
        "member_refused": "Member {member} joins the consumer group {group}: client {client} is refused,"
        " group.consumer.max.size is reached",
        "target": "Computed a new target assignment for the consumer group {group} with assignor {reason}:"
        " epoch {generation}, {members} members",
    }
)
"""Event → its line."""


def line(notice: Notice) -> str:
    """The notice as one line."""
    instance_id = notice.group_instance_id
    return SENTENCES[notice.event].format(
        group=plain(notice.group_id),
        state=notice.state,
        generation=notice.generation_id,
        members=notice.members,
        static=notice.static_members,
        member=plain(notice.member_id),
        kind="Dynamic" if instance_id is None else f"Static (instance id {plain(instance_id)})",
        old=plain(notice.old_member_id),
        removed=_listed(notice.removed),
        reason=plain(notice.reason),
        client=plain(notice.client_id),
    )


def plain(text: str) -> str:
    """A text of a client's: no longer than is good for a line, and what cannot be printed as an escape."""
    cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def _listed(member_ids: tuple[str, ...]) -> str:
    shown = ", ".join(map(plain, member_ids[:MOST_IDS]))
    more = len(member_ids) - MOST_IDS
    return f"{shown} and {more} more" if more > 0 else shown
