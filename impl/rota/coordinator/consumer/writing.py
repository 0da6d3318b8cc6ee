"""What one request or timer writes: each record counts at once, and is taken back if the log refuses.

Source: upstream's CoordinatorRuntime and SnapshottableCoordinator.
"""

from dataclasses import dataclass, field

from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import Entry, Key, Value


@dataclass(slots=True)
class Writing:
    """A batch in the making; `before` is what each of its keys had."""

    group: ConsumerGroup
    entries: list[Entry] = field(default_factory=list)
    before: list[Entry] = field(default_factory=list)

    def put(self, key: Key, value: Value | None) -> None:
        """One more record."""
        self.before.append((key, self.group.get(key)))
        self.group.put(key, value)
        self.entries.append((key, value))
