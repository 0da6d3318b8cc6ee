"""The broker's settings that the core reads, under Kafka's own names with underscores for dots."""

from dataclasses import dataclass

UNBOUNDED = 2**63 - 1
"""A number of bytes that no process has."""


class ConfigError(ValueError):
    """A setting has a value with which no coordinator can work; the message names the setting."""


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

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is negative: {getattr(self, name)}")
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise ConfigError(
                f"group_min_session_timeout_ms {self.group_min_session_timeout_ms} is above "
                f"group_max_session_timeout_ms {self.group_max_session_timeout_ms}"
            )
        if self.group_max_size < 1:
            raise ConfigError(f"group_max_size is below 1: {self.group_max_size}")
