"""What was due when a connection ends, requests that a broker ends one for, and groups that are on a list."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from harness import scenes
from harness.judged_frames import judged, terms_of
from harness.recorded_frames import recorded
from harness.recorded_walks import shown_in
from harness.seen_bugs import profile_for
from harness.walk_hunt import grounds
from rota.history import Event, Kind, Source
from rota.mutants.core import core_bugs, planted
from rota.validate.dropped import PROMPTLY
from rota.validate.settings import MAX_REAUTH

WIRE = "wire.answers"
BY_BROKER = "closed by the broker"
SESSION = 9_000


async def two_who_live(scene):
    """Two members live by heartbeats; somebody looks at them twice."""
    await scene.stable("a", "b", session=SESSION)
    await scene.look()
    await scene.look()
    for _ in range(6):
        await scene.silence(1.0)
        await scene.beat("a", "b")


@cache
def lives():
    """It, as a sound server answers."""
    return recorded(two_who_live, "kafka-4.x")


def dropped(reason=BY_BROKER, api="DescribeGroups", after=0.002):
    """The same, where the last request of an API and whoever sends it is not answered, and its connection
    ends."""
    events = [*lives()]
    number, asked = next(
        (place, one)
        for place, one in reversed([*enumerate(events)])
        if one.data.get("api") == api and one.kind is Kind.REQUEST
    )
    connection = asked.data["connection"]
    rest = [one for one in events[number + 1 :] if one.data["connection"] != connection]
    data = {name: asked.data[name] for name in ("connection", "broker")}
    end = Event(asked.at + after, Source.FRAMES, f"{asked.origin}.end", Kind.CLOSED, reason=reason, data=data)
    return sorted([*events[: number + 1], end, *rest], key=lambda one: one.at)


def ended_later(events, seconds):
    """The same, where all other connections are ended as well, and others go on."""
    end = next(one for one in events if one.kind is Kind.CLOSED)
    numbers = {one.data["connection"] for one in events} - {end.data["connection"]}
    ends = [
        replace(end, at=end.at + seconds, data={**end.data, "connection": number})
        for number in sorted(numbers)
    ]
    later = [
        replace(one, data={**one.data, "connection": one.data["connection"] + 100})
        if one.at > end.at + seconds
        else one
        for one in events
    ]
    return sorted([*later, *ends], key=lambda one: one.at)


def test_a_broker_that_ends_a_connection_for_a_request_and_lives_on_has_not_answered_it():
    account = judged(dropped(), terms_of(fresh=True))
    (violation,) = account.violations
    assert violation.rule == WIRE
    assert (
        violation.why
        == "DescribeGroups v5 of z is not answered: the broker has ended its connection, and lives on"
    )
    assert violation.line == violation.lines[-1]
    assert violation.line.endswith(".end")
    assert any("DescribeGroups" in line for line in violation.dialogue)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(lambda: dropped("closed by the client"), id="the client has ended it"),
        pytest.param(lambda: dropped(""), id="nobody tells who has"),
        pytest.param(lambda: dropped(after=PROMPTLY + 0.1), id="it may have been idle"),
        pytest.param(lambda: ended_later(dropped(), 0.1), id="all have ended: it may be another one"),
        pytest.param(lambda: ended_later(dropped(), 1.9), id="it went down more slowly"),
        pytest.param(lambda: cut(dropped(), 1.5), id="nothing tells that it lives"),
        pytest.param(lambda: once(dropped()), id="it may not know the version"),
        pytest.param(lambda: of_two_brokers(dropped()), id="another one lives"),
        pytest.param(lambda: of_two_brokers(dropped(), others=(0, 1)), id="another one answers"),
        pytest.param(lambda: of_two_brokers(dropped(), later=(-2, -1)), id="connections lead to another one"),
        pytest.param(lambda: with_lost_frames(dropped()), id="ends may be missing"),
    ],
)
def test_what_may_have_another_reason_is_none(events):
    account = judged(events(), terms_of(fresh=True))
    assert not account.found, account.violations


def cut(events, seconds):
    """What is told until some seconds after the end of a connection."""
    end = next(one for one in events if one.kind is Kind.CLOSED)
    return [one for one in events if one.at <= end.at + seconds]


def once(events):
    """The same without the first DescribeGroups and its answer."""
    first = [one for one in events if one.data.get("api") == "DescribeGroups"][:2]
    return [one for one in events if one not in first]


ELSEWHERE = {"broker": "elsewhere:9092"}


def of_two_brokers(events, *, others=(), later=()):
    """The same, where the connection that ends leads to another broker; and where these requests and their
    answers are on a connection of their own to it, which goes on."""
    gone = next(one for one in events if one.kind is Kind.CLOSED).data["connection"]
    moved = [one for one in events if "api" in one.data]
    own = [*(moved[place] for place in others), *(moved[place] for place in later)]
    changed = []
    for one in events:
        if one in own:
            one = replace(
                one, data={**one.data, **ELSEWHERE, "connection": 900 + (one in own[len(others) :])}
            )
        elif one.data["connection"] == gone:
            one = replace(one, data={**one.data, **ELSEWHERE})
        changed.append(one)
    return changed


def with_lost_frames(events):
    """The same, and then packets of another connection are lost."""
    end = next(one for one in events if one.kind is Kind.CLOSED)
    other = next(one for one in events if one.at > end.at)
    gap = replace(
        end, at=end.at + 0.5, kind=Kind.GAP, reason="lost", data={"connection": other.data["connection"]}
    )
    return sorted([*events, gap], key=lambda one: one.at)


def test_where_nobody_says_whether_clients_have_to_authenticate_again_it_is_undecided():
    account = judged(dropped(), terms_of(fresh=True, assumed=frozenset({MAX_REAUTH})))
    ((_, cause),) = account.undecided
    assert account.verdict == "undecided"
    assert "is not answered: the broker has ended its connection" in cause
    assert MAX_REAUTH in cause
    assert judged(dropped(), terms_of(fresh=True, reauthenticates=True)).verdict == "holds"


@pytest.mark.parametrize(
    ("bug", "plan"),
    [pytest.param("restart-ignores-the-vote", 101, marks=pytest.mark.long), ("first-vote-for-ever", 0)],
)
def test_a_coordinator_that_raises_is_found(bug, plan):
    """rota's server ends the connection whose request has made it raise."""
    bug = core_bugs()[bug]
    ground = grounds(1, profile_for(bug))
    recording = shown_in(bug, ground, plan)
    assert recording.shown.kind == "silence"
    assert "raised" in recording.parted
    for fresh in (True, False):
        assert [one.rule for one in recording.judged(ground, fresh).violations][:1] == [WIRE]


