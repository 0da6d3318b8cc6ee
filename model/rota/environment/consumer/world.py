"""The world: coordinator, clients and budget composed to one system, with its properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.environment.budget import FAULTS, Budget
from rota.environment.consumer.client import ConsumerClient
from rota.environment.consumer.coordinator import ConsumerCoordinator
from rota.environment.consumer.depiction import DEPICTION
from rota.environment.world import SettingsError
from rota.kernel import FrozenMap, Property, RuleTable, System, SystemRef
from rota.spec.consumer.assignors import complete
from rota.spec.consumer.context import ConsumerConfig
from rota.spec.consumer.handlers import CONSUMER_RULES, consumer

DEFAULTS: dict[str, Any] = {
    "clients": 2,
    "partitions": 2,
    "grown": 0,
    "assignment_interval_ms": 0,
    "budget": (),
}
"""The settings of a world.

partitions: of the topic at first, 0 where there is none yet; grown: how many it has after it has grown, 0
where it does not; assignment_interval_ms: 0, or a new target may be put off; budget: how many `fault` (any
of crash, break, late, append) or of one kind alone, how many clients `leave`, and how often the coordinator
moves (`failover`). The assignor names any target that gives each partition to one member.
"""

KINDS = (*FAULTS, "fault", "leave", "failover")


def chosen_from(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over their defaults. Errors: SettingsError."""
    unknown = set(settings) - set(DEFAULTS)
    if unknown:
        raise SettingsError(f"no setting is called {sorted(unknown)[0]}; there are {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **settings}
    strange = set(dict(chosen["budget"])) - set(KINDS)
    if strange:
        raise SettingsError(f"no budget is called {sorted(strange)[0]}; there are {', '.join(KINDS)}")
    return chosen


def world(
    properties: tuple[Property, ...] = (),
    *,
    rules: RuleTable = CONSUMER_RULES,
    ref: SystemRef | None = None,
    **settings: Any,
) -> System:
    """A system of clients around the coordinator of the consumer protocol.

    Parameters: properties; rules, the table (a mutant's, for instance); ref, for worker processes; settings
    as in `DEFAULTS`. Errors: SettingsError.
    """
    chosen = chosen_from(settings)
    budget = dict(chosen["budget"])
    config = ConsumerConfig(assignment_interval_ms=chosen["assignment_interval_ms"], assignors=("any",))
    spec = consumer(config, rules=rules, assignors={"any": complete})
    breaks = bool(budget.get("break") or budget.get("fault"))
    delays = any(budget.get(kind) for kind in ("append", "fault", "failover"))
    names = [f"c{number}" for number in range(1, chosen["clients"] + 1)]
    return System(
        name="consumer",
        machines=(
            ConsumerCoordinator(spec, chosen["partitions"], chosen["grown"], delays),
            *(ConsumerClient(name, breaks) for name in names),
            _budget(budget),
        ),
        properties=properties,
        ref=ref,
        depiction=DEPICTION,
    )


def _budget(budget: dict[str, int]) -> Budget:
    """A kind with a pool of its own is paid from it, any other fault from the pool `fault`."""
    pools = {kind: "fault" for kind in FAULTS if "fault" in budget}
    pools |= {kind: kind for kind in KINDS if kind in budget and kind != "fault"}
    return Budget(FrozenMap(budget), FrozenMap(pools))
