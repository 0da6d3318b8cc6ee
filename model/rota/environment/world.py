"""The world: coordinator, log, clients and budget composed to one system, with its properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment.broker import Broker
from rota.environment.budget import FAULTS, KINDS, WISHES, Budget
from rota.environment.client import Subscription
from rota.environment.eager import EagerClient
from rota.environment.log import Log
from rota.kernel import FrozenMap, Property, RuleTable, System, SystemRef
from rota.spec import PROFILES, RULES, BrokerConfig, classic
from rota.spec.join import HANDSHAKE_SINCE
from rota.spec.vocabulary import AppendError

DEFAULTS: dict[str, Any] = {
    "profile": "kafka-4.x",
    "protocols": (("range",), ("range",)),
    "join_version": 9,
    "initial_delay_ms": 3_000,
    "session_timeout_ms": 45_000,
    "rebalance_timeout_ms": 3_000,
    "partitions": 2,
    "budget": (),
    "append_failure": "NOT_ENOUGH_REPLICAS",
    "settle": True,
}
"""The settings of a world.

protocols: per client, its assignment protocols in order of preference; join_version: of JoinGroup, below 4
without the member-id handshake; rebalance_timeout_ms against initial_delay_ms decides how often the initial
delay is extended; budget: how many `fault` (any of crash, break, late, append), or of one kind alone, and
how many of
`leave`, `rejoin` and `change`; settle: clear dead data.
"""


class SettingsError(ValueError):
    """A setting that the world does not know or cannot use."""


@dataclass(frozen=True)
class Observed:
    """What decides which witnesses a configuration must show.

    compatible: whether the clients have a protocol in common; handshake: whether newcomers are sent away
    with a member id first.
    """

    clients: int
    compatible: bool
    handshake: bool
    budget: Mapping[str, int]


def world(
    properties: tuple[Property, ...] = (),
    *,
    rules: RuleTable = RULES,
    ref: SystemRef | None = None,
    **settings: Any,
) -> System:
    """A system of clients around the classic coordinator.

    Parameters: properties; rules, the table (a mutant's, for instance); ref, for worker processes;
    settings as in `DEFAULTS`. Errors: SettingsError.
    """
    unknown = set(settings) - set(DEFAULTS)
    if unknown:
        raise SettingsError(f"no setting is called {sorted(unknown)[0]}; there are {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **settings}
    names = tuple(f"c{n}" for n in range(1, len(chosen["protocols"]) + 1))
    spec = classic(
        BrokerConfig(group_initial_rebalance_delay_ms=chosen["initial_delay_ms"]),
        profile=PROFILES[chosen["profile"]],
        rules=rules,
    )
    clients = [EagerClient(_subscription(name, chosen, i)) for i, name in enumerate(names)]
    return System(
        name="classic",
        machines=(
            Broker(spec, settle=chosen["settle"]),
            Log(AppendError[chosen["append_failure"]]),
            *clients,
            _budget(dict(chosen["budget"])),
        ),
        properties=properties,
        ref=ref,
    )


def observed(settings: Mapping[str, Any]) -> Observed:
    """What the settings make possible."""
    chosen = {**DEFAULTS, **settings}
    common = set(chosen["protocols"][0]).intersection(*chosen["protocols"][1:])
    handshake = chosen["join_version"] >= HANDSHAKE_SINCE
    return Observed(len(chosen["protocols"]), bool(common), handshake, dict(chosen["budget"]))


def _subscription(name: str, chosen: Mapping[str, Any], position: int) -> Subscription:
    return Subscription(
        client=name,
        protocols=tuple(chosen["protocols"][position]),
        join_version=chosen["join_version"],
        session_timeout_ms=chosen["session_timeout_ms"],
        rebalance_timeout_ms=chosen["rebalance_timeout_ms"],
        partitions=chosen["partitions"],
    )


def _budget(budget: dict[str, int]) -> Budget:
    """A kind with a pool of its own is paid from it, any other fault from the pool `fault`."""
    unknown = set(budget) - {*KINDS, "fault"}
    if unknown:
        raise SettingsError(f"no budget is called {sorted(unknown)[0]}; there are fault, {', '.join(KINDS)}")
    pools = {kind: "fault" for kind in FAULTS if "fault" in budget}
    pools |= {kind: kind for kind in (*FAULTS, *WISHES) if kind in budget}
    return Budget(FrozenMap(budget), FrozenMap(pools))
