"""The world: coordinator, log, clients and budget composed to one system, with its properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rota.environment.broker.coordinator import Broker
from rota.environment.broker.log import Log, Prospects
from rota.environment.broker.offsets import OffsetsKeeper
from rota.environment.budget import FAULTS, KINDS, Budget
from rota.environment.clients.adversary import RawClient
from rota.environment.clients.cooperative import CooperativeClient
from rota.environment.clients.eager import EagerClient
from rota.environment.clients.poll_heartbeat import OldClient
from rota.environment.clients.subscription import Subscription
from rota.environment.depiction import depiction
from rota.kernel import Effect, FrozenMap, Machine, Property, RuleTable, System, SystemRef
from rota.spec import PROFILES, RULES, BrokerConfig, classic
from rota.spec.classic.join import HANDSHAKE_SINCE
from rota.spec.kind import Live
from rota.spec.vocabulary import AppendError

DEFAULTS: dict[str, Any] = {
    "profile": "kafka-4.x",
    "protocols": (("range",), ("range",)),
    "join_version": 9,
    "join_versions": (),
    "clients": (),
    "instances": (),
    "offsets": False,
    "max_size": None,
    "initial_delay_ms": 3_000,
    "session_timeout_ms": 45_000,
    "session_timeouts": (),
    "rebalance_timeout_ms": 3_000,
    "rebalance_timeouts": (),
    "partitions": 2,
    "budget": (),
    "append_failure": "NOT_ENOUGH_REPLICAS",
    "settle": True,
}
"""The settings of a world.

