"""The core as a whole: groups apart, odd answers from outside, settings."""

import random

import pytest

from rota.coordinator import (
    Arm,
    Cancel,
    ConfigError,
    CoordinatorConfig,
    Effects,
    JoinGroupReply,
    TimerId,
    UnknownAppendError,
)
from rota.coordinator import ErrorCode as E
from rota.coordinator.ledger import Ledger
from rota.coordinator.memory import Memory
from rota.coordinator.step import Step


def test_groups_do_not_see_each_other(world):
    a, b = world.client("a"), world.client("b", group_id="other")
    calls = [a.enter(), b.enter()]
    world.advance(3_000)
    assert [call.reply.generation_id for call in calls] == [1, 1]
    assert sorted(world.core.groups) == ["g", "other"]
    a.leave()
    assert [str(group.state) for group in world.core.groups.values()] == ["Empty", "CompletingRebalance"]


def test_groups_can_only_be_looked_at(world):
    with pytest.raises(TypeError):
        world.core.groups["g"] = None


def test_an_answer_for_an_append_comes_once(world):
    with pytest.raises(UnknownAppendError, match="append 1 is not waiting"):
        world.core.appended(1)
    world.stable(world.client("a"))
    with pytest.raises(UnknownAppendError, match="append 1 is not waiting"):
        world.core.appended(1)


@pytest.mark.parametrize("kind", ["initial_join", "join", "sync", "session", "new_member", "pending"])
def test_a_timer_of_a_group_that_is_not_there_does_nothing(world, kind):
    assert world.core.fire(TimerId(kind, "missing", "x")) == Effects()


@pytest.mark.parametrize("kind", ["session", "new_member", "pending"])
def test_a_timer_of_a_member_that_is_not_there_does_nothing(world, kind):
    world.stable(world.client("a"))
    assert world.core.fire(TimerId(kind, "g", "x")) == Effects()


@pytest.mark.parametrize(("version", "none"), [(3, ""), (6, ""), (7, None), (9, None)])
def test_no_protocol_name_is_said_as_the_version_can(world, version, none):
    refused = world.client("a").join(version=version, member_id="x")
    assert refused.reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID, member_id="x", protocol_name=none)


def test_a_parked_reply_keeps_the_version_of_its_request(world):
    joined = world.client("a").join(version=2)
    world.leave("a-1")
    assert joined.reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID, protocol_name="")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"group_initial_rebalance_delay_ms": -1}, "group_initial_rebalance_delay_ms is negative"),
        ({"group_max_size": 0}, "group_max_size is below 1"),
        ({"group_min_session_timeout_ms": 9, "group_max_session_timeout_ms": 8}, "is above"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, words):
    with pytest.raises(ConfigError, match=words):
        CoordinatorConfig(**settings)


def some_step(world, dice, clients):
    """One random thing that a client, the clock or the log may do."""
    client, group = dice.choice(clients), world.core.groups.get("g")
    if group is None or client.member_id not in {*group.members, *group.pending_members}:
        client.member_id = ""
    if client.member_id and dice.random() < 0.1:
        client.protocols = dice.choice([("x",), ("x", "y:1"), ("y:2", "x")])
    choice = dice.randrange(12)
    if choice < 5:
        client.join(version=dice.choice([3, 9]))
    elif choice < 7:
        client.sync({each: each.name.encode() for each in clients if each.member_id})
    elif choice < 9:
        client.heartbeat()
    elif choice == 9:
        world.leaving(client.member_id, *dice.choice([(), (dice.choice(clients).member_id,)]))
    elif choice == 10 and world.appends:
        world.log(dice.choice([0, 0, 7]))
    else:
        world.advance(dice.choice([500, 3_000, 10_000]))


@pytest.mark.parametrize("seed", range(20))
def test_random_walks_keep_the_books(world, seed):
    """The books are checked by the world after each step; here also what may be told to whom."""
    dice, world.hold_log = random.Random(seed), True
    clients = [world.client(name, "x", "y:1", session=8_000, rebalance=9_000) for name in "abcd"]
    generation = 0
    for _ in range(300):
        some_step(world, dice, clients)
        for group in world.core.groups.values():
            assert group.generation_id >= generation
            generation = group.generation_id
    joined = [
        r for call in world.calls for r in call.replies if isinstance(r, JoinGroupReply) and not r.error_code
    ]
    assert len({reply.generation_id for reply in joined}) > 10, "the walk went nowhere"
    leaders = {(reply.generation_id, reply.leader) for reply in joined}
    assert len(leaders) == len({generation for generation, _ in leaders})
    assert all(bool(reply.members) == (reply.leader == reply.member_id) for reply in joined)


def test_the_last_word_on_a_timer_counts_in_the_place_where_it_was_said():
    """Timers that are armed in one step for the same moment fire in this order."""
    step = Step(CoordinatorConfig(), None, Ledger(), Memory())
    step.arm("sync", "g", 1)
    step.arm("join", "g", 2)
    step.cancel("join", "g")
    step.arm("sync", "g", 2)
    assert step.effects().timers == (Cancel(TimerId("join", "g")), Arm(TimerId("sync", "g"), 2))
