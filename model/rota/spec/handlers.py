"""The table of rules and the order in which each handler tries its own."""

from __future__ import annotations

from rota.kernel.rules import RuleTable, collect
from rota.spec import (
    admin,
    admin_deletion,
    expiry,
    hosting,
    offset_delete,
    offset_fetch,
    offset_log,
    offsets,
    transactions,
)
from rota.spec.classic import (
    admission,
    heartbeat,
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
from rota.spec.classic.kind import ClassicGroups
from rota.spec.context import Spec
from rota.spec.profiles import KAFKA_4, BrokerConfig, Profile
from rota.spec.versions import as_received

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
    offsets,
    offset_fetch,
    offset_log,
    offset_delete,
    transactions,
    admin,
    admin_deletion,
    expiry,
)

HANDLERS: dict[str, tuple[str, ...]] = {
    "JoinGroupRequest": join.HANDLER,
    "SyncGroupRequest": sync.HANDLER,
    "HeartbeatRequest": heartbeat.HANDLER,
    "LeaveGroupRequest": leave.HANDLER,
    "FindCoordinatorRequest": hosting.FIND_HANDLER,
    "OffsetCommitRequest": offsets.HANDLER,
    "TxnOffsetCommitRequest": transactions.HANDLER,
    "OffsetFetchRequest": offset_fetch.FETCH_HANDLER,
    "OffsetDeleteRequest": offset_delete.HANDLER,
    "DescribeGroupsRequest": admin.DESCRIBE_HANDLER,
    "ListGroupsRequest": admin.LIST_HANDLER,
    "DeleteGroupsRequest": admin.DELETE_HANDLER,
    "append": persistence.HANDLER,
    "deletion": admin_deletion.DELETION_HANDLER,
    "load": loading.LOAD_HANDLER,
    "unload": loading.UNLOAD_HANDLER,
    "retention": expiry.CHECK_HANDLER,
    "unused": expiry.REMOVE_HANDLER,
    "offsets_begin": offset_log.BEGIN_HANDLER,
    "offsets_appended": offset_log.ANSWER_HANDLER,
    "offsets_read": offset_fetch.READ_HANDLER,
    "offsets_found": offset_log.FOUND_HANDLER,
    "offsets_expire": expiry.EXPIRE_HANDLER,
    "offsets_forget": admin_deletion.FORGET_HANDLER,
    "offsets_forgotten": admin_deletion.FORGOTTEN_HANDLER,
    "transaction_ended": transactions.END_HANDLER,
    **timers.HANDLERS,
}


def classic(
    config: BrokerConfig | None = None, *, profile: Profile = KAFKA_4, rules: RuleTable = RULES
) -> Spec:
    """The classic protocol. rules: the table, with entries replaced for a mutant or a variant."""
    return Spec(profile, config or BrokerConfig(), rules, HANDLERS, as_received, ClassicGroups())


__all__ = ["HANDLERS", "RULES", "Spec", "classic"]
