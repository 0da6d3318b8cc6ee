"""The world of the consumer protocol: clients after Kafka's own consumer, their connections, the coordinator.

`rota.environment.consumer.world` composes them with the spec to a system that engines explore.
"""

from rota.environment.consumer.world import DEFAULTS, world

__all__ = ["DEFAULTS", "world"]
