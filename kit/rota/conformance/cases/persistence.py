"""What members see once the leader's assignment is stored; a log that fails or is slow is out of reach."""

from __future__ import annotations

from rota.conformance.dialogue import PROMPTLY, Dialogue
from rota.conformance.groups import ON_ITS_WAY, forming
from rota.conformance.registry import case

_SYNC = "GroupMetadataManager.classicGroupSyncToClassicGroup"


@case(
    "persistence.assignment-stored.own-share",
    "The leader's assignment releases everyone who waits in SyncGroup; each is answered its own bytes.",
    f"{_SYNC}; GroupMetadataManager.propagateAssignment",
)
def own_share(d: Dialogue) -> None:
    formed = forming(d, *(d.member(name) for name in "abc"))
    waiting = [(follower, follower.send_sync()) for follower in formed.followers]
    d.wait(ON_ITS_WAY)
    given = formed.assignments
    d.expect(formed.leader.sync(given), error="NONE", assignment=given[formed.leader.member_id])
    for follower, sync in waiting:
        d.expect(sync.answer(PROMPTLY), error="NONE", assignment=given[follower.member_id])


@case(
    "persistence.assignment-stored.makes-stable",
    "The leader's SyncGroup makes the group Stable; it does not wait for the followers to sync.",
    _SYNC,
)
def leader_suffices(d: Dialogue) -> None:
    formed = forming(d, d.member("a"), d.member("b"))
    d.expect(formed.leader.sync(formed.assignments), error="NONE")
    d.expect(formed.leader.heartbeat(), error="NONE")
    d.expect(formed.followers[0].heartbeat(), error="NONE")


@case(
    "persistence.assignment-stored.names-protocol",
    "From version 5 a granted SyncGroup names the group's protocol type and protocol.",
    "KIP-559; SyncGroup response schema",
    needs={"SyncGroup": (5, 5)},
)
def reply_names_protocol(d: Dialogue) -> None:
    formed = forming(d, d.member("a"))
    reply = formed.leader.sync(formed.assignments)
    d.expect(reply, error="NONE", protocol_type="consumer", protocol_name="range")
