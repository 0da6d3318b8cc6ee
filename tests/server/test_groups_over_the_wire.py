"""Groups formed over real sockets, in every version of the protocol."""

import re
import time

import pytest

from rota.server.groups import FirstByName

UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def test_two_members_form_a_group_and_leave(address, member):
    first, second = member(address, "one"), member(address, "two")
    alone = first.join()
    assert (alone["generation_id"], alone["leader"], alone["protocol_name"]) == (1, first.member_id, "range")
    assert re.fullmatch(f"one-{UUID}", first.member_id)
    second.ask()
    assert first.heartbeat() == 27
    first.ask()
    led, followed = first.joined(), second.joined()
    assert (led["generation_id"], followed["generation_id"]) == (2, 2)
    assert led["leader"] == followed["leader"] == first.member_id
    assert {each["member_id"] for each in led["members"]} == {first.member_id, second.member_id}
    assert followed["members"] == []
    second.send("SyncGroup", 5, **second.place(), protocol_type="consumer", protocol_name="range")
    assert first.sync(assignments={first.member_id: b"p0", second.member_id: b"p1"})["assignment"] == b"p0"
    assert second.receive()["assignment"] == b"p1"
    assert (first.heartbeat(), second.heartbeat()) == (0, 0)
    gone = second.call(
        "LeaveGroup", 5, group_id="g", members=[{"member_id": second.member_id}, {"member_id": "?"}]
    )
    assert gone["error_code"] == 0
    assert [each["error_code"] for each in gone["members"]] == [0, 25]
    assert (first.heartbeat(), second.heartbeat()) == (27, 25)


@pytest.mark.parametrize("version", range(10))
def test_every_version_of_join_group(version, address, member):
    only = member(address)
    answer = only.join(version)
    assert (answer["error_code"], answer["generation_id"], len(answer["members"])) == (0, 1, 1)
    refused = only.join(version, member_id="strange")
    assert (refused["error_code"], refused["member_id"], refused["generation_id"]) == (25, "strange", -1)
    assert refused["protocol_name"] == (None if version >= 7 else "")


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_sync_group(version, address, member):
    only = member(address)
    only.join()
    assert only.sync(version, {only.member_id: b"all"})["assignment"] == b"all"
    nameless = only.sync(version, protocol_name=None)
    assert nameless["error_code"] == (23 if version >= 5 else 0)


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_leave_group(version, address, member):
    only = member(address)
    only.join()
    who = {"members": [{"member_id": only.member_id}]} if version >= 3 else {"member_id": only.member_id}
    for expected in (0, 25):
        answer = only.call("LeaveGroup", version, group_id="g", **who)
        errors = (
            [each["error_code"] for each in answer["members"]] if version >= 3 else [answer["error_code"]]
        )
        assert errors == [expected]
    assert only.call("LeaveGroup", version, group_id="", **who)["error_code"] == 24


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_heartbeat(version, address, member):
    only = member(address)
    only.join()
    assert only.heartbeat(version) == 0
    only.generation += 1
    assert only.heartbeat(version) == 22


def test_version_0_has_no_rebalance_timeout(start, member):
    """The session timeout stands in: a member that stays away is gone after it."""
    address = start(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100)
    absent, present = member(address), member(address)
    absent.join(0, session_timeout_ms=300)
    begun = time.monotonic()
    present.join(0, session_timeout_ms=200)
    assert 0.25 < time.monotonic() - begun < 5
    assert absent.heartbeat(0) == 25


def test_initial_delay_gathers_members(start, member):
    address = start(group_initial_rebalance_delay_ms=250)
    members = [member(address, name) for name in "abc"]
    begun = time.monotonic()
    for each in members:
        each.ask()
    answers = [each.joined() for each in members]
    assert [each["generation_id"] for each in answers] == [1, 1, 1]
    assert sorted(len(each["members"]) for each in answers) == [0, 0, 3]
    assert 0.25 <= time.monotonic() - begun < 5


def test_session_of_a_silent_member_ends(start, member):
    address = start(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100)
    only = member(address)
    only.join(session_timeout_ms=300)
    only.sync()
    assert only.heartbeat() == 0
    deadline = time.monotonic() + 10
    begun = time.monotonic()
    while member(address).call("Heartbeat", 4, **only.place(generation_id=99))["error_code"] != 25:
        assert time.monotonic() < deadline
    assert time.monotonic() - begun > 0.25


def test_session_bounds_are_the_settings(start, member):
    address = start(group_min_session_timeout_ms=100, group_max_session_timeout_ms=200)
    errors = [
        member(address).call("JoinGroup", 9, **member(address).request | {"session_timeout_ms": ms})[
            "error_code"
        ]
        for ms in (99, 100, 200, 201)
    ]
    assert errors == [26, 79, 79, 26]


@pytest.mark.parametrize("version", range(5, 10))
def test_a_static_member_restarts_without_a_rebalance(version, address, member):
    leader, old, new = member(address), member(address, "one"), member(address, "two")
    leader.join()
    leader.sync()
    old.send("JoinGroup", version, **old.request, group_instance_id="i")
    while leader.heartbeat() != 27:  # the two are on connections of their own
        time.sleep(0.01)
    listed = {each["group_instance_id"] for each in leader.join()["members"]}
    assert (listed, old.joined()["generation_id"]) == ({None, "i"}, 2)
    leader.sync(assignments={old.member_id: b"share"})
    assert old.sync(group_instance_id="i")["assignment"] == b"share"
    new.send("JoinGroup", version, **new.request, group_instance_id="i")
    again = new.joined()
    assert (again["error_code"], again["generation_id"], again["leader"]) == (0, 2, leader.member_id)
    assert re.fullmatch(f"i-{UUID}", new.member_id)
    assert old.call("Heartbeat", 4, **old.place(), group_instance_id="i")["error_code"] == 82
    assert new.call("Heartbeat", 4, **new.place(), group_instance_id="i")["error_code"] == 0
    assert new.sync(group_instance_id="i")["assignment"] == b"share"
    described = leader.call("DescribeGroups", 5, groups=["g"])["groups"][0]["members"]
    assert {(each["group_instance_id"], each["client_id"]) for each in described} >= {("i", "one")}
    gone = leader.call("LeaveGroup", 5, group_id="g", members=[{"member_id": "", "group_instance_id": "i"}])
    assert gone["members"] == [{"member_id": "", "group_instance_id": "i", "error_code": 0}]


def test_a_group_has_as_many_places_as_the_setting_says(start, member):
    address = start(group_initial_rebalance_delay_ms=0, group_max_size=1)
    first, second = member(address), member(address)
    first.join()
    refused = second.call("JoinGroup", 9, **second.request)
    assert (refused["error_code"], refused["member_id"]) == (81, "")


def test_parked_request_of_a_lost_connection_stays(address, member):
    stays, lost = member(address), member(address)
    stays.join()
    lost.ask()
    lost.close()
    answer = stays.join()
    assert answer["generation_id"] == 2
    assert {each["member_id"] for each in answer["members"]} == {stays.member_id, lost.member_id}


def test_ties_go_to_the_first_in_order():
    choices = FirstByName()
    assert choices.protocol(("roundrobin", "range")) == "range"
    assert choices.leader(("c-2", "c-1")) == "c-1"
    assert choices.new_member_id("c") != choices.new_member_id("c")
