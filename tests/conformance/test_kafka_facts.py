"""What running Kafkas of four versions were seen to do, sentence by sentence, and where the kit shows it.

Each sentence names the cases and probes in which it can be heard, so that nothing which is known goes untold.
"""

from __future__ import annotations

from collections import Counter

import pytest

from rota.conformance.registry import all_probes, all_scripts

JOINING = {
    "Without an id and before version 4: admitted at once.": ["join.new-member.admitted-at-once"],
    "Without an id from version 4: an id of client id and UUID, generation -1, no leader, no protocol.": [
        "join.member-id-required.id-handed-out",
        "join.member-id-required.id-form",
        "join.member-id-required.empty-protocol",
        "join.member-id-required.null-protocol",
    ],
    "After the handshake the group exists, Empty.": ["admin.describe.after-handshake"],
    "Asked again it hands out another id.": ["join.member-id-required.second-id"],
    "Static newcomers need no handshake; their id is made of the instance id.": ["static.join.at-once"],
    "A handed-out id lasts for the session timeout, until LeaveGroup, or until DeleteGroups.": [
        "timers.pending-expired.forgotten",
        "leave.pending-member.forgotten",
        "admin.delete.handed-out-id",
    ],
    "A handed-out id is no member for Heartbeat and SyncGroup.": [
        "heartbeat.unknown-member.pending",
        "sync.unknown-member.pending",
    ],
    "A handed-out id blocks the others' rebalance until it is used or gone.": [
        "join.barrier.pending-blocks",
        "timers.pending-expired.unblocks",
        "leave.pending-member.unblocks",
    ],
    "A handed-out id does not block the first generation.": ["timers.initial-delay-over.pending-ignored"],
    "The first of an empty group leads, and keeps leading while it is in time.": [
        "join.leader.first-of-empty",
        "join.leader.stays",
    ],
    "A leader that is late or gone is followed by one that has joined again, by hash order.": [
        "join.leader.absent-replaced",
        "leave.remove-member.leader-replaced",
    ],
    "Members are listed to the leader alone.": ["join.next-generation.members-for-leader-only"],
    "Generations begin with 1 and grow by one.": [
        "join.next-generation.first",
        "join.prepare-rebalance.new-member",
    ],
    "Becoming empty is a generation too.": ["join.empty.counts-as-generation"],
    "The group id is checked first, the session second, the member last.": [
        "join.invalid-group-id.before-session-timeout",
        "join.invalid-session-timeout.before-member-id",
    ],
    "The bounds of sessions are inclusive.": ["join.invalid-session-timeout.bounds-inclusive"],
    "Unsuitable protocols win over an unknown id.": ["join.inconsistent-protocol.before-member-id"],
    "A refusal echoes the id, but for the size limit's.": [
        "join.unknown-group.echoes-id",
        "size.full.dynamic",
    ],
    "No protocols, or no type: refused even by a fresh group, which then exists.": [
        "join.inconsistent-protocol.no-protocols",
        "join.inconsistent-protocol.no-type",
        "admin.describe.after-refused-join",
    ],
}

REJOINING = {
    "A Stable group's follower that changes nothing is answered at once, other timeouts or not.": [
        "join.unchanged.follower",
        "join.unchanged.other-timeouts",
    ],
    "Another order of protocols or other bytes: a rebalance.": [
        "join.changed-protocols.order",
        "join.changed-protocols.metadata",
    ],
    "The leader's JoinGroup always rebalances a Stable group.": ["join.leader-rejoins.unchanged"],
    "While assignments are awaited nobody who is unchanged rebalances; the leader is told the list again.": [
        "join.unchanged.while-completing",
        "join.unchanged.leader-while-completing",
    ],
    "While assignments are awaited a change rebalances.": ["join.changed-protocols.while-completing"],
    "Of two requests of one member that wait, only the later is answered.": [
        "join.while-preparing.replaced-request",
        "sync.follower-waits.replaced-request",
    ],
}

HEARTBEAT_AND_SYNC = {
    "First the group id is checked.": ["heartbeat.invalid-group-id.empty", "sync.invalid-group-id.empty"],
    "Then group and member, before the generation.": [
        "heartbeat.unknown-member.before-generation",
        "sync.unknown-member.before-generation",
    ],
    "The instance is checked with the member.": [
        "static.checks.fenced-before-generation",
        "static.checks.unknown-instance",
    ],
    "Then the generation, before the protocol of a SyncGroup.": ["sync.illegal-generation.before-protocol"],
    "Then the protocol, before the state.": ["sync.inconsistent-protocol.before-state"],
    "The state is looked at last.": [
        "heartbeat.illegal-generation.before-state",
        "sync.illegal-generation.before-state",
    ],
    "Heartbeats in a rebalance tell of it, also to those who wait.": [
        "heartbeat.rebalance-in-progress.before-rejoining",
        "heartbeat.rebalance-in-progress.after-rejoining",
    ],
    "Heartbeats while assignments are awaited are fine.": ["heartbeat.alive.while-completing"],
    "From version 5 of SyncGroup null and empty protocols are refused, before it nothing is checked.": [
        "sync.protocol-required.null",
        "sync.inconsistent-protocol.empty",
        "sync.inconsistent-protocol.not-before-5",
    ],
    "SyncGroup while the members join: a rebalance is going on.": [
        "sync.rebalance-in-progress.current-generation"
    ],
    "A follower's assignments count for nothing, nor do those for unknown ids.": [
        "sync.follower-waits.own-assignments-ignored",
        "sync.leader-assigns.unknown-ids",
    ],
    "Who is left out gets empty bytes, and so does everyone if the leader sends nothing.": [
        "sync.leader-assigns.left-out",
        "sync.leader-assigns.nothing",
    ],
    "A Stable group answers what is stored.": [
        "sync.stable.late-follower",
        "sync.stable.new-assignments-ignored",
    ],
}

