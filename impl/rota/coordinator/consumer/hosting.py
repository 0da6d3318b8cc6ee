"""The consumer groups of a coordinator, and what they share with the rest of it."""

from dataclasses import dataclass, field
from typing import Protocol

from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import Key
from rota.coordinator.consumer.topics import NoTopics, TopicImage
from rota.coordinator.group import Group
from rota.coordinator.offset_store import OffsetStore


class GroupConfigs(Protocol):
    """What groups have set for themselves. The server has it, and may change it any time.

    Source: upstream's GroupConfigManager and GroupMetadataManager#consumerGroupSessionTimeoutMs,
    #consumerGroupHeartbeatIntervalMs and #consumerGroupAssignmentIntervalMs.
    """

    def config_of(self, group_id: str) -> CoordinatorConfig | None:
        """What counts for this group; None if that is what counts for all."""


class NoGroupConfigs:
    """No group has anything of its own."""

    def config_of(self, group_id: str) -> CoordinatorConfig | None:
        return None


@dataclass(slots=True)
class Hosted:
    """Groups by id; a group id is here or in `classic`, or in neither.

    leaving: groups that are removed when the log has their tombstones, and are there until then for those
    who read their offsets. to_mend: keys of which the log may have what was taken back here, by group.
    to_watch: members who are there again since the record that removed them was refused.
    """

    classic: dict[str, Group]
    store: OffsetStore
    by_id: dict[str, ConsumerGroup] = field(default_factory=dict)
    topics: TopicImage = field(default_factory=NoTopics)
    configs: GroupConfigs = field(default_factory=NoGroupConfigs)
    leaving: dict[str, ConsumerGroup] = field(default_factory=dict)
    to_mend: dict[str, set[Key]] = field(default_factory=dict)
    to_watch: set[tuple[str, str]] = field(default_factory=set)

    def unload(self, store: OffsetStore) -> None:
        """All groups are forgotten; `store` has the offsets from now on."""
        self.store = store
        for forgotten in (self.by_id, self.leaving, self.to_mend, self.to_watch):
            forgotten.clear()

    def read(self, group_id: str) -> ConsumerGroup | None:
        """The group as those have it who read its offsets."""
        group = self.by_id.get(group_id)
        return self.leaving.get(group_id) if group is None and group_id not in self.classic else group
