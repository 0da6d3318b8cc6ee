"""A consumer group as the log has it, and its end when the coordinator resigns.

Source: upstream's GroupMetadataManager#onLoaded and #onUnloaded.
"""

from collections.abc import Iterable

from rota.coordinator.consumer import timers
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.hosting import Hosted
from rota.coordinator.consumer.records import Entry
from rota.coordinator.step import Step


def load(step: Step, hosted: Hosted, group_id: str, entries: Iterable[Entry]) -> None:
    """The group that the last records of its keys amount to, in any order; its members' time begins anew.

    What is left of a member of whom only the log's other records are gone counts for nothing.
    """
    group = hosted.by_id[group_id] = ConsumerGroup(group_id)
    for key, value in entries:
        group.put(key, value)
    for key in [
        key for each in (group.targets, group.current) for member in each for key in group.keys_of(member)
    ]:
        if key.member_id not in group.members:
            group.put(key, None)
    for member_id in sorted(group.members):
        timers.watch(step, group, member_id)
        timers.watch_revocation(step, group, member_id, group.current_of(member_id))
    step.memory.put(group_id, group.held)


def close(step: Step, group: ConsumerGroup) -> None:
    """The group goes: its members' timers are cancelled."""
    for member_id in sorted(group.members):
        timers.stop(step, group, member_id)
