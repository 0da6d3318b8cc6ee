"""Profiles: which brokers the spec speaks for, and the configuration that a group runs under."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rota.spec.vocabulary import ErrorCode

Versions = tuple[tuple[str, tuple[int, int]], ...]
"""Advertised (min, max) per request."""


@dataclass(frozen=True)
class Profile:
    """A line of brokers: its versions and every switch in which it differs from the others.

    Features that came with time (source: their KIPs and upstream's history):
    - member_id_handshake: a newcomer must come back with the id it was given (KIP-394)
    - size_limit: group.max.size (KIP-389)
    - new_member_timer: a new member's first join phase is limited to five minutes, and who is removed while
      its JoinGroup is parked is told so (KAFKA-7610)
    - heartbeats_while_completing: a heartbeat counts while SyncGroups are awaited; before, it was told to
      join again, whatever its generation (KAFKA-10134)
    - rejoin_sets_timeouts: the timeouts of a member that joins again hold (KAFKA-14009)
    - sync_timer: members that do not sync within the rebalance timeout are removed (KAFKA-12890)
    - completing_told_before_membership: whether OffsetCommit looks at the state before the sender (until 2.5)
    - unsubscribed_expire: whether a Stable group's offsets of topics that it has left expire (KIP-496)

    Group instance ids (KIP-345) need no switch: the versions of the requests decide. Nor does a Dead group:
    the model keeps none. A request that finds the group and then waits until it is removed, which only the
    Scala coordinator's locks allow, is told UNKNOWN_MEMBER_ID up to 2.2, COORDINATOR_NOT_AVAILABLE later.

    Where the Scala coordinator and the Java coordinator differ:
    - inactive_before_group_id: whether one that is not active says so before it looks at the group id
    - session_before_hosting: whether a session timeout out of bounds is told before loading or a wrong broker
    - sync_while_loading: what a SyncGroup is told meanwhile
    - unhosted_join_echoes_id: whether a JoinGroup that is told of loading or a wrong broker gets its id back
    - unnamed_protocol_fits: whether a SyncGroup that names a protocol fits a group that has none yet
    - sync_restarts_session: whether a SyncGroup in Stable counts as a sign of life
    - pending_leave_rebalances: whether a leaving id that was not used yet starts a rebalance
    - leaves_one_by_one: whether the group reacts to each identity of a LeaveGroup batch, or once at the end
    - refusal_completes_phase: whether refusing the last missing member for size ends the join phase
    - expiry_ends_initial_delay: whether the expiry of an id or a new member may end the initial delay
    - extends_first_generation_only: whether newcomers extend the initial delay of the first generation only
    - replaced_member_stays_new: whether a static member replaced in its first join phase may still run out
    - failed_replacement_keeps_protocols: whether the list of a replacement that could not be stored holds
    - append_timeout_error: what is told when the log timed out on a group's record
    - offset_append_timeout_error, offset_append_too_large_error: the same for commits
    - absent_group_commit_error: OffsetCommit with a generation to a group that is not there, by version:
      (first version, error) in descending order
    - absent_group_transaction_creates: whether TxnOffsetCommit with a generation creates the group
    - failed_commit_forgotten: whether a commit that timed out in the log is gone, else it may count after all
    - failed_commit_keeps_too_large: whether its answer still tells which metadata were too large
    - unstable_while_appending: whether a commit that the log has not answered makes an offset unstable
    - describe_forgets_assignments: whether DescribeGroups shows assignments in Stable only
    - creation_recorded: whether the creation of a group is written to the log
    - leave_waits_for_record: whether the LeaveGroup that empties a group waits for its record
    - deletion_waits_for_record: whether DeleteGroups and OffsetDelete wait for theirs
    - deletion_ends_unused: whether an Empty group goes at once if OffsetDelete leaves it without an offset
    - state_filter_trimmed: whether blanks around a state that ListGroups asks for do not count
    - open_transaction_keeps_offset: whether an offset does not expire while a transaction has another for it

    What only rota mends (see `rota.spec.mends`):
    - answers_replaced: whether a parked request whose place a later one of its member takes is answered
    - answers_removed: whether the parked SyncGroup of a member that is removed is answered
    - replaced_owes_sync: whether a static member's former id still owes a SyncGroup when it is replaced
    - late_failure_undoes: whether a replacement is undone that fails after a generation has answered it
    - newcomer_mark_stays: whether that somebody joined during an initial delay may lengthen the next one

    omitted: what is not modelled.
    """

    name: str
    title: str
    versions: Versions
    omitted: tuple[str, ...]
    member_id_handshake: bool = True
    size_limit: bool = True
    new_member_timer: bool = True
    heartbeats_while_completing: bool = True
    rejoin_sets_timeouts: bool = True
    sync_timer: bool = True
    completing_told_before_membership: bool = False
    unsubscribed_expire: bool = True
    inactive_before_group_id: bool = True
    session_before_hosting: bool = True
    sync_while_loading: ErrorCode = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    unhosted_join_echoes_id: bool = False
    unnamed_protocol_fits: bool = True
    sync_restarts_session: bool = False
    pending_leave_rebalances: bool = True
    leaves_one_by_one: bool = False
    refusal_completes_phase: bool = False
    expiry_ends_initial_delay: bool = True
    extends_first_generation_only: bool = False
    replaced_member_stays_new: bool = False
    failed_replacement_keeps_protocols: bool = False
    append_timeout_error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE
    offset_append_timeout_error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE
    offset_append_too_large_error: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
    absent_group_commit_error: tuple[tuple[int, ErrorCode], ...] = (
        (9, ErrorCode.GROUP_ID_NOT_FOUND),
        (0, ErrorCode.ILLEGAL_GENERATION),
    )
    absent_group_transaction_creates: bool = False
    failed_commit_forgotten: bool = False
    failed_commit_keeps_too_large: bool = False
    unstable_while_appending: bool = False
    describe_forgets_assignments: bool = False
    creation_recorded: bool = True
    leave_waits_for_record: bool = True
    deletion_waits_for_record: bool = True
    deletion_ends_unused: bool = False
    state_filter_trimmed: bool = True
    open_transaction_keeps_offset: bool = True
    answers_replaced: bool = False
    answers_removed: bool = False
    replaced_owes_sync: bool = True
    late_failure_undoes: bool = True
    newcomer_mark_stays: bool = True


KAFKA_4 = Profile(
    name="kafka-4.x",
    title="Apache Kafka 4.x, the Java group coordinator",
    versions=(
        ("JoinGroup", (0, 9)),
        ("SyncGroup", (0, 5)),
        ("Heartbeat", (0, 4)),
        ("LeaveGroup", (0, 5)),
        ("OffsetCommit", (2, 10)),
        ("OffsetFetch", (1, 10)),
        ("TxnOffsetCommit", (0, 5)),
        ("OffsetDelete", (0, 0)),
        ("DescribeGroups", (0, 6)),
        ("ListGroups", (0, 5)),
        ("DeleteGroups", (0, 3)),
        ("FindCoordinator", (0, 6)),
    ),
    omitted=(
        "topic ids, topics that are deleted, and what is refused before a coordinator is asked",
        "authorisation",
        "several requests in flight on a connection",
        "the consumer protocol of KIP-848, share and streams groups",
    ),
)

KAFKA_3 = replace(
    KAFKA_4,
    name="kafka-3.x",
    title="Apache Kafka 3.x, the Scala group coordinator",
    versions=(
        ("JoinGroup", (0, 9)),
        ("SyncGroup", (0, 5)),
        ("Heartbeat", (0, 4)),
        ("LeaveGroup", (0, 5)),
        ("OffsetCommit", (0, 9)),
        ("OffsetFetch", (0, 9)),
        ("TxnOffsetCommit", (0, 3)),
        ("OffsetDelete", (0, 0)),
        ("DescribeGroups", (0, 5)),
        ("ListGroups", (0, 5)),
        ("DeleteGroups", (0, 2)),
        ("FindCoordinator", (0, 6)),
    ),
    inactive_before_group_id=False,
    session_before_hosting=False,
    sync_while_loading=ErrorCode.REBALANCE_IN_PROGRESS,
    unhosted_join_echoes_id=True,
    unnamed_protocol_fits=False,
    sync_restarts_session=True,
    pending_leave_rebalances=False,
    leaves_one_by_one=True,
    refusal_completes_phase=True,
    expiry_ends_initial_delay=False,
    extends_first_generation_only=True,
    replaced_member_stays_new=True,
    failed_replacement_keeps_protocols=True,
    append_timeout_error=ErrorCode.REBALANCE_IN_PROGRESS,
    offset_append_timeout_error=ErrorCode.REQUEST_TIMED_OUT,
    offset_append_too_large_error=ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    absent_group_commit_error=((0, ErrorCode.ILLEGAL_GENERATION),),
    absent_group_transaction_creates=True,
    failed_commit_forgotten=True,
    failed_commit_keeps_too_large=True,
    unstable_while_appending=True,
    describe_forgets_assignments=True,
    creation_recorded=False,
    leave_waits_for_record=False,
    deletion_waits_for_record=False,
    deletion_ends_unused=True,
    state_filter_trimmed=False,
    open_transaction_keeps_offset=False,
)

KAFKA_2_1 = replace(
    KAFKA_3,
    name="kafka-2.1",
    title="Apache Kafka 2.1.0, before the member-id handshake",
    omitted=(*KAFKA_4.omitted, "that a refused JoinGroup is told generation 0"),
    versions=(
        ("JoinGroup", (0, 3)),
        ("SyncGroup", (0, 2)),
        ("Heartbeat", (0, 2)),
        ("LeaveGroup", (0, 2)),
        ("OffsetCommit", (0, 6)),
        ("OffsetFetch", (0, 5)),
        ("TxnOffsetCommit", (0, 2)),
        ("DescribeGroups", (0, 2)),
        ("ListGroups", (0, 2)),
        ("DeleteGroups", (0, 1)),
        ("FindCoordinator", (0, 2)),
    ),
    member_id_handshake=False,
    size_limit=False,
    new_member_timer=False,
    heartbeats_while_completing=False,
    rejoin_sets_timeouts=False,
    sync_timer=False,
    completing_told_before_membership=True,
    unsubscribed_expire=False,
)


@dataclass(frozen=True)
class BrokerConfig:
    """Kafka's own configuration names, dots written as underscores; milliseconds.

    new_member_join_timeout_ms is a constant upstream (five minutes), not a setting.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000
    group_max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 604_800_000
