"""Settings that nobody gave: what rests on one of them is no violation, since the broker may have another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rota.conformance.dialogues.broker_settings import (
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MAX_SIZE,
    MIN_SESSION,
)
from rota.conformance.targets.target import DEFAULTS
from rota.generate.verdicts import rule_of
from rota.linearise import Answered, Judgement
from rota.linearise.answers import errors_in
from rota.linearise.states import State
from rota.spec import ErrorCode, JoinGroupRequest
from rota.spec.messages import Request
from rota.validate.terms import Terms

MAX_REAUTH = "connections.max.reauth.ms"
"""Where it is not 0 a broker ends the connections of clients that do not authenticate again (KIP-368)."""

JUDGED_BY = {
    **{name: value for name, value in DEFAULTS.items() if not name.startswith("group.consumer.")},
    MAX_REAUTH: 0,
}
"""Settings by which answers are judged, and Kafka's defaults. None is of the consumer protocol's groups."""

OF_RULES = {
    "join.invalid-session-timeout": ErrorCode.INVALID_SESSION_TIMEOUT,
    "join.group-max-size-reached": ErrorCode.GROUP_MAX_SIZE_REACHED,
    "offsets.metadata-too-large": ErrorCode.OFFSET_METADATA_TOO_LARGE,
}
"""Slug of a rule → the error that it gives."""

OF_ERRORS = {
    ErrorCode.INVALID_SESSION_TIMEOUT: (MIN_SESSION, MAX_SESSION),
    ErrorCode.GROUP_MAX_SIZE_REACHED: (MAX_SIZE,),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: (MAX_METADATA,),
}
"""Error → the settings by which it is given or is not."""


def untold(names: str) -> str:
    """Why what rests on settings is undecided that nobody gave."""
    return f"it rests on {names}, which nobody gave: say with --set what the broker runs with"


def behind(
    found: Judgement, states: Iterable[State], waiting: Iterable[Request], terms: Terms, changed: bool
) -> str:
    """Why a violation is none, as it rests on settings that may be others. Empty: it does not.

    states: in which the coordinator may have been; waiting: requests that were not answered when it was
    seen; changed: whether the coordinator may have been started anew.
    """
    names = [*_settings(found, states, waiting, terms)]
    if assumed := " or ".join(name for name in names if name in terms.assumed):
        return untold(assumed)
    if names and changed and not terms.durable:
        told = " or ".join(names)
        return f"it rests on {told}, and the coordinator may have been started anew with another value"
    return ""


def _settings(
    found: Judgement, states: Iterable[State], waiting: Iterable[Request], terms: Terms
) -> Iterator[str]:
    errors = {OF_RULES.get(rule_of(found))}
    if isinstance(found.at, Answered):
        errors |= set(errors_in(found.at.reply))
    low, high = terms.config.group_min_session_timeout_ms, terms.config.group_max_session_timeout_ms
    joins = (one for one in waiting if isinstance(one, JoinGroupRequest))
    if any(not low <= one.session_timeout_ms <= high for one in joins):
        errors.add(ErrorCode.INVALID_SESSION_TIMEOUT)  # it would have been told by now, and is not
    yield from (name for error, names in OF_ERRORS.items() if error in errors for name in names)
    if any(state.group is not None and state.group.initial_join is not None for state in states):
        yield INITIAL_DELAY
