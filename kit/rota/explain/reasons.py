"""Why a rebalance began, as brokers and clients write it: a table from their words to rules of the spec.

Apache Kafka's coordinators (3.x and 4.x) and rota's write a reason behind "Preparing to rebalance"; it ends
with the client's own reason where a request had one (KIP-800).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from rota.logs.events import listed_in


class Said(StrEnum):
    """What a client gives as its reason to join or to leave."""

    NOTHING = "nothing"
    LATE_POLL = "late-poll"
    CLOSED = "closed"
    UNSUBSCRIBED = "unsubscribed"
    ADMIN = "admin"
    METADATA = "metadata"
    SUBSCRIPTION = "subscription"
    ENFORCED = "enforced"
    FOLLOW_UP = "follow-up"
    SOMETHING = "something"


WORDS: tuple[tuple[str, Said], ...] = (
    ("poll timeout has expired", Said.LATE_POLL),
    ("max.poll.interval", Said.LATE_POLL),
    ("is being closed", Said.CLOSED),
    ("unsubscribed from all topics", Said.UNSUBSCRIBED),
    ("removed by an admin", Said.ADMIN),
    ("cached metadata has changed", Said.METADATA),
    ("subscription has changed", Said.SUBSCRIPTION),
    ("does not match the current subscription", Said.SUBSCRIPTION),
    ("enforced by user", Said.ENFORCED),
    ("need to revoke partitions", Said.FOLLOW_UP),
)
"""Words of clients → what they say."""

CLIENT_REASON = "client reason:"
NONE_GIVEN = ("", "not provided", "unknown reason")


def said(reason: str) -> Said:
    """What a client's reason says; that of the client where a broker's stands before it."""
    given = reason.rpartition(CLIENT_REASON)[2].strip().rstrip(".")
    if given in NONE_GIVEN:
        return Said.NOTHING
    return next((what for words, what in WORDS if words in given), Said.SOMETHING)


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a rebalance began with. rule: its slug; words: what happened, with the member at {who}."""

    name: str
    rule: str
    words: str


UNTOLD = Trigger("untold", "", "why it began is not visible in this source")
JOINED = Trigger("joined", "join.pending-member", "{who} joined")
STATIC_JOINED = Trigger("static-joined", "static.new-member", "{who} joined as a static member")
STATIC_BACK = Trigger("static-back", "static.replaced", "the static member {who} came back")
STATIC_VOTE = Trigger("static-vote", "static.replaced-changed-vote",
                      "the static member {who} came back with protocols that change the vote")  # fmt: skip
STATIC_WHILE = Trigger("static-while", "static.replaced-while-completing",
                       "the static member {who} came back while assignments were awaited")  # fmt: skip
CHANGED = Trigger("changed", "join.changed-protocols", "{who} joined again with other metadata")
LEADER = Trigger("leader", "join.leader-rejoins", "the leader {who} joined again")
FAILED = Trigger("failed", "timers.session-expired", "the session of {who} ran out")
LEFT = Trigger("left", "leave.member", "{who} left")
NOT_SYNCED = Trigger("not-synced", "timers.sync-timeout", "{who} did not fetch its assignment in time")
NOT_STORED = Trigger("not-stored", "persistence.assignment-failed", "the assignment could not be stored")
CAPACITY = Trigger(
    "capacity", "loading.over-capacity", "the group was loaded with more members than are allowed"
)
REJOINED = Trigger("rejoined", "join.rebalance-or-complete", "{who} joined again")

_TRIGGERS: tuple[tuple[str, Trigger], ...] = (
    (r"on heartbeat expiration", FAILED),
    (r"removing member (?P<who>\S+) on LeaveGroup", LEFT),
    (r"LeaveGroup`? (?:request for|of) \(?(?P<who>[^)]*)", LEFT),
    (r"on pending sync request expiration", NOT_SYNCED),
    (r"selectedProtocol will change because static member (?P<who>\S+)", STATIC_VOTE),
    (r"updating metadata for static member (?P<who>\S+)", STATIC_WHILE),
    (r"static member (?P<who>\S+) .*is back", STATIC_BACK),
    (r"adding new member (?P<who>\S+) with (?:group )?instance id (?:Optional\.empty|None\b|null)", JOINED),
    (r"adding new member (?P<who>\S+) with (?:group )?instance id", STATIC_JOINED),
    (r"adding new member (?P<who>\S+)", JOINED),
    (r"leader (?P<who>\S+) re-joining|re-joining of leader (?P<whom>\S+)", LEADER),
    (r"updating metadata (?:for member|of) (?P<who>\S+)", CHANGED),
    (r"member (?P<who>\S+) (?:is )?joining|re-joining of (?P<whom>\S+)", REJOINED),
    (r"storing group assignment|when the assignment was stored", NOT_STORED),
    (r"over capacity", CAPACITY),
)

TRIGGERS = tuple((re.compile(pattern, re.IGNORECASE), trigger) for pattern, trigger in _TRIGGERS)
"""Words of brokers → what began it; the first that is found counts."""

EXPIRED = re.compile(
    r"removing member (?P<who>.+?) on heartbeat|removing (?P<listed>.+?) on pending", re.IGNORECASE
)
"""Words in which a member, or a list of them, stands between others."""


def trigger_of(reason: str) -> tuple[Trigger, str]:
    """What a rebalance began with, and the member, "" where the words name none."""
    if not reason:
        return UNTOLD, ""
    for pattern, trigger in TRIGGERS:
        if found := pattern.search(reason):
            named = [text for text in found.groupdict().values() if text]
            expired = EXPIRED.search(reason)
            if not named and expired:
                named = [expired["who"]] if expired["who"] else listed_in(expired["listed"])
            who = next(iter(named), "")
            return trigger, who.strip("`'\"().,;[]")
    return UNTOLD, ""
