"""Requests and answers to accounts: what frames tell that logs do not."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from harness.nights import START, Night, member
from rota.explain.diagnosis import Diagnosis
from rota.explain.frames import Frames
from rota.explain.rebalance import Ending
from rota.explain.worst import Explained, Explainer, Wanted
from rota.history import Event, Kind, Source
from rota.mutants.core import CoreBug, planted
from rota.wire.consumer import encode_assignment
from rota.wire.error_codes import ERROR_CODES

A, B, C = (member("worker", number) for number in range(1, 4))


class Recording:
    """Frames of one group, each member on a connection of its own; a call is a request with its answer."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._number = 0

    def ask(
        self,
        at: float,
        who: str,
        api: str,
        fields: dict[str, Any],
        answer: dict[str, Any] | None,
        after: float = 0.01,
    ) -> Recording:
        """A request, and its answer so many seconds later; None: there is none."""
        self._number += 1
        connection = int(who[-4:], 16) if who else 77
        data = {"connection": connection, "correlation": self._number, "api": api, "version": 5}
        told = {"group": "orders", "member": who, "client": "worker"}
        place = f"night.jsonl:{self._number}"
        request = data | {"fields": fields}
        self._add(at, place, Kind.REQUEST, request, **told, generation=fields.get("generation_id"))
        if answer is not None:
            self._add(at + after, place, Kind.RESPONSE, data | {"fields": answer})
        return self

    def _add(self, at: float, origin: str, kind: Kind, data: dict[str, Any], **told: Any) -> None:
        self.events.append(Event(START + at, Source.FRAMES, origin, kind, data=data, **told))

    def join(self, at: float, who: str, generation: int, roster: list[str], after: float = 0.01) -> Recording:
        """A JoinGroup that is granted; the first of the roster leads."""
        fields = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000}
        members = (
            [{"member_id": one, "group_instance_id": None} for one in roster] if who == roster[0] else []
        )
        answer = {
            "error_code": 0,
            "generation_id": generation,
            "leader": roster[0],
            "member_id": who,
            "members": members,
        }
        return self.ask(at, who, "JoinGroup", fields, answer, after)

    def sync(self, at: float, who: str, generation: int, *partitions: int) -> Recording:
        """A SyncGroup that is answered with partitions of orders."""
        body = {
            "assigned_partitions": [{"topic": "orders", "partitions": list(partitions)}],
            "user_data": None,
        }
        text = base64.b64encode(encode_assignment(body)).decode()
        return self.ask(
            at,
            who,
            "SyncGroup",
            {"generation_id": generation},
            {"error_code": 0, "assignment": {"base64": text}},
        )

    def beat(self, at: float, who: str, error: str = "NONE") -> Recording:
        """A heartbeat."""
        return self.ask(at, who, "Heartbeat", {"generation_id": 1}, {"error_code": ERROR_CODES[error]})

    def end(self, at: float, who: str, by: str) -> Recording:
        """The connection of a member ends."""
        data = {"connection": int(who[-4:], 16)}
        self._add(at, "night.jsonl:0", Kind.CLOSED, data, reason=f"closed by the {by}")
        return self

    def two(self) -> Recording:
        """Generation 1 of A, who leads, and B."""
        return (
            self.join(0, A, 1, [A, B], 3)
            .join(0.1, B, 1, [A, B], 2.9)
            .sync(3.1, A, 1, 0, 1)
            .sync(3.1, B, 1, 2, 3)
        )

    def explained(self) -> Explained:
        """The account."""
        explainer = Explainer(Wanted(), 10)
        for event in sorted(self.events, key=lambda one: one.at or 0.0):
            explainer.take(event)
        return explainer.done()

    def last(self) -> Diagnosis:
        """The last incident."""
        return self.explained().incidents[-1]


def _silent(seconds: float) -> Recording:
    """B is heard of no more; so many seconds later A is told to rebalance."""
    recording = Recording().two().beat(20, B).beat(20 + seconds, A, "REBALANCE_IN_PROGRESS")
    return recording.join(20.2 + seconds, A, 2, [A]).sync(20.3 + seconds, A, 2, 0, 1, 2, 3)


def test_a_rebalance_is_told_from_requests_alone() -> None:
    (one,) = Recording().two().explained().incidents
    (rebalance,) = one.incident.told
    assert (rebalance.to_generation, rebalance.members_after, rebalance.last) == (1, 2, B)
    assert rebalance.seconds is not None
    assert 3 < rebalance.seconds < 3.2


