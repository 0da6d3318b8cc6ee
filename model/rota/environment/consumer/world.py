"""The world: coordinator, clients and budget composed to one system, with its properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rota.environment.budget import FAULTS, Budget
from rota.environment.consumer.client import ConsumerClient
from rota.environment.consumer.coordinator import ConsumerCoordinator
from rota.environment.consumer.depiction import DEPICTION
from rota.environment.consumer.messages import ABSENT, SECOND, TOPIC
from rota.environment.world import SettingsError
from rota.kernel import FrozenMap, Property, RuleTable, System, SystemRef
from rota.spec.consumer.assignors import complete
from rota.spec.consumer.context import ConsumerConfig
from rota.spec.consumer.handlers import CONSUMER_RULES, consumer

DEFAULTS: dict[str, Any] = {
    "clients": 2,
    "partitions": 2,
    "grown": 0,
    "second": 0,
    "late_names": False,
    "commits": False,
    "log": False,
    "assignment_interval_ms": 0,
    "budget": (),
}
"""The settings of a world.

partitions: of the topic at first, 0 where there is none yet; grown: how many it has after it has grown, 0
where it does not; second: how many a second topic has, 0 where there is none; late_names: whether clients
learn its name late; commits: whether clients commit; log: whether the coordinator keeps its log;
assignment_interval_ms: 0, or a new target may be put off; budget: how many `fault` (any of crash, break,
late, append) or of one kind alone, how many clients `leave`, `change` what they subscribe to (to the first
topic alone where there is a second, else to one that is not there) or `return` when they have left, and how
often the coordinator moves (`failover`). The assignor names any target that gives each partition to one
member.
"""

KINDS = (*FAULTS, "fault", "leave", "change", "return", "failover")
DELAYING = ("append", "fault", "failover")
"""Kinds for which batches wait to be stored."""

MakeClient = Callable[..., ConsumerClient]


def chosen_from(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over their defaults. Errors: SettingsError."""
    unknown = set(settings) - set(DEFAULTS)
    if unknown:
        raise SettingsError(f"no setting is called {sorted(unknown)[0]}; there are {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **settings}
    budget = dict(chosen["budget"])
    strange = set(budget) - set(KINDS)
    if strange:
        raise SettingsError(f"no budget is called {sorted(strange)[0]}; there are {', '.join(KINDS)}")
    delays = next((kind for kind in DELAYING if budget.get(kind)), None)
    beside = [name for name in ("commits", "log") if chosen[name]] + ["return"] * bool(budget.get("return"))
    if delays and beside:
        raise SettingsError(f"{beside[0]} does not go with {delays}, for which answers wait; leave one out")
    if chosen["late_names"] and not chosen["second"]:
        raise SettingsError("late_names is about the second topic; give `second` its partitions")
    return chosen


def world(
    properties: tuple[Property, ...] = (),
    *,
    rules: RuleTable = CONSUMER_RULES,
    client: MakeClient = ConsumerClient,
    ref: SystemRef | None = None,
    **settings: Any,
) -> System:
    """A system of clients around the coordinator of the consumer protocol.

    Parameters: properties; rules, the table (a mutant's, for instance); client, what makes one; ref, for
    worker processes; settings as in `DEFAULTS`. Errors: SettingsError.
    """
    chosen = chosen_from(settings)
    budget = dict(chosen["budget"])
    config = ConsumerConfig(assignment_interval_ms=chosen["assignment_interval_ms"], assignors=("any",))
    spec = consumer(config, rules=rules, assignors={"any": complete})
    delays = any(budget.get(kind) for kind in DELAYING)
    names = [f"c{number}" for number in range(1, chosen["clients"] + 1)]
    size, grown, second = chosen["partitions"], chosen["grown"], chosen["second"]
    habits = _habits(chosen)
    return System(
        name="consumer",
        machines=(
            ConsumerCoordinator(spec, size, grown, delays, second, chosen["log"]),
            *(client(name, **habits) for name in names),
            _budget(budget),
        ),
        properties=properties,
        ref=ref,
        depiction=DEPICTION,
    )


def _habits(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What all clients do, as the fields of `ConsumerClient`."""
    budget = dict(chosen["budget"])
    first = frozenset({TOPIC, SECOND} if chosen["second"] else {TOPIC})
    other = frozenset({TOPIC} if chosen["second"] else {ABSENT})
    return {
        "breaks": bool(budget.get("break") or budget.get("fault")),
        "commits": chosen["commits"],
        "topics": (first, other if budget.get("change") else first),
        "unknown": frozenset({SECOND} if chosen["late_names"] else ()),
        "returns": bool(budget.get("return")),
    }


def _budget(budget: dict[str, int]) -> Budget:
    """A kind with a pool of its own is paid from it, any other fault from the pool `fault`."""
    pools = {kind: "fault" for kind in FAULTS if "fault" in budget}
    pools |= {kind: kind for kind in KINDS if kind in budget and kind != "fault"}
    return Budget(FrozenMap(budget), FrozenMap(pools))
