"""Which rules of the spec a case's dialogue runs: its recorded calls, with the spec in step behind them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.recorded_calls import Call, Drawn, Life
from rota import coordinator as core
from rota.oracle.offsets_shadow import OffsetsShadow
from rota.oracle.offsets_translate import Delete, Describe, Fetch, Listing, Question

Ask = Callable[[Question, int, Hashable], core.Effects]


@dataclass(frozen=True)
class RulesRun:
    """Slugs of the rules that a dialogue uses, and of those that are asked in it and do not apply."""

    used: frozenset[str]
    tried: frozenset[str]

    @property
    def asked(self) -> frozenset[str]:
        """All of them."""
        return self.used | self.tried


def rules_run(lives: Sequence[Life]) -> RulesRun:
    """The rules by which the spec explains the calls. Errors: Divergence where it does not."""
    oracle = _followed(lives).oracle
    return RulesRun(frozenset(oracle.rules), frozenset(oracle.tried - oracle.rules))


def _followed(lives: Sequence[Life]) -> OffsetsShadow:
    """The spec has followed a coordinator, and those that have taken its groups over one after the other."""
    choices = Drawn()
    time = [0]
    groups = _of_producers(lives)
    shadow = OffsetsShadow(lives[0].config, choices, clock=lambda: time[0])
    for number, life in enumerate(lives):
        if number:
            shadow.move(life.config)
        for call in life.calls:
            choices.begin(call)
            time[0] = call.now_ms
            not_its = call.method in ("load", "topic_gone")
            if not (not_its or (call.method == "unload" and number + 1 < len(lives))):
                _step(shadow, call, number, time, groups)
    return shadow


def _of_producers(lives: Iterable[Life]) -> Mapping[int, str]:
    """Producer id → the group to which it commits in its transactions.

    The spec's transactions end for one group each. Errors: ValueError where one has committed to two.
    """
    groups: dict[int, str] = {}
    for call in (call for life in lives for call in life.calls if call.method == "txn_offset_commit"):
        request: core.TxnOffsetCommit = call.inputs[0]
        if request.group_id and groups.setdefault(request.producer_id, request.group_id) != request.group_id:
            raise ValueError(f"producer {request.producer_id} commits to more than one group")
    return groups


def _step(shadow: OffsetsShadow, call: Call, life: int, time: list[int], groups: Mapping[int, str]) -> None:
    """One call; those about several groups are a question about each."""
    asked = QUESTIONS.get(call.method)
    if asked is not None:
        version, token = call.inputs[1:3]
        if call.method in ("offset_commit", "txn_offset_commit"):
            time[0] = call.inputs[3]
        for place, question in enumerate(asked(call)):
            shadow.ask(question, version, (life, token, place))
    elif call.method == "clean":
        time[0] = call.inputs[0]
        for group_id in call.inputs[2]:
            shadow.clean_group(group_id)
    elif call.method == "end_transaction":
        producer_id, committed = call.inputs[:2]
        shadow.end(producer_id, committed, groups.get(producer_id, ""))
    elif call.method in ("fire", "appended", "unload"):
        getattr(shadow, call.method)(*call.inputs)
    else:
        *inputs, token = call.inputs
        getattr(shadow, call.method)(*inputs, (life, token))


def _given(call: Call) -> Iterable[Question]:
    yield call.inputs[0]


def _of_each(make: Callable[[str], Question], call: Call) -> Iterable[Question]:
    return map(make, call.inputs[0])


def _fetches(call: Call) -> Iterable[Question]:
    fetch: core.OffsetFetch = call.inputs[0]
    for group in fetch.groups:
        yield Fetch(group.group_id, group.topics, fetch.require_stable)


def _listings(call: Call) -> Iterable[Question]:
    filters, _, _, group_ids = call.inputs
    for group_id in group_ids:
        yield Listing(group_id, filters)


QUESTIONS: Mapping[str, Callable[[Call], Iterable[Any]]] = {
    "offset_commit": _given,
    "txn_offset_commit": _given,
    "offset_delete": _given,
    "offset_fetch": _fetches,
    "describe_groups": partial(_of_each, Describe),
    "list_groups": _listings,
    "delete_groups": partial(_of_each, Delete),
}
"""Methods beside membership → what they ask of each group."""
