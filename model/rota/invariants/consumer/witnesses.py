"""What must be reachable, else a check says nothing; and the states that may be last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from rota.environment.consumer.coordinator import Coordinator
from rota.environment.consumer.messages import Partitions
from rota.environment.consumer.state import Consumer, Phase
from rota.invariants.consumer.commits import is_late, is_stale
from rota.invariants.consumer.views import CLIENT, GROUP, RECORDS, Records, records, unwatched
from rota.kernel import Kind, Property, View
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.messages import LEAVE_EPOCH
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


def _is_back(client: Consumer) -> bool:
    return client.phase is Phase.MEMBER and any(one.member_epoch == LEAVE_EPOCH for one in client.adrift)


def _uses_a_part(client: Consumer) -> bool:
    return bool(client.uses) and client.known == client.uses != client.target


def _gives_up_what_it_left(group: object) -> bool:
    return isinstance(group, ConsumerGroup) and any(
        one.partition.topic not in group.members[name].subscribed_topic_names
        for name, now in group.current.items()
        for one in now.pending
    )


USES = View("client", attrgetter("uses"))


def witnesses(chosen: Mapping[str, Any]) -> Iterator[Property]:
    """What settings make possible."""
    budget = dict(chosen["budget"])
    if chosen["commits"]:
        for name, meaning, test in (
            ("can_commit_late", "A commit at an epoch before the member's is stored.", is_late),
            ("can_be_stale", "A commit is refused since its epoch is stale.", is_stale),
        ):
            yield _witness(name, meaning, test, CLIENT)
    if budget.get("return"):
        meaning = "A client that had left is a member again, and its leave is still on its way."
        yield _witness("can_return", meaning, _is_back, CLIENT)
    if budget.get("change"):
        meaning = "A member that subscribes to something else has to give up what it had."
        yield _witness("can_change", meaning, _gives_up_what_it_left, GROUP)
    if chosen["late_names"]:
        meaning = "A member uses a part of what it was told, and knows no name for the rest."
        yield _witness("can_use_a_part", meaning, _uses_a_part, CLIENT)
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


def is_led(records: Records, client: Consumer) -> bool:
    """Whether a client has left and its member is gone, or it is where all partitions are given out."""
    if client.phase in (Phase.LEFT, Phase.CRASHED):
        return client.member_id not in records.epochs and not client.adrift
    led = records.epochs.get(client.member_id) == client.epoch == records.target_epoch == records.epoch
    applied = client.phase is Phase.MEMBER and client.applying is None and not client.newer
    return led and applied and records.whole and not records.pending


def in_place(records: Records, client: Consumer) -> bool:
    """The same, and a member uses its part of the target."""
    return is_led(records, client) and client.uses == records.targets.get(client.member_id, frozenset())


def at_rest(records: Records, client: Consumer) -> bool:
    """The same, with nothing under way and nothing more to say."""
    return in_place(records, client) and (client.settled or client.phase is not Phase.MEMBER)


def _is_forgotten_or(judge: Callable[..., bool], one: Coordinator, client: Consumer) -> bool:
    return bool(unwatched(one)) or judge(records(one), client)


def end(*, watched: bool = True) -> Property:
    """The states that may be last. watched: whether every member is; else one that is not ends all."""
    if watched:
        meaning = "Every client has left and its member is gone, or uses its part of a target of all."
        return Property("ends.consumer-settled", Kind.TERMINAL, meaning, (RECORDS, CLIENT), at_rest)
    return Property(
        "ends.consumer-settled",
        Kind.TERMINAL,
        "All is settled, or a member that nobody watches keeps what it has for ever.",
        (View("coordinator", lambda one: one), CLIENT),
        partial(_is_forgotten_or, at_rest),
    )
