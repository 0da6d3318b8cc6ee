"""The core as a whole: groups apart, odd answers from outside, settings, no scans of the group."""

import pytest

from rota.coordinator import (
    ConfigError,
    CoordinatorConfig,
    Effects,
    JoinGroupReply,
    TimerId,
    UnknownAppendError,
)
from rota.coordinator import ErrorCode as E


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
        ({"group_min_session_timeout_ms": 9, "group_max_session_timeout_ms": 8}, "is above"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, words):
    with pytest.raises(ConfigError, match=words):
        CoordinatorConfig(**settings)


class Unscannable(dict):
    """Members that can be looked up and counted, but not gone through."""

    def _refuse(self):
        raise AssertionError("a request scans the group")

    __iter__ = keys = values = items = _refuse


def test_requests_that_start_or_end_no_phase_do_not_scan_the_group(world):
    world.check_books = lambda: None  # it scans
    a, b, c = (world.client(name) for name in "abc")
    world.stable(a, b, c)
    group = world.group()
    plain = group.members
    group.members = Unscannable(plain)
    assert (a.heartbeat(), b.sync().error, b.join().error) == (0, 0, 0)
    group.members = plain
    a.join()
    group.members = Unscannable(plain)
    assert b.heartbeat() == E.REBALANCE_IN_PROGRESS
    assert b.join().parked
    assert world.client("d").enter().parked
    assert world.leave(b.member_id).members[0].error_code == 0
