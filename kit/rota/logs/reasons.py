"""Why a coordinator says that it rebalances: its words, taken apart."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from rota.history import Kind
from rota.logs.patterns import Pattern, Table


class Cause(StrEnum):
    """What began a rebalance; `data["cause"]` of an event of the kind PREPARING."""

    NEW_MEMBER = "new-member"
    """A member has come that was not there."""
    REJOINED = "rejoined"
    """A member has joined again that was there, with other metadata or while the group was not stable."""
    LEADER_REJOINED = "leader-rejoined"
    """The leader has joined again: to assign anew, as after a change of topics."""
    STATIC_CHANGED = "static-changed"
    """A static member has come back, and with it the group's protocol or the member's metadata changed."""
    SESSION_EXPIRED = "session-expired"
    """A member's session ran out."""
    NOT_SYNCED = "not-synced"
    """A member never sent its SyncGroup."""
    LEFT = "left"
    """A member has left."""
    NOT_STORED = "not-stored"
    """The group's record could not be written."""
    TOO_LARGE = "too-large"
    """The group was loaded with more members than may be."""


JAVA, SCALA, ROTA = "4.x", "3.x", "rota"

_WORDS = (
    ("Adding new member {member} with group instance id {instance}; client reason: {client_reason}", JAVA),
    ("Adding new member {member} with group instance id {instance}", SCALA),
    ("adding new member {member} with instance id {instance}; client reason: {client_reason}", ROTA),
)

_CAUSES: dict[Cause, tuple[tuple[str, str], ...]] = {
    Cause.NEW_MEMBER: _WORDS,
    # Before the next: of rota's words "re-joining of" begins both.
    Cause.LEADER_REJOINED: (
        ("Leader {member} re-joining group during {during}; client reason: {client_reason}", JAVA),
        ("re-joining of leader {member} during {during}; client reason: {client_reason}", ROTA),
    ),
    Cause.REJOINED: (
        ("Member {member} is joining group during {during}; client reason: {client_reason}", JAVA),
        ("Member {member} joining group during {during}; client reason: {client_reason}", SCALA),
        ("Updating metadata for member {member} during {during}; client reason: {client_reason}", JAVA),
        ("re-joining of {member} during {during}; client reason: {client_reason}", ROTA),
        ("updating metadata of {member} during {during}; client reason: {client_reason}", ROTA),
    ),
    Cause.STATIC_CHANGED: (
        (
            "Group's selectedProtocol will change because static member {member} with instance id {instance}"
            " joined with change of protocol; client reason: {client_reason}",
            JAVA,
        ),
        (
            "Updating metadata for static member {member} with instance id {instance}; client reason:"
            " {client_reason}",
            JAVA,
        ),
        ("static member {member} with instance id {instance} is back; client reason: {client_reason}", ROTA),
    ),
    Cause.SESSION_EXPIRED: (
        ("removing member {member} on heartbeat expiration.", JAVA),
        ("removing member {member} on heartbeat expiration", SCALA),
    ),
    Cause.NOT_SYNCED: (
        ("Removing {removed} on pending sync request expiration", JAVA),
        ("removing {removed} on pending sync request expiration", ROTA),
    ),
    Cause.LEFT: (
        ("explicit `LeaveGroup` request for ({removed}) members.", JAVA),
        ("Removing member {member} on LeaveGroup; client reason: {client_reason}", SCALA),
        ("removing member {member} on LeaveGroup", SCALA),
        ("explicit LeaveGroup of {removed}", ROTA),
    ),
    Cause.NOT_STORED: (
        ("Error {error} when storing group assignment during SyncGroup (member: {member})", SCALA),
        ("error {error} when the assignment was stored", ROTA),
    ),
    Cause.TOO_LARGE: (
        (
            "Freshly-loaded group is over capacity ({_size}). Rebalancing in order to give a chance for"
            " consumers to commit offsets",
            SCALA,
        ),
        ("the loaded group is over capacity ({_size})", ROTA),
    ),
}

REASONS = Table(
    tuple(
        Pattern(text, Kind.PREPARING, "reason", versions, {"cause": cause.value})
        for cause, texts in _CAUSES.items()
        for text, versions in texts
    )
)
"""The reasons of all coordinators."""


def taken_apart(reason: str) -> dict[str, Any]:
    """What a reason tells: cause, member, instance, client_reason and so on; nothing where it is unknown."""
    found = REASONS.find(reason)
    return {} if found is None else {**found[1], **found[0].also}
