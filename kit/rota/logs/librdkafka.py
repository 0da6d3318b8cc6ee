"""What librdkafka prints of its group with `debug=cgrp`; of this, a few lines stand in every log."""

from __future__ import annotations

from rota.history import Kind
from rota.logs.patterns import Sentences, Table, sentences

_CGRP: Sentences = {
    'Joining group "{group}" with {_number} subscribed topic(s) and member id "{member}"': Kind.JOINING,
    "JoinGroup response: GenerationId {generation}, Protocol {protocol}, LeaderId {leader_is}, my MemberId"
    " {member}, member metadata count {_number}: (no error)": Kind.WAS_JOINED,
    "JoinGroup response: GenerationId {_generation}, Protocol {_protocol}, LeaderId {_leader}, my MemberId"
    " {member}, member metadata count {_number}: Broker: Group member needs a valid member ID": Kind.ID_GIVEN,
    "JoinGroup response: GenerationId {_generation}, Protocol {_protocol}, LeaderId {_leader}, my MemberId"
    " {member}, member metadata count {_number}: {reason}": (Kind.REFUSED, {"api": "JoinGroup"}),
    "is rebalancing ({_protocol}) in state {_state} (join-state {_join_state}) with {_number} assigned"
    " partition(s){_lost}: {reason}": Kind.REBALANCE_TOLD,
    "heartbeat error response in state {_state} (join-state {_join_state}, {_number} partition(s) assigned):"
    " Broker: Group rebalance in progress": None,
    "heartbeat error response in state {_state} (join-state {_join_state}, {_number} partition(s) assigned):"
    " {reason}": (Kind.REFUSED, {"api": "Heartbeat"}),
    "SyncGroup response: Success ({_number} bytes of MemberState data)": None,
    "SyncGroup response: Broker: Group rebalance in progress ({_number} bytes of MemberState data)": None,
    "SyncGroup response: {reason} ({_number} bytes of MemberState data)": (
        Kind.REFUSED,
        {"api": "SyncGroup"},
    ),
    "setting group assignment to {number} partition(s)": None,
    "clearing group assignment": None,
    "not committing assigned offsets: assignment lost": None,
    "delegating revoke of {number} partition(s) to application on queue {_queue}: {reason}": Kind.REVOKED,
    "delegating incremental revoke of {number} partition(s) to application on queue {_queue}: {reason}": (
        Kind.REVOKED
    ),
    "current assignment of {number} partition(s) lost: {reason}": Kind.LOST,
    "Application maximum poll interval ({_limit}ms) exceeded by {milliseconds}ms (adjust max.poll.interval.ms"
    " for long-running message processing): leaving group": Kind.POLL_LATE,
    "Consumer group session timed out (in join-state {_join_state}) after {milliseconds} ms without a"
    " successful response from the group coordinator (broker {_broker}, last error was {reason}): revoking"
    " assignment and rejoining group": Kind.SESSION_LATE,
    "leave (in state {_state})": Kind.LEAVING,
    "leave (in state {_state}): LeaveGroupRequest already in-transit": None,
    "coordinator set to broker {address}/{node}": Kind.FOUND,
    "broker {_address} is no longer coordinator": Kind.FINDING,
    "marking the coordinator ({_node}) dead: {reason}": Kind.FINDING,
    "FindCoordinator response error: {_error}: {reason}": Kind.FINDING,
    'updating member id "{_before}" -> "{member_id}"': None,
    "Heartbeat failed due to coordinator ({_broker}) no longer available: {reason}: re-querying for"
    " coordinator": Kind.FINDING,
    "Offset commit ({_why}) failed for {_part} partition(s) in join-state {_join_state}: {reason}": (
        Kind.COMMIT_REFUSED
    ),
    "unable to OffsetCommit in state {_state}: {reason}": Kind.COMMIT_REFUSED,
    'Terminating group "{group}" in state {_state} with {_number} partition(s)': Kind.CLIENT_CLOSED,
    "subscription updated from metadata change: rejoining group in state {_state}": None,
    "Fatal error: {reason}": Kind.REFUSED,
}

_QUIET = """
ASSIGN ASSIGNDONE ASSIGNMENT ASSIGNOR CGRPCOORD CGRPJOINSTATE CGRPMETADATA CGRPOP CGRPQUERY CGRPSTATE CGRPTERM
CLEARASSIGN CLOSE COMMIT CONF CONFWARN CONNECT COOPASSIGN COORDQUERY DESTROY DUMP DUMP_ALL DUMP_PND DUMP_QRY
DUMP_REM FETCH GRPASSIGNMENT GRPLEADER GRPSYNC HEARTBEAT INIT JOIN JOINGROUP LEAVE LEAVEGROUP MEMBERID
METADATA NOREJOIN OFFSET OFFSETFETCH PARTADD PARTDEL PAUSE REBALANCE RECV REJOIN REMOVE RESETPOS SEND SRVPEND
STOPSERVE SUBSCRIBE SUBSCRIPTION SYNCGROUP TERMINATE TOPIC UNASSIGN UNSUBSCRIBE
"""

QUIET = frozenset(_QUIET.split())
"""Marks of lines that tell steps of librdkafka's own, as far as no pattern knows them."""

LIBRDKAFKA = Table((*sentences("librdkafka, rdkafka_cgrp.c", "2.x", _CGRP),))
"""The lines of librdkafka, without the group and the broker that stand before them."""
