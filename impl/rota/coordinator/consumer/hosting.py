"""The consumer groups of a coordinator, and what they share with the rest of it."""

from dataclasses import dataclass, field

from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import Key
from rota.coordinator.consumer.topics import NoTopics, TopicImage
from rota.coordinator.group import Group
from rota.coordinator.offset_store import OffsetStore


@dataclass(slots=True)
class Hosted:
    """Groups by id; a group id is here or in `classic`, or in neither.

    to_mend: keys of which the log may have what was taken back here, by group. to_watch: members who are
    there again since the record that removed them was refused.
    """

    classic: dict[str, Group]
    store: OffsetStore
    by_id: dict[str, ConsumerGroup] = field(default_factory=dict)
    topics: TopicImage = field(default_factory=NoTopics)
    to_mend: dict[str, set[Key]] = field(default_factory=dict)
    to_watch: set[tuple[str, str]] = field(default_factory=set)

    def unload(self, store: OffsetStore) -> None:
        """All groups are forgotten; `store` has the offsets from now on."""
        self.store = store
        for forgotten in (self.by_id, self.to_mend, self.to_watch):
            forgotten.clear()
