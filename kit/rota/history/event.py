"""One event: what a source tells of a group at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field


class Source(StrEnum):
    """What kind of source told it: each can tell some things and never others."""

    BROKER_LOG = "broker-log"
    CLIENT_LOG = "client-log"
    FRAMES = "frames"
    OFFSETS = "offsets"
    DESCRIBED = "described"


class Kind(StrEnum):
    """What was seen; below each kind what an event of it has and the keys of its `data`, as far as known."""

    # Of broker logs.

    PREPARING = "preparing-rebalance"
    """generation: the one that ends; state; reason; member and instance, where it is about one. data:
    partition (of the offsets topic), broker, members (number), cause (see rota.logs.reasons), client_reason,
    removed ([member])."""
    STABILIZED = "stabilized"
    """generation: the new one; member: the leader. data: members, static (numbers)."""
    ASSIGNMENT = "assignment-received"
    """generation; member: the leader. data: members, static (numbers). In a leader's own log, where it has
    assigned: data: members, assignments ({member: [topic-partition]})."""
    ID_GIVEN = "id-given"
    """member: the id that a newcomer is to join again with."""
    JOINED = "member-joined"
    """member, instance, state."""
    REPLACED = "member-replaced"
    """A static member has come back: member: the new id, instance. data: old_member."""
    FAILED = "member-failed"
    """A session ran out, or a member was fenced for it: member, instance, reason. data: pending (true: it was
    given an id and never came back with it)."""
    LEFT = "member-left"
    """member, instance, reason. data: pending (as above), session_ms, rebalance_ms."""
    NOT_REJOINED = "member-did-not-rejoin"
    """A rebalance ended without a member. member. data: leader (true: it was), new_leader."""
    NOT_SYNCED = "member-did-not-sync"
    """member."""
    OTHER_PROTOCOL = "other-protocol"
    """Something of a consumer, share or streams group, which is not judged. member. data: text."""
    EMPTY = "group-empty"
    """generation."""
    DEAD = "group-dead"
    """generation."""
    EXPIRED = "offsets-expired"
    """data: offsets (number). Without a group where the source tells a sum."""
    LOADING = "loading"
    """data: partition, broker, epoch."""
    LOADED = "loaded"
    """data: partition, broker, milliseconds, records. With a group: the group was read, generation, state,
    data members. reason: it failed."""
    UNLOADED = "unloaded"
    """data: partition, broker. With a group: generation."""
    APPEND_FAILED = "append-failed"
    """A record was not stored. reason: the error. data: partition."""
    REFUSED = "refused"
    """A request was answered with an error that the log tells. member, reason; data: api, other_member (that
    fences it)."""

    # Of client logs.
    FINDING = "coordinator-lost"
    """The client knows no coordinator (any more). reason."""
    FOUND = "coordinator-found"
    """data: node, address."""
    JOINING = "joining"
    """A client sends JoinGroup. reason."""
    WAS_JOINED = "joined"
    """generation, member: as the client was told. data: leader (bool), protocol."""
    SYNCED = "assigned"
    """generation, member. data: partitions ([topic-partition], all of them) or added (those that are new and
    were given to the application; an event of its own)."""
    REVOKED = "revoked"
    """member. data: partitions."""
    LOST = "partitions-lost"
    """member, reason. data: partitions."""
    REBALANCE_TOLD = "rebalance-told"
    """A client learns from an answer that the group rebalances."""
    POLL_LATE = "poll-late"
    """The application did not poll within max.poll.interval.ms. data: milliseconds (how much too late)."""
    SESSION_LATE = "session-late"
    """The client itself has seen no heartbeat answered within its session timeout."""
    LEAVING = "leaving"
    """A client sends LeaveGroup. member, reason."""
    COMMIT_REFUSED = "commit-refused"
    """reason: the error; generation, member. data: partitions, where it is told."""
    DISCONNECTED = "disconnected"
    """A connection to the coordinator broke. reason."""
    CLIENT_STARTED = "client-started"
    """data: settings ({name: value}), those that rebalances depend on, as far as they are told."""
    CLIENT_CLOSED = "client-closed"
    """The client was closed by its application."""

    # Of frames. at: when the frame was whole. data: connection (number), broker, correlation, api, version.
    OPENED = "opened"
    """data: connection, broker (to which it leads), address (of the client)."""
    REQUEST = "request"
    """data also: fields (the body; bytes as {"base64": text}), bytes (base64, the frame without length)."""
    RESPONSE = "response"
    """As of a request, api and version of the request that it answers."""
    CLOSED = "closed"
    """data: connection, broker."""
    GAP = "gap"
    """Frames are missing: a capture that began late, was cut or lost packets. reason; data: connection,
    broker."""

    # Of the offsets topic. data: partition, offset (of the record), producer_id where it is transactional.
    GROUP_STORED = "group-stored"
    """generation, member: the leader. data also: protocol_type, protocol, state_at (s), members ([{member,
    instance, client, host, session_ms, rebalance_ms, subscription, assignment}]; the last two base64)."""
    GROUP_REMOVED = "group-removed"
    OFFSET_STORED = "offset-stored"
    """data also: topic, topic_partition, committed, metadata, leader_epoch, commit_at, expire_at (s)."""
    OFFSET_REMOVED = "offset-removed"
    """data also: topic, topic_partition."""
    OTHER_RECORD = "other-record"
    """A record of another kind, of the consumer protocol or unknown. data also: type (name or version)."""

    # Of requests that describe a group. data: as group-stored; state.
    DESCRIBED = "described"

    # Of any source.
    UNREAD = "unread"
    """Something about groups that the reader does not know. data: text."""


class Event(Struct, frozen=True):
    """What was seen once.

    at: seconds since 1970 in UTC by the source's clock, None where it tells no time; origin: where it stands,
    as people find it ("server.log:1203", "__consumer_offsets-7@412", "night.pcap#88"); group: "" where it is
    about a coordinator or unknown; member, instance, client (client id), host: "" where untold; generation,
    None where untold; state: the group's, in Kafka's words; reason: as it was told; data: what the kind has
    beside, JSON values only.
    """

    at: int | float | None
    source: Source
    origin: str
    kind: Kind
    group: str = ""
    member: str = ""
    instance: str = ""
    client: str = ""
    host: str = ""
    generation: int | None = None
    state: str = ""
    reason: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
