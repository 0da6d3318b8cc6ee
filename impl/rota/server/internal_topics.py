"""The topics that are a broker's own: that of the groups' offsets is told of, and not written by clients.

It is there from when a client first looks for a coordinator, as in Kafka, or from the start where groups are
kept in a folder. Its records are not for Fetch: they are in the folder, or in none.

Source: upstream's Topic#isInternal and AutoTopicCreationManager; a running Kafka 4.4.0.
"""

from __future__ import annotations

from rota.server.errors import ErrorCode, Refusal
from rota.server.placement import OFFSETS, TRANSACTIONS
from rota.server.settings import Settings
from rota.server.topics import Topics

_ADMIN = "__admin_client"
"""Who may append to a broker's own topics, by its client id (upstream's AdminUtils#ADMIN_CLIENT_ID)."""

_INTERNAL = frozenset({OFFSETS, TRANSACTIONS, "__share_group_state"})


def is_internal(name: str) -> bool:
    """Whether a topic is a broker's own."""
    return name in _INTERNAL


def check_writable(name: str, client_id: str | None = None) -> None:
    """Whether clients may append to a topic and delete what is in it; who appends gives its id.

    Errors: Refusal.
    """
    if is_internal(name) and client_id != _ADMIN:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, None)


def ensure_offsets(topics: Topics, settings: Settings) -> None:
    """The topic of offsets is there from now on, if it has room."""
    if topics.partition_count(OFFSETS):
        return
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(max(settings.offsets_topic_segment_bytes, 1 << 20)),
    }
    try:
        topics.create(OFFSETS, settings.offsets_topic_num_partitions, configs)
    except Refusal:
        return