LEAVING = {
    "Before version 3 the error stands at the top.": ["leave.batch.error-on-top"],
    "From version 3 each member has its own, in the order of the request.": ["leave.batch.several"],
    "From version 3 a group that does not exist is told member by member.": ["leave.unknown-group.batch"],
    "From version 3 nobody may be named.": ["leave.batch.nobody"],
    "An instance id alone is enough to leave.": ["static.leave.by-instance"],
    "A wrong id beside a known instance is fenced.": ["static.leave.wrong-id"],
    "Whoever is named twice is unknown the second time.": [
        "leave.batch.named-twice",
        "static.leave.by-instance",
    ],
    "Leaving can end a join phase.": ["join.rebalance-or-complete.leave-completes"],
    "Leaving while assignments are awaited begins anew and sends those back who wait in SyncGroup.": [
        "join.prepare-rebalance.leave-cancels-sync"
    ],
}

STATIC = {
    "A restart in a Stable group: new id, same generation, and the old id is fenced or unknown.": [
        "static.restart.follower"
    ],
    "It stays quiet even with other metadata or one protocol more, which only DescribeGroups shows.": [
        "static.restart.changed-metadata",
        "static.restart.added-protocol",
    ],
    "Only where another protocol would be elected does a restart rebalance.": [
        "static.restart.other-protocol"
    ],
    "A leader's restart, version 9: leads, has the list, is to skip the assignment.": [
        "static.restart.leader"
    ],
    "A leader's restart, versions 5 to 8: the dead id leads, no list.": ["static.restart.leader-before-9"],
    "A restart while assignments are awaited rebalances and fences the SyncGroup that waits.": [
        "static.restart.completing"
    ],
    "A restart while the members join fences the JoinGroup that waits.": ["static.restart.preparing"],
    "Whoever is late stays in the group if it is static, and is listed.": ["static.timeout.kept"],
    "A static leader that is late leads no more.": ["static.timeout.leader"],
    "Whoever is late is dropped if it is dynamic.": ["join.complete-phase.absent-removed"],
    "The instance id may be left out.": ["static.checks.without-instance"],
    "The client id of the first start stays in the description.": ["static.describe.first-client-id"],
}

TIMEOUTS = {
    "The largest rebalance timeout of all ends the join phase.": [
        "timers.join-timeout.ends-phase",
        "timers.join-timeout.largest",
    ],
    "In version 0 the session timeout is the rebalance timeout.": ["timers.join-timeout.session-stands-in"],
    "Not to sync in time is to be dropped, heartbeats or not; who waits in SyncGroup has to join again.": [
        "timers.sync-timeout.only-heartbeats"
    ],
    "Rebalance timeouts of 0 and -1: in, and out again at once.": [
        "timers.sync-timeout.zero",
        "timers.sync-timeout.negative",
    ],
    "A newcomer that waits does not expire with its session, even if its connection is gone.": [
        "timers.session-ignored.waiting-in-join",
        "timers.session-ignored.connection-cut",
    ],
    "The initial delay ends in time if nobody else comes.": ["timers.initial-delay-over.not-earlier"],
    "Who comes in a window adds a window.": [
        "timers.initial-delay-extended.three-joins",
        "timers.initial-delay-extended.newcomer",
    ],
    "The rebalance timeout is the cap of the windows, but not of the first.": [
        "timers.initial-delay-extended.capped",
        "timers.initial-delay-over.not-shortened",
    ],
    "There is an initial delay from Empty only, each time anew.": [
        "join.prepare-rebalance.no-initial-delay",
        "timers.initial-delay-over.after-empty",
    ],
    "Who leaves as the only one in the delay is told so with an empty id; the delay runs on.": [
        "timers.initial-delay-over.only-member-leaves"
    ],
}

SIZE = {
    "Full and Stable: no newcomer gets as far as an id.": ["size.full.dynamic", "size.full.static"],
    "Full and Stable: a static member cannot restart.": ["size.full.static-restart"],
    "While the members join only those who wait count; late ones are refused and removed.": [
        "size.preparing.pushed-out"
    ],
    "Handed-out ids do not count.": ["size.pending.not-counted"],
}

