"""Bugs planted in the rules of the consumer protocol: a recorded dialogue tells each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from beside_kafka.consumer_dialogues import stage
from consumer_dialogues import ALL, golden
from harness.served_dialogues import text_of
from rota.conformance.connections.connection import Garbage
from rota.coordinator import offsets as coordinator_offsets
from rota.coordinator.consumer import (
    admin,
    checks,
    epochs,
    membership,
    offsets,
    reconcile,
    target,
    timers,
)
from rota.coordinator.consumer.assignors import ASSIGNORS
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.messages import ConsumerGroupHeartbeat, NamedAssignment, NamedPartitions
from rota.coordinator.consumer.records import (
    TARGET,
    CurrentAssignment,
    Key,
    MemberState,
    TargetEpoch,
    by_topic,
)
from rota.coordinator.consumer.topics import TopicImage
from rota.server.group_configs import GroupConfigs
from rota.server.incoming import Incoming

add_ = Incoming.add


def takes_the_latest_first(self: Incoming, data: bytes | memoryview) -> None:
    """Of whole frames that arrive together."""
    rest, frames = bytes(data), []
    while rest:
        end = 4 + int.from_bytes(rest[:4], "big")
        frames.append(rest[:end])
        rest = rest[end:]
    add_(self, b"".join(reversed(frames)))


@dataclass(frozen=True)
class Bug:
    """What is put in place of a name of a module or a class, and the dialogue that tells."""

    name: str
    owner: ModuleType | type
    attribute: str
    planted: Any
    told_by: str

    def __str__(self) -> str:
        return self.name


def never(*given: object) -> bool:
    return False


def always(*given: object) -> bool:
    return True


def nothing(*given: object) -> None:
    return None


def no_error(*given: object) -> int:
    return 0


def moves_at_once(current: CurrentAssignment, goal: Any, owned: Any) -> CurrentAssignment:
    return reconcile_(current, goal, owned if owned is not None else ())


def takes_what_others_own(current: CurrentAssignment, goal: Any, owned: Any) -> CurrentAssignment:
    return reconcile_(current, replace(goal, is_free=always), owned)


def takes_while_it_gives_up(current: CurrentAssignment, goal: Any, owned: Any) -> CurrentAssignment:
    found = reconcile_(current, goal, owned)
    more = {place: goal.epoch for place in goal.places if goal.is_free(place)}
    return found if found is current else replace(found, assigned={**found.assigned, **more})


def moves_while_it_gives_up(current: CurrentAssignment, goal: Any, owned: Any) -> CurrentAssignment:
    found = reconcile_(current, goal, owned)
    return replace(found, epoch=goal.epoch) if found.state is MemberState.UNREVOKED else found


def a_part_is_enough(owned: Any, places: Any) -> bool:
    return owned is None or all(place in owned for place in places)


def keeps_the_previous_epoch(
    current: CurrentAssignment, epoch: int, state: MemberState, assigned: Any, pending: Any
) -> CurrentAssignment:
    previous = current.previous_epoch if epoch == current.epoch else current.epoch
    return CurrentAssignment(epoch, previous, state, assigned, pending)


def the_previous_epoch_is_fenced(current: CurrentAssignment, request: ConsumerGroupHeartbeat) -> int:
    return 0 if request.member_epoch in (0, current.epoch) else 110


def any_lower_epoch_is_good(current: CurrentAssignment, request: ConsumerGroupHeartbeat) -> int:
    return 0 if request.member_epoch <= current.epoch else 110


def who_rejoins_is_fenced(current: CurrentAssignment, request: ConsumerGroupHeartbeat) -> int:
    return 110 if request.member_epoch == 0 else epoch_error_(current, request)


def empties_without_its_target(*given: Any) -> None:
    step, hosted, group, member_ids, *rest = given
    before = group.target_epoch
    remove_(step, hosted, group, member_ids, *rest)
    if not group.members:
        group.put(TARGET, before)


def keeps_the_interval(*given: Any) -> None:
    step, hosted, group, member_ids, *rest = given
    remove_(step, hosted, group, member_ids, *rest)
    if not group.members:
        group.put(TARGET, TargetEpoch(group.epoch.epoch, step.choices.now_ms()))


def one_by_one(*given: Any) -> None:
    step, hosted, group, member_ids, *rest = given
    for member_id in member_ids[:-1]:
        remove_(step, hosted, group, [member_id])
    remove_(step, hosted, group, member_ids[-1:], *rest)


def a_session_for_ever(step: Any, group: ConsumerGroup, member_id: str, delay_ms: int | None = None) -> None:
    """The timer is not armed."""


def deletes_members(hosted: Any, group_id: str) -> int:
    return 0 if group_id in hosted.by_id else 69


def from_the_outside(group: ConsumerGroup, member_id: str) -> tuple[Key, ...]:
    return tuple(reversed(keys_of_(group, member_id)))


def with_all_topics(topics: TopicImage, places: Any) -> NamedAssignment:
    return NamedAssignment(
        tuple(NamedPartitions(each, topics.name_of(each) or "", found) for each, found in by_topic(places))
    )


keys_of_ = ConsumerGroup.keys_of
reconcile_ = reconcile.reconciled
epoch_error_, remove_ = epochs.epoch_error, membership.remove

SHORT = 6.0
"""How long it is waited for what a bug keeps from happening; the longest session is of four seconds."""

BUGS = (
    Bug(
        "silence acknowledges",
        membership,
        "reconciled",
        moves_at_once,
        "reconcile.silence-acknowledges-nothing",
    ),
    Bug("takes what others own", membership, "reconciled", takes_what_others_own, "reconcile.handover"),
    Bug("takes while it gives up", membership, "reconciled", takes_while_it_gives_up, "topics.made-anew"),
    Bug(
        "is at the new epoch before it has given up",
        membership,
        "reconciled",
        moves_while_it_gives_up,
        "epochs.second-member",
    ),
    Bug("a part given up is enough", reconcile, "_owns", a_part_is_enough, "reconcile.some-of-them"),
    Bug(
        "what is not subscribed to any more stays",
        reconcile,
        "_unsubscribed",
        lambda current, goal, owned: current,
        "epochs.assignment-interval-and-topics",
    ),
    Bug(
        "the previous epoch stays what it was",
        reconcile,
        "_moved",
        keeps_the_previous_epoch,
        "records.handover",
    ),
    Bug(
        "the previous epoch is fenced",
        epochs,
        "epoch_error",
        the_previous_epoch_is_fenced,
        "epochs.lost-answer",
    ),
    Bug(
        "any lower epoch is good",
        epochs,
        "epoch_error",
        any_lower_epoch_is_good,
        "epochs.too-great-or-too-old",
    ),
    Bug("who rejoins is fenced", epochs, "epoch_error", who_rejoins_is_fenced, "membership.fenced-and-back"),
    Bug(
        "a repeated request need not say what it owns",
        epochs,
        "_owns_assigned",
        always,
        "epochs.too-great-or-too-old",
    ),
    Bug(
        "a changed subscription is no new epoch",
        epochs,
        "subscription_changed",
        never,
        "epochs.change-of-subscription",
    ),
    Bug(
        "every heartbeat is a change of subscription",
        epochs,
        "subscription_changed",
        always,
        "epochs.what-raises-none",
    ),
    Bug("topics that come are no change", epochs, "topics_changed", never, "topics.not-there-yet"),
    Bug(
        "the interval does not count",
        target,
        "is_due",
        lambda config, group, now_ms: group.target_epoch.epoch < group.epoch.epoch,
        "epochs.assignment-interval",
    ),
    Bug(
        "the interval counts in an emptied group",
        membership,
        "remove",
        keeps_the_interval,
        "epochs.assignment-interval-and-emptying",
    ),
    Bug(
        "an emptied group's target stays behind",
        membership,
        "remove",
        empties_without_its_target,
        "epochs.emptied",
    ),
    Bug("each who is removed is an epoch", membership, "remove", one_by_one, "membership.removed-together"),
    Bug("a wish does not count", target, "assignor_of", lambda config, group: "uniform", "target.range"),
    Bug("a full group takes in more", membership, "_member_error", no_error, "membership.full-group"),
    Bug("sessions never end", timers, "watch", a_session_for_ever, "membership.session-ends"),
    Bug("its own session does not count", GroupConfigs, "config_of", nothing, "membership.session-ends"),
    Bug(
        "its own interval does not count",
        GroupConfigs,
        "config_of",
        nothing,
        "epochs.assignment-interval",
    ),
    Bug("nobody is late", timers, "is_late", never, "reconcile.rebalance-timeout"),
    Bug("classic groups are taken over", membership, "_group_error", no_error, "admin.classic-group"),
    Bug(
        "what a heartbeat says is not checked",
        checks,
        "_problems",
        lambda request, version: iter(()),
        "membership.what-a-heartbeat-must-say",
    ),
    Bug("any epoch commits", offsets, "_epoch_error", no_error, "offsets.epochs-of-commits"),
    Bug("only the member's epoch commits", offsets, "_had_since", never, "offsets.epochs-of-commits"),
    Bug("any epoch fetches", offsets, "fetch_error", no_error, "offsets.epochs-of-fetches"),
    Bug("members are deleted with their group", admin, "_deletion_error", deletes_members, "admin.delete"),
    Bug(
        "what is to be given up is not shown",
        CurrentAssignment,
        "owned",
        property(lambda self: dict(self.assigned)),
        "reconcile.handover",
    ),
    Bug(
        "uniform is range",
        target,
        "ASSIGNORS",
        dict.fromkeys(ASSIGNORS, ASSIGNORS["range"]),
        "target.uniform-moves-little",
    ),
    Bug(
        "range is uniform",
        target,
        "ASSIGNORS",
        dict.fromkeys(ASSIGNORS, ASSIGNORS["uniform"]),
        "target.range",
    ),
    Bug(
        "no request is full",
        ConsumerGroupHeartbeat,
        "is_full",
        property(never),
        "epochs.full-request-is-told",
    ),
    Bug(
        "every request is full",
        ConsumerGroupHeartbeat,
        "is_full",
        property(always),
        "epochs.full-request-is-told",
    ),
    Bug("members go from the outside in", ConsumerGroup, "keys_of", from_the_outside, "records.leaving"),
    Bug("topics that are gone are shown", admin, "_named", with_all_topics, "topics.deleted"),
    Bug(
        "offsets outlive their topic",
        coordinator_offsets,
        "topic_gone",
        lambda *given: None,
        "offsets.topic-ids",
    ),
    Bug(
        "the latest request goes first",
        Incoming,
        "add",
        takes_the_latest_first,
        "epochs.under-way-at-once",
    ),
    Bug("a group is Stable whoever waits", ConsumerGroup, "is_reconciled", always, "epochs.second-member"),
)


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_a_dialogue_tells(bug: Bug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (dialogue,) = (one for one in ALL if one.slug == bug.told_by)
    monkeypatch.setattr(stage, "PATIENCE", SHORT)
    monkeypatch.setattr(bug.owner, bug.attribute, bug.planted)
    try:
        text = text_of(dialogue, tmp_path)
    except (AssertionError, Garbage):
        return  # what the dialogue waits for never comes, or what comes is another request's answer
    assert text != golden(dialogue).read_text(encoding="utf-8")
