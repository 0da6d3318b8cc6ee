"""Mistakes at the door, where requests are refused that no client would send; no property sees them.

Marked like those in `rota.mutants.bugs.dialogues`.
"""

from __future__ import annotations

from rota.mutants.bugs.retell import retold
from rota.mutants.mutant import CHECKLIST, SCENARIOS, bug
from rota.spec import Call, ErrorCode, Group, LeaveGroupReply, Spec
from rota.spec.classic import leave as leave_rules
from rota.spec.classic.step import Steps
from rota.spec.messages import ReplyMessage

NAMELESS = "19b-empty-group-id"


@bug("join.invalid-group-id", dies_in=SCENARIOS, by=NAMELESS)
def nameless_group_joined(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Consumers may join the group that has no name."""
    return ()


@bug("join.invalid-session-timeout", dies_in=SCENARIOS, by="19a-session-timeout-out-of-bounds")
def any_session_timeout(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The session timeout may be anything."""
    return ()


@bug("join.unknown-group", dies_in=CHECKLIST, by="testJoinGroupUnknownConsumerNewGroup")
def stranger_makes_a_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A JoinGroup with an id for a group that is not there makes the group, and is refused then."""
    return ()


@bug("sync.protocol-required", dies_in=SCENARIOS, by="18d-names-of-the-protocol")
def names_left_out(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A SyncGroup need not name the protocol, whatever its version."""
    return ()


@bug("sync.invalid-group-id", dies_in=SCENARIOS, by=NAMELESS)
def nameless_group_synced(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A SyncGroup may be for the group that has no name."""
    return ()


@bug("sync.inconsistent-protocol", dies_in=SCENARIOS, by="18d-names-of-the-protocol")
def other_protocols_pass(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The protocol that a SyncGroup names is not compared with the group's."""
    return ()


@bug("heartbeat.invalid-group-id", dies_in=SCENARIOS, by=NAMELESS)
def nameless_group_heartbeats(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A heartbeat may be for the group that has no name."""
    return ()


@bug("leave.invalid-group-id", dies_in=SCENARIOS, by=NAMELESS)
def nameless_group_left(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A LeaveGroup may be for the group that has no name."""
    return ()


@bug("leave.unknown-group", dies_in=CHECKLIST, by="testLeaveGroupUnknownGroup", seen_in="test brokers")
def absent_group_is_an_error(spec: Spec, group: Group | None, call: Call) -> Steps:
    """That there is no such group is told of the whole batch, not of its members."""
    return retold(leave_rules.unknown_group(spec, group, call), _at_the_top)


def _at_the_top(message: ReplyMessage) -> ReplyMessage:
    return LeaveGroupReply(ErrorCode.GROUP_ID_NOT_FOUND)
