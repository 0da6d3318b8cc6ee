"""Metrics of groups and offsets as text for Prometheus, by the names that Kafka's have there.

Source: upstream's GroupCoordinatorMetrics (4.4), whose names come through Prometheus' JMX exporter as
`domain_type_name`; dashboards know those of GroupMetadataManager, which Kafka keeps until 5.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rota.coordinator import GroupState
from rota.coordinator.consumer.group import ConsumerGroupState
from rota.server.controls import Controls

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METRICS, _MANAGER = (
    "kafka_server_group_coordinator_metrics_",
    "kafka_coordinator_group_groupmetadatamanager_",
)

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Metric:
    """A metric. kind: of Prometheus; values: by labels."""

    name: str
    kind: str
    about: str
    values: Mapping[Labels, int]

    def lines(self) -> Iterator[str]:
        """As Prometheus reads it. No label here has anything to be escaped."""
        yield f"# HELP {self.name} {self.about}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.values.items():
            said = ",".join(f'{name}="{label}"' for name, label in labels)
            yield f"{self.name}{{{said}}} {value}" if said else f"{self.name} {value}"


def metrics(controls: Controls) -> Sequence[Metric]:
    """All of them as they are now."""
    core, stored, counts = controls.groups_served.core, controls.stored, controls.stored.counts
    classic = Counter(group.state for group in core.groups.values())
    consumer = Counter(group.state for group in core.consumer_groups.values())
    offsets = sum(
        len(partitions) for topics in stored.offsets.committed.values() for partitions in topics.values()
    )
    by_protocol = {
        _protocol("classic"): classic.total(),
        _protocol("consumer"): consumer.total(),
    }
    by_state = {_state(state): classic[state] for state in GroupState}
    of_consumers = {_state(state): consumer[state] for state in ConsumerGroupState}
    return (
        _gauge(_METRICS + "group_count", "Groups by protocol.", by_protocol),
        _gauge(_METRICS + "classic_group_count", "Groups of the classic protocol by state.", by_state),
        _gauge(_METRICS + "consumer_group_count", "Groups of the consumer protocol by state.", of_consumers),
        _gauge(_METRICS + "offset_count", "Committed offsets that are kept.", {(): offsets}),
        _counter(_METRICS + "offset_commit_count", "Offsets that were committed.", counts.offset_commits),
        _counter(
            _METRICS + "group_completed_rebalance_count",
            "Generations of groups of the classic protocol whose assignment was stored.",
            counts.completed_rebalances,
        ),
        _counter(
            _METRICS + "consumer_group_rebalance_count",
            "Epochs of groups of the consumer protocol.",
            counts.consumer_rebalances,
        ),
        _gauge(_MANAGER + "numgroups", "Groups of the classic protocol.", {(): classic.total()}),
        _gauge(_MANAGER + "numoffsets", "Committed offsets that are kept.", {(): offsets}),
        *(
            _gauge(f"{_MANAGER}numgroups{state.value.lower()}", f"Those in {state}.", {(): classic[state]})
            for state in GroupState
        ),
    )


def text(controls: Controls) -> str:
    """What Prometheus scrapes."""
    return "".join(f"{line}\n" for metric in metrics(controls) for line in metric.lines())


def _gauge(name: str, about: str, values: Mapping[Labels, int]) -> Metric:
    return Metric(name, "gauge", about, values)


def _counter(name: str, about: str, value: int) -> Metric:
    return Metric(name, "counter", about, {(): value})


def _protocol(name: str) -> Labels:
    return (("protocol", name),)


def _state(state: GroupState | ConsumerGroupState) -> Labels:
    return (("state", state.value),)