def test_who_was_silent_for_its_session_timeout_is_lost() -> None:
    one = _silent(10.5).last()
    assert (one.cause.name, one.session) == ("lost-client", 10)
    (rebalance,) = one.incident.told
    assert (rebalance.members_before, rebalance.members_after) == (2, 1)


def test_who_was_silent_for_less_is_gone_and_nobody_knows_how() -> None:
    assert _silent(5).last().cause.name == "gone"


def test_who_heartbeats_and_does_not_join_did_not_rejoin() -> None:
    recording = Recording().two().beat(20, A, "REBALANCE_IN_PROGRESS").beat(21, B, "REBALANCE_IN_PROGRESS")
    recording.join(22, A, 2, [A], 58).beat(50, B, "REBALANCE_IN_PROGRESS").sync(80.1, A, 2, 0, 1, 2, 3)
    one = recording.last()
    assert (one.cause.name, one.incident.told[0].seconds is not None) == ("not-rejoined", True)
    assert one.incident.seconds > 55


def _no_sync(seconds: float) -> Recording:
    """A leads generation 1 and asks for no assignment; so many seconds later it is not in the next one."""
    recording = Recording().join(0, A, 1, [A, B], 3).join(0.1, B, 1, [A, B], 2.9)
    for at in range(4, int(seconds) + 4):
        recording.beat(at, A)
    recording.beat(3 + seconds, B, "REBALANCE_IN_PROGRESS").join(3.1 + seconds, B, 2, [B])
    return recording.sync(3.2 + seconds, B, 2, 0, 1, 2, 3)


def test_who_does_not_ask_for_its_assignment_within_the_rebalance_timeout_is_removed_for_it() -> None:
    assert _no_sync(60).last().cause.name == "sync-timeout"
    assert _no_sync(30).last().cause.name != "sync-timeout"
    synced = _no_sync(60).sync(5, A, 1, 0, 1)
    assert synced.last().cause.name != "sync-timeout"


def test_a_leader_that_is_answered_twice_takes_nothing_back() -> None:
    recording = Recording().two().beat(22, B).beat(25, A, "REBALANCE_IN_PROGRESS").join(25.2, A, 2, [A])
    recording.join(25.3, A, 2, [A]).sync(25.4, A, 2, 0, 1, 2, 3)
    one = recording.last()
    assert (one.cause.name, one.incident.told[0].gone) == ("gone", (B,))


def test_who_says_that_it_leaves_left() -> None:
    left = {"members": [{"member_id": B, "reason": "consumer poll timeout has expired."}]}
    recording = Recording().two().ask(20, B, "LeaveGroup", left, {"error_code": 0})
    recording.beat(20.5, A, "REBALANCE_IN_PROGRESS").join(20.6, A, 2, [A]).sync(20.8, A, 2, 0, 1, 2, 3)
    assert recording.last().cause.name == "slow-poll"


def test_who_is_refused_after_its_session_was_paused() -> None:
    recording = _silent(10.5).beat(31.5, B, "UNKNOWN_MEMBER_ID").join(31.6, C, 3, [A, C], 1)
    recording.beat(31.7, A, "REBALANCE_IN_PROGRESS").join(31.8, A, 3, [A, C], 0.8)
    recording.sync(32.7, A, 3, 0, 1).sync(32.7, C, 3, 2, 3)
    assert recording.last().cause.name == "paused-process"


@pytest.mark.parametrize(("by", "cause"), [("broker", "broker-away"), ("client", "paused-process")])
def test_whose_connection_the_broker_had_ended_was_not_paused(by: str, cause: str) -> None:
    recording = _silent(10.5).end(21, B, by).beat(31.5, B, "UNKNOWN_MEMBER_ID").join(31.6, C, 3, [A, C], 1)
    recording.beat(31.7, A, "REBALANCE_IN_PROGRESS").join(31.8, A, 3, [A, C], 0.8)
    recording.sync(32.7, A, 3, 0, 1).sync(32.7, C, 3, 2, 3)
    assert recording.last().cause.name == cause


def test_who_is_not_known_any_more_when_others_join_was_gone_before() -> None:
    """As after a restart of the broker: B is refused while A, who was, too, is the first to join again."""
    recording = Recording().two().beat(20, B).beat(20, A).end(21, B, "broker").end(21, A, "broker")
    recording.beat(40, A, "UNKNOWN_MEMBER_ID").join(40.1, C, 3, [C], 2).beat(41, B, "UNKNOWN_MEMBER_ID")
    assert recording.sync(42.5, C, 3, 0, 1, 2, 3).last().cause.name == "broker-away"


