"""What must be so between a state and the next."""

from __future__ import annotations

from collections.abc import Mapping

from rota.environment.consumer.coordinator import Coordinator
from rota.environment.consumer.messages import Partitions
from rota.kernel import FrozenMap, Kind, Property, View
from rota.spec.consumer.group import ConsumerGroup, Current
from rota.spec.consumer.state import MemberState

Epochs = tuple[int, int, FrozenMap[str, int]]
"""Of the group, of its target, and of each member."""


def _stored(one: Coordinator) -> Epochs:
    group = one.shard.committed
    if not isinstance(group, ConsumerGroup):
        return 0, 0, FrozenMap()
    return (
        group.epoch,
        group.target_epoch,
        FrozenMap((name, now.epoch) for name, now in group.current.items()),
    )


def _grow(before: Epochs, after: Epochs) -> bool:
    members = all(after[2].get(name, epoch) >= epoch for name, epoch in before[2].items())
    return before[:2] <= after[:2] and before[1] <= after[1] and members


Owned = tuple[int, FrozenMap[str, Partitions]]
"""How often the coordinator has moved, and what each member holds as far as the log has it."""


def _owned(one: Coordinator) -> Owned:
    group = one.shard.committed
    if not isinstance(group, ConsumerGroup):
        return one.term, FrozenMap()
    return one.term, FrozenMap((name, now.owned) for name, now in group.current.items())


def _under_one_coordinator(before: Owned, after: Owned) -> bool:
    return before[0] == after[0]


def _of_others(owned: Mapping[str, Partitions], name: str) -> Partitions:
    return frozenset(one for other, some in owned.items() if other != name for one in some)


def _was_given_up(before: Owned, after: Owned) -> bool:
    held = before[1]
    return not any(
        (some - held.get(name, frozenset())) & _of_others(held, name) for name, some in after[1].items()
    )


Led = tuple[int, FrozenMap[str, tuple[Current, bool]]]
"""How often the coordinator has moved; what each member has, and whether others own some of its target."""


def _led(one: Coordinator) -> Led:
    group = one.shard.committed
    if not isinstance(group, ConsumerGroup):
        return one.term, FrozenMap()
    return one.term, FrozenMap(
        (name, (now, bool((group.targets.get(name, frozenset()) - now.owned) & group.owners.keys())))
        for name, now in group.current.items()
    )


def _of_one_coordinator(before: Led, after: Led) -> bool:
    return before[0] == after[0]


def _keeps_its_epoch(before: Led, after: Led) -> bool:
    return all(
        now.epoch == before[1][name][0].epoch
        for name, (now, _) in after[1].items()
        if name in before[1] and now.state is MemberState.UNREVOKED_PARTITIONS
    )


def _waits_for_others(before: Led, after: Led) -> bool:
    return all(
        lacks
        for name, (now, lacks) in after[1].items()
        if now.state is MemberState.UNRELEASED_PARTITIONS and before[1].get(name, (None,))[0] != now
    )


def _has_told(before: tuple[int, bool], after: tuple[int, bool]) -> bool:
    return after[0] >= before[0] or after[0] == 0


STEPS = (
    Property(
        "consumer.granted-was-given-up",
        Kind.STEP,
        "What a batch in the log grants to a member nobody else held before it: it had been given up.",
        (View("coordinator", _owned),),
        _was_given_up,
        given=_under_one_coordinator,
        source="KIP-848",
        rules=("membership.led",),
    ),
    Property(
        "consumer.epochs-never-fall",
        Kind.STEP,
        "As far as the log has them, the epochs of group, target and members never become less.",
        (View("coordinator", _stored),),
        _grow,
        source="KIP-848",
        rules=("epochs.raised", "leave.removal", "persistence.stored", "persistence.failed"),
    ),
    Property(
        "consumer.client-epoch-never-falls",
        Kind.STEP,
        "The epoch that a client is told never becomes less, but when it has to join anew or leaves.",
        (View("client", lambda client: (client.epoch, client.newer)),),
        _has_told,
        source="KIP-848",
        rules=("epochs.behind", "membership.led"),
    ),
    Property(
        "consumer.told-to-give-up-keeps-its-epoch",
        Kind.STEP,
        "Who is told to give up partitions keeps its epoch until it has.",
        (View("coordinator", _led),),
        _keeps_its_epoch,
        given=_of_one_coordinator,
        source="KIP-848",
        rules=("membership.led",),
    ),
    Property(
        "consumer.waits-for-others",
        Kind.STEP,
        "Who is made to wait waits for a partition that somebody else has.",
        (View("coordinator", _led),),
        _waits_for_others,
        given=_of_one_coordinator,
        source="upstream CurrentAssignmentBuilder#computeNextAssignment",
        rules=("membership.led",),
    ),
)