protocols: per client, its assignment protocols in order of preference; join_version: of JoinGroup, below 4
without the member-id handshake, and join_versions the same per client; clients: per client, a kind of
`CLIENTS`, or empty if all are `eager`; instances: per client, its group instance id or "" for a dynamic
member, or empty if all are dynamic; offsets: whether clients commit and fetch; max_size: of a group, None for
no limit; session_timeouts and rebalance_timeouts: the same per client, or empty if all have the same;
rebalance_timeout_ms against initial_delay_ms decides how often the initial delay is extended;
budget: how many `fault` (any of crash, break, late, append), or of one kind alone, and how many of each of
the other kinds in `rota.environment.budget` (what clients wish, and how often the coordinator moves); settle:
clear dead data; not done beside a raw client, whose requests may read any field.
"""

MakeClient = Callable[[Subscription], Machine]

CLIENTS: Mapping[str, MakeClient] = {
    "eager": EagerClient,
    "cooperative": CooperativeClient,
    "old": OldClient,
    "raw": RawClient,
}
"""The kinds of clients: how the machine of one is made."""


class SettingsError(ValueError):
    """A setting that the world does not know or cannot use."""


@dataclass(frozen=True)
class Observed:
    """What decides which witnesses a configuration must show.

    compatible: whether the clients have a protocol in common; handshake: whether all newcomers are sent away
    with a member id first (static ones never are); kinds, instances, protocols, versions (of JoinGroup): per
    client, as in the settings; max_size: None for no limit; partitions: of the topic; one_window: whether the
    initial delay of some client's group cannot be extended.
    """

    clients: int
    compatible: bool
    handshake: bool
    budget: Mapping[str, int]
    kinds: tuple[str, ...] = ()
    instances: tuple[str | None, ...] = ()
    offsets: bool = False
    max_size: int | None = None
    profile: str = DEFAULTS["profile"]
    protocols: tuple[tuple[str, ...], ...] = DEFAULTS["protocols"]
    versions: tuple[int, ...] = (DEFAULTS["join_version"],) * 2
    partitions: int = DEFAULTS["partitions"]
    one_window: bool = True

    @property
    def meet(self) -> bool:
        """Whether there are two clients that may be in a group together."""
        return self.clients > 1 and self.compatible

    @property
    def statics(self) -> tuple[str, ...]:
        """The group instance ids of the clients that have one."""
        return tuple(instance for instance in self.instances if instance is not None)

    def may(self, *kinds: str) -> bool:
        """Whether the budget allows one of these faults, by name or as any fault."""
        return any(self.budget.get(kind) for kind in ("fault", *kinds))


def world(
    properties: tuple[Property, ...] = (),
    *,
    rules: RuleTable = RULES,
    kinds: Mapping[str, MakeClient] = CLIENTS,
    ref: SystemRef | None = None,
    **settings: Any,
) -> System:
    """A system of clients around the classic coordinator.

    Parameters: properties; rules, the table (a mutant's, for instance), and kinds, of clients, the same; ref,
    for worker processes; settings as in `DEFAULTS`. Errors: SettingsError.
    """
    unknown = set(settings) - set(DEFAULTS)
    if unknown:
        raise SettingsError(f"no setting is called {sorted(unknown)[0]}; there are {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **settings}
    spec = classic(_config(chosen), profile=PROFILES[chosen["profile"]], rules=rules)
    budget, settle = dict(chosen["budget"]), chosen["settle"] and "raw" not in chosen["clients"]
    prospects = Prospects(budget.get("failover", 0), bool(budget.get("append") or budget.get("fault")))
    live = Live(
        names=not spec.profile.unnamed_protocol_fits,
        statics=any(_instances(chosen)),
        offsets=chosen["offsets"],
        failover=prospects.moves > 0,
    )
    return System(
        name="classic",
        machines=(
            Broker(spec, settle, prospects, live, _effects(properties)),
            Log(spec.groups, AppendError[chosen["append_failure"]], prospects, settle),
            *((OffsetsKeeper(spec, AppendError[chosen["append_failure"]]),) if chosen["offsets"] else ()),
            *_clients(chosen, kinds),
            _budget(budget),
        ),
        properties=properties,
        ref=ref,
        depiction=depiction(spec.groups, chosen["partitions"]),
    )


def observed(settings: Mapping[str, Any]) -> Observed:
    """What the settings make possible."""
    chosen = {**DEFAULTS, **settings}
    common = set(chosen["protocols"][0]).intersection(*chosen["protocols"][1:])
    instances = _instances(chosen)
    versions = _per_client(chosen, "join_versions", chosen["join_version"])
    return Observed(
        clients=len(chosen["protocols"]),
        compatible=bool(common),
        handshake=all(v >= HANDSHAKE_SINCE and i is None for v, i in zip(versions, instances, strict=True)),
        budget=dict(chosen["budget"]),
        kinds=_per_client(chosen, "clients", "eager"),
        instances=instances,
        offsets=chosen["offsets"],
        max_size=chosen["max_size"],
        profile=chosen["profile"],
        protocols=tuple(chosen["protocols"]),
        versions=versions,
        partitions=chosen["partitions"],
        one_window=max(versions) > 0 and max(_timeouts(chosen, "rebalance")) <= chosen["initial_delay_ms"],
    )


def _per_client(chosen: Mapping[str, Any], setting: str, otherwise: Any) -> tuple[Any, ...]:
    """A setting that has a value for each client, or none at all."""
    count = len(chosen["protocols"])
    given = tuple(chosen[setting]) or (otherwise,) * count
    if len(given) != count:
        raise SettingsError(f"{setting} has {len(given)} values for {count} clients; give one for each")
    return given


def _timeouts(chosen: Mapping[str, Any], kind: str) -> tuple[int, ...]:
    """The session or rebalance timeout of each client, in milliseconds."""
    return _per_client(chosen, f"{kind}_timeouts", chosen[f"{kind}_timeout_ms"])


def _effects(properties: tuple[Property, ...]) -> tuple[Effect, ...]:
    return tuple(one for one in properties if isinstance(one, Effect))


def _instances(chosen: Mapping[str, Any]) -> tuple[str | None, ...]:
    return tuple(instance or None for instance in _per_client(chosen, "instances", None))


def _config(chosen: Mapping[str, Any]) -> BrokerConfig:
    config = BrokerConfig(group_initial_rebalance_delay_ms=chosen["initial_delay_ms"])
    limit = chosen["max_size"]
    return config if limit is None else replace(config, group_max_size=limit)


def _clients(chosen: Mapping[str, Any], made: Mapping[str, MakeClient]) -> list[Machine]:
    kinds = _per_client(chosen, "clients", "eager")
    unknown = set(kinds) - set(made)
    if unknown:
        raise SettingsError(f"no client is called {sorted(unknown)[0]}; there are {', '.join(made)}")
    versions = _per_client(chosen, "join_versions", chosen["join_version"])
    timeouts = zip(_timeouts(chosen, "session"), _timeouts(chosen, "rebalance"), strict=True)
    lines = zip(kinds, chosen["protocols"], versions, _instances(chosen), timeouts, strict=True)
    return [
        made[kind](
            Subscription(
                client=f"c{number}",
                protocols=tuple(protocols),
                join_version=version,
                session_timeout_ms=session_ms,
                rebalance_timeout_ms=rebalance_ms,
                partitions=chosen["partitions"],
                group_instance_id=instance,
                offsets=chosen["offsets"],
            )
        )
        for number, (kind, protocols, version, instance, (session_ms, rebalance_ms)) in enumerate(lines, 1)
    ]


def _budget(budget: dict[str, int]) -> Budget:
    """A kind with a pool of its own is paid from it, any other fault from the pool `fault`."""
    unknown = set(budget) - {*KINDS, "fault"}
    if unknown:
        raise SettingsError(f"no budget is called {sorted(unknown)[0]}; there are fault, {', '.join(KINDS)}")
    pools = {kind: "fault" for kind in FAULTS if "fault" in budget}
    pools |= {kind: kind for kind in KINDS if kind in budget}
    return Budget(FrozenMap(budget), FrozenMap(pools))
