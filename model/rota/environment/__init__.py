"""What surrounds the coordinator: clients with their connections, the log, faults, and the budget of these.

`rota.environment.world` composes them with the spec to a system that engines explore.
"""

from rota.environment.world import DEFAULTS, Observed, world

__all__ = ["DEFAULTS", "Observed", "world"]
