"""The broker's settings that the core reads, under Kafka's own names with underscores for dots."""

from collections.abc import Callable
from dataclasses import dataclass, field

UNBOUNDED = 2**63 - 1
"""A number of bytes that no process has."""


def one_partition(group_id: str) -> int:
    """All groups are in one partition of the log."""
    return 0


class ConfigError(ValueError):
    """A setting has a value with which no coordinator can work; the message names the setting."""


@dataclass(frozen=True)
class Mends:
    """Where the coordinator may do better than Kafka's. The defaults are Kafka's own; `MENDED` has them all.

    None of them changes the code with which a request is answered: they answer what Kafka leaves unanswered,
    or spare others.

    answers_replaced: a parked request is answered when a later one of its member takes its place.
    answers_removed: so is the parked SyncGroup of a member that somebody else's LeaveGroup removes.
    refusal_completes_phase: a join phase ends that has waited only for somebody who was refused for the size.
    pending_leave_rebalances: an id that was handed out and is given back makes the others rebalance.
    replaced_owes_sync: the former id of a static member goes on owing a SyncGroup, which nobody can send.
    late_failure_undoes: a static member's new id is taken back when its record fails, even if a generation
    has told its client the id. newcomer_mark_stays: who joined during an initial delay may lengthen the next.
    """

    answers_replaced: bool = False
    answers_removed: bool = False
    refusal_completes_phase: bool = False
    pending_leave_rebalances: bool = True
    replaced_owes_sync: bool = True
    late_failure_undoes: bool = True
    newcomer_mark_stays: bool = True


UNMENDED = Mends()
MENDED = Mends(
    answers_replaced=True,
    answers_removed=True,
    refusal_completes_phase=True,
    pending_leave_rebalances=False,
    replaced_owes_sync=False,
    late_failure_undoes=False,
    newcomer_mark_stays=False,
)


@dataclass(frozen=True)
class CoordinatorConfig:
    """Settings of one coordinator; times in milliseconds, the defaults are the broker's.

    group_min_session_timeout_ms, group_max_session_timeout_ms: inclusive bounds of what a JoinGroup may ask
    for. group_initial_rebalance_delay_ms: first delay, and step of each extension, of a rebalance from Empty.
    new_member_join_timeout_ms: how long a new member may stay parked in its first JoinGroup. Not configurable
    in a broker; here it is, so that tests over real sockets need not wait for five minutes.
    group_max_size: how many members a JoinGroup may make of a group, at least 1.
    offsets_retention_minutes: how long offsets are kept that nobody has use for.
    offset_metadata_max_bytes: how long an offset's metadata may be (in UTF-16 code units, as in a broker).
    group_members_max_bytes, members_max_bytes: what the members of one group, and of all, may take of memory.
    group_offsets_max_bytes, offsets_max_bytes: the same for offsets. A broker has none of these four.
    group_consumer_session_timeout_ms, group_consumer_heartbeat_interval_ms: of members of the consumer
    protocol, who cannot ask for others. group_consumer_assignment_interval_ms: the least time from one target
    of such a group to the next. group_consumer_max_size: how many members it may have.
    group_consumer_assignors: those that a broker has, the first is its own choice. Bounds of these three
    times are bounds of what a group may have set for itself in a broker; here they only have to hold.
    mends: where it does better than a broker, which is nowhere if nothing is said.
    partition_of: in which partition of the log a group is. What the log answers counts in its order there.

    Raises ConfigError for a negative value, or bounds or a size that admit nothing.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000
    offset_metadata_max_bytes: int = 4_096
    group_max_size: int = 2_147_483_647
    offsets_retention_minutes: int = 10_080
    group_members_max_bytes: int = UNBOUNDED
    members_max_bytes: int = UNBOUNDED
    group_offsets_max_bytes: int = UNBOUNDED
    offsets_max_bytes: int = UNBOUNDED
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_consumer_max_size: int = 2_147_483_647
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    mends: Mends = UNMENDED
    partition_of: Callable[[str], int] = field(default=one_partition, compare=False)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, int) and value < 0:
                raise ConfigError(f"{name} is negative: {value}")
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise ConfigError(
                f"group_min_session_timeout_ms {self.group_min_session_timeout_ms} is above "
                f"group_max_session_timeout_ms {self.group_max_session_timeout_ms}"
            )
        if self.group_max_size < 1:
            raise ConfigError(f"group_max_size is below 1: {self.group_max_size}")
        self._check_consumer()

    def _check_consumer(self) -> None:
        for name in ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"):
            low, value, high = (
                getattr(self, f"group_consumer_{each}{name}") for each in ("min_", "", "max_")
            )
            if not low <= value <= high:
                raise ConfigError(
                    f"group_consumer_{name} {value} is not within group_consumer_min_{name} {low} and "
                    f"group_consumer_max_{name} {high}"
                )
        if self.group_consumer_heartbeat_interval_ms >= self.group_consumer_session_timeout_ms:
            raise ConfigError(
                f"group_consumer_heartbeat_interval_ms {self.group_consumer_heartbeat_interval_ms} is not "
                f"below group_consumer_session_timeout_ms {self.group_consumer_session_timeout_ms}"
            )
        if self.group_consumer_max_size < 1:
            raise ConfigError(f"group_consumer_max_size is below 1: {self.group_consumer_max_size}")
        if not self.group_consumer_assignors or set(self.group_consumer_assignors) - {"uniform", "range"}:
            named = ", ".join(self.group_consumer_assignors)
            raise ConfigError(f"group_consumer_assignors is {named!r}; there are uniform and range")
