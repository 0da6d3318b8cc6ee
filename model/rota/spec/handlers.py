"""The table of rules and the order in which each handler tries its own."""

from __future__ import annotations

from rota.kernel.rules import RuleTable, collect
from rota.spec import (
    admission,
    heartbeat,
    hosting,
    join,
    leave,
    loading,
    persistence,
    rebalance,
    replacement,
    static,
    sync,
    timers,
    voting,
)
from rota.spec.context import Spec
from rota.spec.profiles import KAFKA_4, BrokerConfig, Profile

RULES = collect(
    join,
    admission,
    rebalance,
    voting,
    sync,
    heartbeat,
    leave,
    timers,
    persistence,
    static,
    replacement,
    hosting,
    loading,
)

HANDLERS: dict[str, tuple[str, ...]] = {
    "JoinGroupRequest": join.HANDLER,
    "SyncGroupRequest": sync.HANDLER,
    "HeartbeatRequest": heartbeat.HANDLER,
    "LeaveGroupRequest": leave.HANDLER,
    "FindCoordinatorRequest": hosting.FIND_HANDLER,
    "append": persistence.HANDLER,
    "load": loading.LOAD_HANDLER,
    "unload": loading.UNLOAD_HANDLER,
    **timers.HANDLERS,
}


def classic(
    config: BrokerConfig | None = None, *, profile: Profile = KAFKA_4, rules: RuleTable = RULES
) -> Spec:
    """The classic protocol. rules: the table, with entries replaced for a mutant or a variant."""
    return Spec(profile, config or BrokerConfig(), rules, HANDLERS)


__all__ = ["HANDLERS", "RULES", "Spec", "classic"]