@pytest.mark.parametrize(("seconds", "verdict"), [(0.5, "holds"), (4.5, "violated")])
def test_what_was_due_when_its_connection_ends_is_late_or_never_comes(seconds, verdict):
    """A member's JoinGroup is due when the other has not come in time, and its client does not wait for ever.
    The timer and the answer are each forgiven two seconds."""
    events = recorded(one_joins, "kafka-4.x")
    due = events[-1]
    assert due.kind is Kind.RESPONSE
    assert due.data["api"] == "JoinGroup"
    end = replace(
        due,
        at=due.at + seconds,
        kind=Kind.CLOSED,
        reason="closed by the client",
        data={"connection": due.data["connection"]},
    )
    account = judged([*events[:-1], end], terms_of(fresh=True))
    assert account.verdict == verdict, (account.violations, account.late)
    assert account.late if verdict == "holds" else "not answered by" in account.violations[0].why


async def one_joins(scene):
    """One joins, and is answered when the other has not come in time."""
    await scene.stable("a", "b", session=SESSION)
    await scene.join("a", session=SESSION)
    await scene.silence(2.5)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_group_that_is_on_a_list_holds(fresh):
    assert judged(recorded(scenes.listed, "kafka-4.x"), terms_of(fresh=fresh)).verdict == "holds"


def test_a_group_that_is_on_a_list_and_cannot_be_is_a_violation():
    with planted(core_bugs()["group-created-for-unknown-id"]):
        events = recorded(scenes.listed, "kafka-4.x")
    (violation,) = judged(events, terms_of(fresh=True)).violations
    assert violation.rule == "admin.list"
    assert "ListGroups" in violation.asked


def changed_list(events, **row):
    """The same, where the group's last line on a list is another one."""
    place = max(
        place
        for place, one in enumerate(events)
        if one.kind is Kind.RESPONSE and one.data["api"] == "ListGroups" and one.data["fields"]["groups"]
    )
    fields = events[place].data["fields"]
    groups = [{**one, **row} for one in fields["groups"]]
    changed = replace(events[place], data={**events[place].data, "fields": {**fields, "groups": groups}})
    return [*events[:place], changed, *events[place + 1 :]]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"group_state": "CompletingRebalance"}, "violated"),
        ({"protocol_type": "connect"}, "violated"),
        ({"group_type": "consumer"}, "holds"),
        ({"group_id": "another"}, "holds"),
        ({"group_id": None, "protocol_type": 5}, "holds"),
    ],
)
def test_state_and_type_on_a_list_are_judged(row, verdict):
    """What tells of another group, of one of the other protocol, or is no line, is about nothing here."""
    events = changed_list(recorded(scenes.listed, "kafka-4.x"), **row)
    assert judged(events, terms_of(fresh=True)).verdict == verdict


def test_a_list_of_another_broker_is_about_nothing_here():
    events = changed_list(recorded(scenes.listed, "kafka-4.x"), group_state="CompletingRebalance")
    operator = next(one.data["connection"] for one in events if one.data.get("api") == "ListGroups")
    elsewhere = [
        replace(one, data={**one.data, **ELSEWHERE}) if one.data["connection"] == operator else one
        for one in events
    ]
    assert judged(elsewhere, terms_of(fresh=True)).verdict == "holds"


def test_a_list_that_comes_late_tells_of_before():
    """What was said since it was asked for may be from before or after it."""
    events = [*recorded(scenes.listed, "kafka-4.x")]
    stable = next(
        one
        for one in events
        if one.kind is Kind.RESPONSE and "Stable" in map(str, _states(one)) and one.data["version"] == 4
    )
    events.remove(stable)
    late = replace(stable, at=events[-1].at + 0.1)
    assert judged([*events, late], terms_of(fresh=True)).verdict == "holds"


def _states(event):
    return [one.get("group_state") for one in event.data["fields"].get("groups", ()) if isinstance(one, dict)]
