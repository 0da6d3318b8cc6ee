"""Rules that no case is about, and what it takes to see them."""

from __future__ import annotations

from collections.abc import Mapping

_LOG = "a log that fails or is slow"
_STARTS = "a coordinator that is asked in the moment in which it starts, stops or loads"
_OPEN = "a group whose open transaction is all that keeps it, for as long as offsets are kept"
_BEFORE_4_0 = "rules that only brokers before 4.0 have"

OUT_OF_REACH: Mapping[str, str] = {
    "persistence.late-answer": _LOG,
    "persistence.assignment-failed": _LOG,
    "persistence.creation-failed": _LOG,
    "persistence.emptied-failed": _LOG,
    "static.replacement-failed": _LOG,
    "hosting.inactive": _STARTS,
    "offsets.appended": _LOG,
    "offsets.failed": _LOG,
    "offsets.stable-fetch-waits": _LOG,
    "admin.deletion-failed": _LOG,
    "admin.offsets-wait": _LOG,
    "admin.offsets-kept": _LOG,
    "offsets.rebalance-before-membership": _BEFORE_4_0,
    "offsets.deleted-at-once": _BEFORE_4_0,
}
"""Slug of a rule -> what it takes, which is out of the cases' reach."""

SWITCHES_OUT_OF_REACH: Mapping[str, str] = {
    "inactive_before_group_id": _STARTS,
    "sync_while_loading": _STARTS,
    "failed_replacement_keeps_protocols": _LOG,
    "append_timeout_error": _LOG,
    "late_failure_undoes": _LOG,
    "offset_append_timeout_error": _LOG,
    "offset_append_too_large_error": _LOG,
    "failed_commit_forgotten": _LOG,
    "failed_commit_keeps_too_large": _LOG,
    "unstable_while_appending": _LOG,
    "leave_waits_for_record": _LOG,
    "deletion_waits_for_record": _LOG,
    "open_transaction_keeps_offset": _OPEN,
}
"""Switch of a profile in which Kafka 3 or rota differs from Kafka 4 -> what it takes to see that."""


_REFUSED_BY_ROTA = "what the spec leaves out, and refuses: Kafka does more there"
_NOTHING_SHOWS = "what nobody sees: a timer of somebody who is not there does nothing"

CONSUMER_OUT_OF_REACH: Mapping[str, str] = {
    "membership.inactive": _STARTS,
    "membership.loading": _STARTS,
    "membership.elsewhere": "a second broker that serves the consumer protocol",
    "membership.static": _REFUSED_BY_ROTA,
    "membership.regular-expression": _REFUSED_BY_ROTA,
    "timers.nobody": _NOTHING_SHOWS,
    "persistence.stored": _LOG,
    "persistence.failed": _LOG,
    "persistence.moved": _LOG,
}
"""Slug of a rule of the consumer protocol -> what it takes, or why nothing of it is seen."""


def out_of_reach() -> list[str]:
    """What no case is about, each thing once."""
    return list(dict.fromkeys((*OUT_OF_REACH.values(), *CONSUMER_OUT_OF_REACH.values())))
