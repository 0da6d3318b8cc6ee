"""What running Kafkas of four versions were seen to do, sentence by sentence, and the cases that show it.

Each sentence names the cases in which it is judged, so that nothing which is known goes untold. What varies
from broker to broker, or cannot be seen by a client, says so and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from rota.conformance.catalogue import all_cases, all_probes, cases_by_name


@dataclass(frozen=True)
class Recorded:
    """A fact that no case judges, why not, and the probes in which it is heard, if any."""

    why: str
    probes: tuple[str, ...] = ()


Rows = Mapping[str, list[str] | Recorded]

JOINING: Rows = {
    "Without an id and before version 4: admitted at once.": ["join.new-member.admitted-at-once"],
    "Without an id from version 4: an id of client id and UUID, generation -1, no leader, no protocol.": [
        "join.member-id-required.id-handed-out",
        "join.member-id-required.id-form",
        "join.member-id-required.empty-protocol",
        "join.member-id-required.null-protocol",
    ],
    "After the handshake the group exists, Empty.": ["persistence.creation-stored.after-handshake"],
    "Asked again it hands out another id.": ["join.member-id-required.never-twice"],
    "Static newcomers need no handshake; their id is made of the instance id.": [
        "static.new-member.at-once",
        "static.new-member.id-form",
    ],
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
        "join.group-max-size-reached.empty-id",
    ],
    "No protocols, or no type: refused even by a fresh group, which then exists.": [
        "join.inconsistent-protocol.no-protocols",
        "join.inconsistent-protocol.no-type",
        "persistence.creation-stored.after-refused-join",
    ],
}

REJOINING: Rows = {
    "A Stable group's follower that changes nothing is answered at once, other timeouts or not.": [
        "join.unchanged.follower",
        "join.unchanged.other-timeouts",
    ],
    "Another order of protocols or other bytes: a rebalance.": [
        "join.changed-protocols.follower",
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

HEARTBEAT_AND_SYNC: Rows = {
    "First the group id is checked.": ["heartbeat.invalid-group-id.empty", "sync.invalid-group-id.empty"],
    "Then group and member, before the generation.": [
        "heartbeat.unknown-member.outsiders",
        "sync.unknown-member.outsiders",
    ],
    "The instance is checked with the member.": [
        "heartbeat.fenced-instance-id.impostors",
        "sync.fenced-instance-id.impostors",
        "static.validate.unknown-instance",
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
        "sync.inconsistent-protocol.other-names",
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

LEAVING: Rows = {
    "Before version 3 the error stands at the top.": ["leave.batch.error-on-top"],
    "From version 3 each member has its own, in the order of the request.": ["leave.batch.several"],
    "From version 3 a group that does not exist is told member by member.": ["leave.unknown-group.batch"],
    "From version 3 nobody may be named.": ["leave.batch.nobody"],
    "An instance id alone is enough to leave.": ["leave.by-instance-id.gone"],
    "A wrong id beside a known instance is fenced.": ["leave.fenced-instance-id.wrong-id"],
    "Whoever is named twice is unknown the second time.": [
        "leave.batch.named-twice",
        "leave.by-instance-id.named-twice",
    ],
    "Leaving can end a join phase.": ["join.rebalance-or-complete.leave-completes"],
    "Leaving while assignments are awaited begins anew and sends those back who wait in SyncGroup.": [
        "join.prepare-rebalance.leave-cancels-sync"
    ],
}

STATIC: Rows = {
    "A restart in a Stable group under the elected protocol: a new id, the same generation, no rebalance.": [
        "static.replaced-in-stable.same-generation"
    ],
    "The old id is fenced with its instance id, and unknown without.": [
        "static.replaced.old-id-fenced",
        "static.replaced.old-id-unknown",
    ],
    "That holds with other metadata or one protocol more: nobody is told, the leader has the old view.": [
        "static.replaced-in-stable.changed-metadata",
        "static.replaced-in-stable.added-protocol",
    ],
    "DescribeGroups shows the new metadata.": ["static.replacement-stored.described"],
    "A leader's restart, version 9: leads, has the list, is to skip the assignment.": [
        "static.replacement-stored.leader-skips"
    ],
    "A leader's restart, versions 5 to 8: the dead id leads, no list.": [
        "static.replacement-stored.leader-before-9"
    ],
    "A restart while assignments are awaited rebalances and fences the SyncGroup that waits.": [
        "static.replaced-while-completing.rebalances"
    ],
    "A restart while the members join fences the JoinGroup that waits.": [
        "static.replaced-while-preparing.fences-waiting",
        "static.replaced-while-preparing.first-generation",
    ],
    "Whoever is late stays in the group if it is static, and is listed though it has not joined again.": [
        "join.complete-phase.static-kept"
    ],
    "It stays until its session ends.": [
        "timers.session-expired.static-member",
        "timers.sync-timeout.absent-static",
    ],
    "A static leader that is late leads no more.": ["join.leader.absent-static-replaced"],
    "Whoever is late is dropped if it is dynamic, and unknown from then on.": [
        "join.complete-phase.absent-removed"
    ],
    "The instance id may be left out.": ["static.validate.without-instance"],
    "The client id of the first start stays in the description.": ["static.replaced.first-client-id"],
}

TIMEOUTS: Rows = {
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

SIZE: Rows = {
    "Full and Stable: no newcomer of any kind gets as far as an id.": [
        "join.group-max-size-reached.first-step",
        "join.group-max-size-reached.static-newcomer",
    ],
    "Full and Stable: a static member cannot restart.": ["join.group-max-size-reached.static-restart"],
    "While the members join only those who wait count; late ones are refused and removed.": [
        "join.group-max-size-reached.pushed-out"
    ],
    "Handed-out ids do not count.": ["join.group-max-size-reached.handed-out-not-counted"],
}

OFFSETS_AND_ADMIN: Rows = {
    "Under members another generation is illegal.": ["offsets.illegal-generation.older-and-newer"],
    "Under members strangers and simple consumers are unknown.": [
        "offsets.unknown-member.stranger",
        "offsets.unknown-member.simple-consumer",
    ],
    "The old generation may commit while the members join.": ["offsets.commit.preparing"],
    "Nobody may commit while assignments are awaited.": ["offsets.rebalance-in-progress.completing"],
    "A generation means nothing to a group that does not exist; from version 9 another error says so.": [
        "offsets.unknown-group.before-9",
        "offsets.unknown-group.from-9",
    ],
    "An Empty group has no member that could commit with a generation.": [
        "offsets.unknown-member.empty-group"
    ],
    "Without a generation anyone commits to an Empty group, whatever the member id.": [
        "offsets.commit-without-membership.anyone-while-empty"
    ],
    "The empty group id may commit, fetch, be described, be deleted.": [
        "offsets.commit-without-membership.empty-group-id"
    ],
    "The empty group id may do nothing else.": [
        "join.invalid-group-id.empty",
        "sync.invalid-group-id.empty",
        "heartbeat.invalid-group-id.empty",
        "leave.invalid-group-id.empty",
        "offsets.delete-invalid-group-id.empty",
    ],
    "A group that does not exist is described as Dead, before version 6 without error.": [
        "admin.describe-unknown-group.dead",
        "admin.describe-unknown-group.from-6",
    ],
    "A group that does not exist has offset -1, and no error.": ["offsets.fetch.absent-group"],
    "A group that does not exist cannot be deleted.": ["admin.delete-unknown-group.refused"],
    "Nor can one with members.": [
        "admin.delete-non-empty-group.stable",
        "admin.delete-non-empty-group.rebalancing",
    ],
    "Offsets of what members subscribe to cannot be deleted.": ["offsets.delete.subscribed"],
    "A version out of range ends the connection, but for ApiVersions.": [
        "wire.version-out-of-range",
        "wire.api-versions-fallback",
    ],
}

VERSIONS: Rows = {
    "Tied protocols: one of them is elected.": ["voting.tally.tie"],
    "Which of them is by the order of a hash map, and within a bucket by lot.": Recorded(
        "nothing promises it: what a broker does is recorded",
        (
            "voting.tie.range-or-roundrobin",
            "voting.tie.range-or-sticky",
            "voting.tie.range-or-cooperative-sticky",
            "voting.tie.roundrobin-or-sticky",
        ),
    ),
    "The last one who is missing is refused for size: at once or only at the timeout.": [
        "join.group-max-size-reached.last-missing"
    ],
    "DescribeGroups outside Stable: nothing, or what was assigned last.": [
        "admin.describe.preparing",
        "admin.describe.completing",
    ],
    "The bits of what is allowed differ.": Recorded(
        "authorisation is left out; the bits of a broker are recorded",
        ("admin.describe.authorized-operations",),
    ),
    "What was just made may not be described yet.": Recorded(
        "seen only while other groups write, and on one version: dialogues wait a moment before they ask"
    ),
    "Ranges of versions differ, but not those of the members' requests.": Recorded(
        "a target speaks what it advertises; the ranges of a broker are recorded",
        ("wire.versions.beside", "wire.versions.membership"),
    ),
    "Every version that is advertised is answered.": ["wire.advertised-versions"],
    "The case of a state's name matters to ListGroups or not.": ["admin.list.state-filter-case"],
    "An empty group id in an old LeaveGroup is refused in two ways.": [
        "leave.invalid-group-id.older-versions"
    ],
    "Members in answers have no order.": [
        "join.next-generation.members-for-leader-only",
        "admin.describe.stable",
    ],
    "The results of DeleteGroups have no order; a repeated one is answered once.": [
        "admin.deletion-stored.answered-once"
    ],
    "The groups of OffsetFetch have no order.": ["offsets.fetch.several-groups"],
    "Who leads after the leader has gone is one of those who wait, by hash order.": [
        "leave.remove-member.leader-replaced",
        "join.leader.absent-replaced",
    ],
}

_LOG = "only a log that fails or is slow shows it"
_LOADS = "only a coordinator that is asked while it starts or loads shows it"
_TRANSACTIONS = "the kit does not speak the requests of transactions"

SCALA_AND_JAVA: Rows = {
    "SyncGroup while loading.": Recorded(_LOADS),
    "A bad session timeout while loading or elsewhere.": ["hosting.elsewhere.session-first"],
    "A bad group id at an inactive coordinator.": Recorded(_LOADS),
    "SyncGroup names a protocol before there is one.": ["sync.rebalance-in-progress.first-generation"],
    "SyncGroup in Stable begins the session anew or not.": ["timers.session-expired.sync-is-no-heartbeat"],
    "A handed-out id that leaves a Stable group alone or not.": ["leave.pending-member.disturbs-the-group"],
    "A batch of LeaveGroup in a join phase: one evaluation or several.": ["leave.batch.one-evaluation"],
    "The last missing member is refused for size.": ["join.group-max-size-reached.last-missing"],
    "An expiry ends the initial delay or not.": ["timers.pending-expired.ends-initial-delay"],
    "The initial delay of a group that became empty is extended or not.": [
        "timers.initial-delay-extended.after-empty"
    ],
    "A static newcomer that restarts is expired by its session or not.": [
        "timers.session-ignored.restarted-newcomer"
    ],
    "A static replacement that could not be stored.": Recorded(_LOG),
    "A time-out of the append, on assignments and on commits.": Recorded(_LOG),
    "A commit with a generation to a group that does not exist, from version 9.": [
        "offsets.unknown-group.from-9"
    ],
    "A transaction's commit to a group that does not exist.": Recorded(_TRANSACTIONS),
    "A fetch of stable offsets beside a commit that is not acknowledged.": Recorded(_LOG),
    "DescribeGroups outside Stable.": ["admin.describe.preparing", "admin.describe.completing"],
    "How recent descriptions and lists are.": Recorded(_LOG),
    "ListGroups while loading.": Recorded(_LOADS),
    "Blanks in the state filter of ListGroups.": ["admin.list.state-filter-blanks"],
    "A fail-over in the first join phase.": [
        "persistence.creation-stored.kept-after-sigkill",
        "loading.load.first-generation-unassigned-after-sigkill",
    ],
    "The last LeaveGroup, DeleteGroups or OffsetDelete, and the log fails.": Recorded(_LOG),
    "Answers that wait for earlier writes.": Recorded(_LOG),
    "The pick among tied protocols.": Recorded(
        "nothing promises it: what a broker does is recorded", ("voting.tie.range-or-sticky",)
    ),
    "Groups of the newer protocols.": Recorded("the newer protocols are left out"),
    "An Empty group that holds open transactions alone.": Recorded(_TRANSACTIONS),
    "When the first expiry runs.": Recorded("it takes a broker's start"),
}
"""What the coordinators in Scala and in Java were found to do differently."""

PARTS: Mapping[str, Rows] = {
    "joining": JOINING,
    "rejoining": REJOINING,
    "heartbeat and sync": HEARTBEAT_AND_SYNC,
    "leaving": LEAVING,
    "static members": STATIC,
    "timeouts": TIMEOUTS,
    "size": SIZE,
    "offsets and admin": OFFSETS_AND_ADMIN,
    "between versions": VERSIONS,
    "between Scala and Java": SCALA_AND_JAVA,
}


@pytest.mark.parametrize("part", PARTS)
def test_every_sentence_is_judged_or_says_why_not(part: str) -> None:
    cases = set(cases_by_name())
    for sentence, row in PARTS[part].items():
        if isinstance(row, Recorded):
            assert row.why, sentence
        else:
            assert row, sentence
            assert set(row) <= cases, (sentence, set(row) - cases)


def test_every_probe_is_there_for_a_sentence() -> None:
    rows = [row for part in PARTS.values() for row in part.values()]
    named = {probe for row in rows if isinstance(row, Recorded) for probe in row.probes}
    assert {probe.id for probe in all_probes()} == named


def test_a_case_is_not_repeated_as_a_probe() -> None:
    each = {case.family or case.id: case.sentence for case in all_cases()}
    sentences = Counter([*each.values(), *(probe.sentence for probe in all_probes())])
    assert [sentence for sentence, number in sentences.items() if number > 1] == []


def test_probes_are_well_formed() -> None:
    for probe in all_probes():
        assert probe.sentence.endswith("."), probe.id
        assert any(word in probe.source for word in ("#", "KIP-", "group.")), probe.id
        assert probe.part in probe.id
        assert probe.subject.count(".") == 1