OFFSETS_AND_ADMIN = {
    "Commits with another generation, by strangers and by simple consumers are refused under members.": [
        "offsets.commit.wrong-generation",
        "offsets.commit.unknown-member",
        "offsets.commit.simple-live",
    ],
    "The old generation may commit while the members join.": ["offsets.commit.preparing"],
    "Nobody may commit while assignments are awaited.": ["offsets.commit.completing"],
    "A generation means nothing to a group that does not exist; from version 9 another error says so.": [
        "offsets.commit.absent-group",
        "offsets.commit.absent-group-newer",
    ],
    "An Empty group has no member that could commit with a generation.": ["offsets.commit.empty-generation"],
    "Without a generation anyone commits to an Empty group.": ["offsets.commit.empty-simple"],
    "The empty group id may commit, fetch, be described, be deleted.": ["offsets.group-id.empty"],
    "The empty group id may do nothing else.": [
        "join.invalid-group-id.empty",
        "sync.invalid-group-id.empty",
        "heartbeat.invalid-group-id.empty",
        "leave.invalid-group-id.empty",
        "admin.offset-delete.empty-group-id",
    ],
    "A group that does not exist is described as Dead.": [
        "admin.describe.absent",
        "admin.describe.absent-newer",
    ],
    "A group that does not exist has offset -1.": ["offsets.fetch.absent-group"],
    "Neither a group that does not exist nor one with members can be deleted.": [
        "admin.delete.absent",
        "admin.delete.non-empty",
    ],
    "Offsets of what members subscribe to cannot be deleted.": ["admin.offset-delete.subscribed"],
    "A version out of range ends the connection, but for ApiVersions.": [
        "wire.version-out-of-range",
        "wire.api-versions-fallback",
    ],
}

VERSIONS = {
    "A tie goes by the order of a hash map, and within a bucket by lot.": [
        "voting.tie.range-or-roundrobin",
        "voting.tie.range-or-sticky",
        "voting.tie.range-or-cooperative-sticky",
        "voting.tie.roundrobin-or-sticky",
        "voting.tally.tie",
    ],
    "The last one who is missing is refused for size: at once or only at the timeout.": [
        "size.preparing.last-missing"
    ],
    "DescribeGroups outside Stable: nothing, or what was assigned last.": [
        "admin.describe.preparing",
        "admin.describe.completing",
        "admin.describe.empty",
    ],
    "The bits of what is allowed differ.": ["admin.describe.authorized-operations"],
    "What was just made may not be described yet.": [
        "admin.describe.after-handshake",
        "admin.describe.stable",
    ],
    "Ranges of versions differ, but not those of the members' requests.": [
        "wire.versions.beside",
        "wire.versions.membership",
    ],
    "The case of a state's name matters to ListGroups or not.": ["admin.list.state-filter-case"],
    "An empty group id in an old LeaveGroup is refused in two ways.": [
        "leave.invalid-group-id.older-versions"
    ],
    "Lists in answers have no order; repeats in DeleteGroups are answered once.": [
        "join.next-generation.members-for-leader-only",
        "admin.describe.stable",
        "admin.delete.repeated",
        "offsets.fetch.several-groups",
    ],
}

PARTS = {
    "joining": JOINING,
    "rejoining": REJOINING,
    "heartbeat and sync": HEARTBEAT_AND_SYNC,
    "leaving": LEAVING,
    "static members": STATIC,
    "timeouts": TIMEOUTS,
    "size": SIZE,
    "offsets and admin": OFFSETS_AND_ADMIN,
    "between versions": VERSIONS,
}

BESIDES = {
    "offsets.commit.member": "the plain commit of a member, beside the refusals",
    "offsets.commit.absent-simple": "how a group of a simple consumer comes to be",
    "static.leave.unknown-instance": "beside the wrong id",
    "size.full.member-rejoins": "that the limit spares members",
    "admin.describe.first-generation": "beside the later generations",
    "admin.list.state-filter": "beside the case of its names",
    "admin.delete.empty": "beside the refusals",
    "admin.offset-delete.not-subscribed": "beside the refusal",
    "admin.offset-delete.absent-group": "beside the refusal",
}
"""Probes that no sentence needs, and why they are there."""


@pytest.mark.parametrize("part", PARTS)
def test_every_sentence_can_be_heard(part: str) -> None:
    known = {script.id for script in all_scripts()}
    for sentence, ids in PARTS[part].items():
        assert ids, sentence
        assert set(ids) <= known, sentence


def test_every_probe_is_there_for_a_sentence() -> None:
    named = Counter(id for part in PARTS.values() for ids in part.values() for id in ids)
    probes = {probe.id for probe in all_probes()}
    assert probes - named.keys() == BESIDES.keys()


def test_a_case_is_not_repeated_as_a_probe() -> None:
    sentences = Counter(script.sentence for script in all_scripts())
    assert [sentence for sentence, number in sentences.items() if number > 1] == []


def test_probes_are_well_formed() -> None:
    for probe in all_probes():
        assert probe.sentence.endswith("."), probe.id
        assert any(word in probe.source for word in ("#", "KIP-", "group.")), probe.id
        assert probe.part in probe.id
        assert probe.subject.count(".") == 1
