"""What must be reachable, else a check says nothing; and the states that may be last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from rota.environment.consumer.messages import Partitions
from rota.environment.consumer.state import Consumer, Phase
from rota.invariants.consumer.views import CLIENT, GROUP, RECORDS, Records
from rota.kernel import Kind, Property, View
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.state import MemberState


def _witness(name: str, meaning: str, test: Callable[..., bool], *views: View) -> Property:
    return Property(f"consumer.{name}", Kind.WITNESS, meaning, views, test)


def _has(state: MemberState, group: object) -> bool:
    return isinstance(group, ConsumerGroup) and any(now.state is state for now in group.current.values())


def _both(one: Partitions, other: Partitions) -> bool:
    return bool(one and other)


def _is(phase: Phase, client: Consumer) -> bool:
    return client.phase is phase


def _moved(term: int) -> bool:
    return term > 0


USES = View("client", attrgetter("uses"))


def witnesses(chosen: Mapping[str, Any]) -> Iterator[Property]:
    """What settings make possible."""
    budget = dict(chosen["budget"])
    if chosen["clients"] > 1:
        yield _witness("can_share", "Two clients use partitions at the same time.", _both, USES, USES)
        for name, state in (
            ("can_give_up", MemberState.UNREVOKED_PARTITIONS),
            ("can_wait", MemberState.UNRELEASED_PARTITIONS),
        ):
            yield _witness(name, f"A member is {state.value}.", partial(_has, state), GROUP)
    if budget.get("late") or budget.get("fault"):
        meaning = "A client that lives was removed, and has yet to end its callback."
        yield _witness("can_lose", meaning, partial(_is, Phase.LOSING), CLIENT)
    if budget.get("leave"):
        yield _witness("can_leave", "A client has left.", partial(_is, Phase.LEFT), CLIENT)
    if budget.get("failover"):
        meaning = "The coordinator has moved."
        yield _witness("can_move", meaning, _moved, View("coordinator", attrgetter("term")))


def at_rest(records: Records, client: Consumer) -> bool:
    if client.phase in (Phase.LEFT, Phase.CRASHED):
        return client.member_id not in records.epochs and not client.adrift
    led = records.epochs.get(client.member_id) == client.epoch == records.target_epoch == records.epoch
    return (
        led
        and records.whole
        and not records.pending
        and client.settled
        and client.uses == records.targets[client.member_id]
    )


ENDS = (
    Property(
        "ends.consumer-settled",
        Kind.TERMINAL,
        "Every client has left and its member is gone, or it uses its part of a target of all partitions.",
        (RECORDS, CLIENT),
        at_rest,
    ),
)