def test_who_asks_for_its_assignment_before_the_leader_has_its_answer_has_asked() -> None:
    """What it did afterwards was not to join again."""
    recording = Recording().join(0, A, 1, [A, B], 3).join(0.1, B, 1, [A, B], 2.7)
    recording.sync(2.9, B, 1, 2, 3).sync(3.1, A, 1, 0, 1)
    for second in range(4, 125):
        recording.beat(second, B, "NONE" if second < 65 else "REBALANCE_IN_PROGRESS")
    recording.beat(65, A, "REBALANCE_IN_PROGRESS").join(65.2, A, 2, [A], 60).sync(125.3, A, 2, 0, 1, 2, 3)
    assert recording.last().cause.name == "not-rejoined"


def test_what_frames_tell_when_a_broker_s_log_has_told_the_end_belongs_to_what_has_ended() -> None:
    """The broker says that the join phase is over before the leader has its list, which shows who is gone."""
    recording = _silent(10.5).end(21, B, "broker").beat(31.5, B, "UNKNOWN_MEMBER_ID")
    log = Night().fail(30.4, B, 1, 1, took=0.25)
    recording.events += log.events
    assert [one.cause.name for one in recording.explained().incidents][-1] == "broker-away"


def test_who_is_heard_of_after_the_broker_had_ended_its_connection_is_there_again() -> None:
    recording = Recording().two().end(5, B, "broker").beat(6, B)
    recording.beat(20, B).beat(31, A, "REBALANCE_IN_PROGRESS").join(31.2, A, 2, [A]).sync(
        31.3, A, 2, 0, 1, 2, 3
    )
    assert recording.last().cause.name == "lost-client"


def test_answers_to_requests_that_were_not_seen_tell_nothing() -> None:
    recording = Recording().two()
    recording.events = [one for one in recording.events if one.kind is Kind.RESPONSE]
    assert recording.explained().incidents == []


def test_what_is_kept_of_frames_goes_by_what_is_unanswered() -> None:
    frames, recording = Frames(), Recording()
    for number in range(500):
        recording.beat(number * 3.0, A)
    recording.ask(2000, B, "JoinGroup", {}, None)
    for event in recording.events:
        list(frames.told(event))
    assert frames.kept == 6  # the group, the JoinGroup that waits, two connections, who speaks on them
    closed = Event(START + 2001, Source.FRAMES, "x", Kind.CLOSED, data={"connection": int(B[-4:], 16)})
    list(frames.told(closed))
    assert frames.kept == 3


def test_groups_of_frames_are_forgotten_in_the_end() -> None:
    frames, recording = Frames(), Recording().two()
    recording.events.append(Event(START + 9000, Source.FRAMES, "x", Kind.OPENED, data={"connection": 9}))
    for event in recording.events:
        list(frames.told(event))
    assert frames.kept == 0


def _waits_until(recording: Recording) -> float:
    """Seconds until a rebalance ends that nothing ends, where all is told until half an hour later."""
    explainer = Explainer(Wanted(), 10)
    for event in recording.events:
        explainer.take(event)
    explainer.accounts.now = START + 2_000.0
    one = explainer.done().incidents[-1]
    assert one.incident.told[-1].ending is Ending.OPEN
    return (one.incident.ended or 0.0) - START


def test_nobody_waits_for_the_end_of_a_rebalance_who_is_not_connected() -> None:
    told = Recording().two().beat(20, A, "REBALANCE_IN_PROGRESS").end(25, A, "client")
    assert _waits_until(told) == 2_000.0
    assert _waits_until(told.end(26, B, "client")) == 26.0
    assert _waits_until(told.beat(30, B, "REBALANCE_IN_PROGRESS")) == 2_000.0


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("frames:Frames._ended", "None if group.connections else event.at", "event.at"),
        ("frames:Frames._asked", "group.gone = None", "pass"),
        ("accounts:Accounts._until", "now if gone is None else gone", "now"),
    ],
)
def test_who_is_connected_is_looked_at(function: str, old: str, new: str) -> None:
    bug = CoreBug("", "gone", "", f"rota.explain.{function}", old, new)
    with planted(bug), pytest.raises(AssertionError):
        test_nobody_waits_for_the_end_of_a_rebalance_who_is_not_connected()
