"""A broker that ends all connections may have been started anew: what of that is judged, and by what."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness import scenes
from harness.judged_frames import judged, terms_of
from harness.recorded_frames import recorded
from rota.conformance.dialogues.broker_settings import RETENTION_CHECK
from rota.history import Kind
from rota.mutants.core import core_bugs, planted
from rota.spec import HeartbeatRequest, JoinGroupRequest, ProtocolMetadata
from rota.spec.admin_messages import DescribeGroupsRequest
from rota.validate.terms import looks_every


def cut_before(api, events, reason="closed by the broker"):
    """The same, where all connections are ended before the first request of an API, and others go on."""
    place = next(number for number, one in enumerate(events) if one.data.get("api") == api)
    numbers = sorted({one.data["connection"] for one in events[:place]})
    ends = [
        replace(events[place], kind=Kind.CLOSED, reason=reason, data={"connection": number})
        for number in numbers
    ]
    later = [
        replace(one, data={**one.data, "connection": one.data["connection"] + 100}) for one in events[place:]
    ]
    return [*events[:place], *ends, *later]


@pytest.mark.parametrize("api", ["DescribeGroups", "Heartbeat", "SyncGroup"])
def test_a_broker_that_only_ends_connections_is_sound(api):
    events = cut_before(api, recorded(scenes.sessions, "kafka-4.x"))
    assert judged(events, terms_of(fresh=True, durable=True)).verdict == "holds"


@pytest.mark.parametrize(("durable", "verdict"), [(True, "violated"), (False, "undecided")])
def test_what_no_restart_explains_is_a_violation_where_the_log_loses_nothing(durable, verdict):
    """The first generation was stored, and so are its members."""
    with planted(core_bugs()["generation-before-member-in-heartbeat"]):
        events = cut_before("DescribeGroups", recorded(scenes.sessions, "kafka-4.x"))
    account = judged(events, terms_of(fresh=True, durable=durable))
    assert account.verdict == verdict, account.undecided


@pytest.mark.parametrize(
    ("reason", "verdict"), [("closed by the broker", "holds"), ("closed by the client", "violated")]
)
def test_what_a_restart_explains_is_none(reason, verdict):
    """A member whose assignment was never stored is unknown at once after it."""
    events = recorded(scenes.sessions, "kafka-4.x")
    before = events[: events.index(_synced(events))]
    asked, answer, *_ = (one for one in events if one.data.get("api") == "Heartbeat")
    at = before[-1].at + 0.1
    fields = {**answer.data["fields"], "error_code": 25}
    unknown = replace(answer, at=at + 0.01, data={**answer.data, "fields": fields})
    events = cut_before("Heartbeat", [*before, replace(asked, at=at), unknown], reason)
    account = judged(events, terms_of(fresh=True, durable=True))
    assert account.verdict == verdict, account.undecided


def _synced(events):
    """The first SyncGroup."""
    return next(one for one in events if one.data.get("api") == "SyncGroup")


async def two_asked_at_once(scene):
    """An id is given and never used. Later two ask at once, and then there is a first generation."""
    group, lists = scene.stage.group_id, (ProtocolMetadata("range", b"m"),)
    await scene.ask("a", JoinGroupRequest(group, 3_000, 2_000, "", "consumer", lists, None), 9)
    await scene.silence(6.0)
    await scene.ask("y", DescribeGroupsRequest(group), 5, waits=False)
    await scene.ask("z", HeartbeatRequest(group, 3, "nobody"), 4, waits=False)
    await scene.silence(1.0)
    await scene.stable("b")
    await scene.beat("b")


def test_what_was_judged_before_nobody_could_say_is_not_part_of_what_comes_after():
    """Which would be answers without their requests."""
    events = recorded(two_asked_at_once, "kafka-4.x")
    place = next(
        number
        for number, one in enumerate(events)
        if one.data.get("api") == "DescribeGroups" and one.kind is Kind.RESPONSE
    )
    told = events[place].data["fields"]["groups"][0]
    fields = {"groups": [{**told, "group_state": "Dead", "protocol_type": ""}], "throttle_time_ms": 0}
    events[place] = replace(events[place], data={**events[place].data, "fields": fields})
    account = judged(events, terms_of(fresh=True))
    (cause,) = {cause for _, cause in account.undecided}
    assert "expired" in cause
    assert account.judged >= 6


@pytest.mark.parametrize(
    ("settings", "seconds"), [({}, None), ({RETENTION_CHECK: 2500}, 2.5), ({RETENTION_CHECK: 600_000}, None)]
)
def test_looks_for_what_has_expired_are_followed_where_they_are_told_and_often(settings, seconds):
    assert looks_every(settings) == seconds
