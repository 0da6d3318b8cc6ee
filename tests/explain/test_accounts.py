"""Events to rebalances: what is told of one, what is left untold, and what is kept meanwhile."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.logs_golden import PROGRAMS, events_of, golden
from harness.nights import CLOSED, LATE, START, Night, day_of_log, explained, member, rebalances, told
from rota.explain.diagnosis import Diagnosis
from rota.explain.rebalance import Ending, Rebalance, client_of, short
from rota.explain.worst import Explainer, Wanted
from rota.history import Kind, Source

A, B, C = (member("worker", number) for number in range(1, 4))


def test_a_rebalance_is_told_from_its_beginning_to_its_assignment() -> None:
    night = Night().come(0, A, 0, 1, took=3, state="Empty").fail(60, A, 1, 1, took=10)
    _, one = rebalances(night)
    assert (one.trigger.rule, one.who, one.ending) == ("timers.session-expired", A, Ending.ASSIGNED)
    assert (one.from_generation, one.to_generation) == (1, 2)
    assert (one.members_before, one.members_after) == (1, 1)
    assert one.seconds == pytest.approx(10.05)
    assert [event.kind for event in one.events][:2] == [Kind.FAILED, Kind.PREPARING]


def test_what_the_log_begins_in_the_midst_of_has_no_beginning() -> None:
    (one,) = rebalances(Night().settle(5, 7, 3))
    assert (one.began, one.seconds, one.from_generation, one.to_generation) == (None, None, 6, 7)
    sentence = told(Night().settle(5, 7, 3)).headline
    assert "for how long group orders had no assignment is not visible in this source" in sentence


@pytest.mark.parametrize("program", ["kafka_java", "kafka_scala"])
def test_members_of_a_group_that_was_just_formed_are_its_first(program: str, tmp_path: Path) -> None:
    (formed,) = (one for one in golden() if one.program == program and "old generation 0" in one.sentence)
    (line,) = events_of([PROGRAMS[program].line(formed.sentence)], tmp_path, time_zone=UTC)
    (one,) = explained([line]).incidents
    assert (one.cause.name, one.who) == ("first-members", ("consumer-1-7b20c3f4",))
    goes_on = replace(line, generation=1)
    assert [one.cause.name for one in explained([goes_on]).incidents] == ["came"]


@pytest.mark.parametrize("ahead", [0.0, 0.02], ids=["at the same moment", "by a clock that is ahead"])
def test_a_client_that_says_first_that_it_has_joined_begins_no_other_rebalance(ahead: float) -> None:
    """Logs tell thousandths, and of one thousandth the lines come in any order of the sources."""
    client = Source.CLIENT_LOG
    night = Night().say(0, Kind.FAILED, B).prepare(0, 1, f"removing member {B} on heartbeat expiration.")
    night.say(1, Kind.JOINING, A, source=client)
    night.say(2 - ahead, Kind.WAS_JOINED, A, source=client, generation=2).settle(2, 2, 1)
    night.say(2.1, Kind.SYNCED, A, source=client, generation=2)
    (one,) = rebalances(night)
    assert (one.ending, one.from_generation, one.to_generation) == (Ending.ASSIGNED, 1, 2)
    assert "in 2 rebalances" not in told(night).headline
    first, second = rebalances(night.prepare(3, 2, "").settle(4, 3, 1))
    assert (first.to_generation, second.to_generation) == (2, 3)


def test_a_join_phase_that_ends_with_another_generation_than_a_client_said_is_another() -> None:
    night = Night().prepare(0, 1, "").say(1, Kind.WAS_JOINED, A, source=Source.CLIENT_LOG, generation=2)
    first, second = rebalances(night.settle(2, 3, 1))
    assert (first.ending, first.to_generation, second.to_generation) == (Ending.OVERTAKEN, 2, 3)


def test_an_assignment_alone_is_no_rebalance() -> None:
    night = Night().say(0, Kind.ASSIGNMENT, A, generation=3, data={"members": 2})
    assert rebalances(night) == []


def test_a_rebalance_that_another_overtakes_has_no_assignment() -> None:
    night = Night().prepare(0, 1, "").say(1, Kind.STABILIZED, generation=2, data={"members": 2})
    night.fail(3, A, 2, 1)
    first, second = rebalances(night)
    assert (first.ending, first.seconds) == (Ending.OVERTAKEN, 3)
    assert second.ending is Ending.ASSIGNED
    assert second.events[0].kind is Kind.FAILED
    assert told(night).incident.number == 2


def test_of_several_rebalances_some_of_which_show_no_length_it_is_told_at_least() -> None:
    """Where what shows is next to nothing, nothing is told of it: "at least less than" says nothing."""
    for took, words in ((1.0, "had no assignment for at least 1."), (0.0, "is not visible in this source")):
        one = told(Night().fail(0, A, 1, 2, took=took))
        one.incident.number, one.incident.untimed = 2, 1
        assert words in one.cost
        assert "at least less" not in one.cost


def test_a_group_that_is_left_by_all_is_empty() -> None:
    night = Night().say(0, Kind.LEFT, A, reason=CLOSED).prepare(0, 1, "explicit `LeaveGroup` request for (x)")
    (one,) = rebalances(night.say(0.1, Kind.EMPTY, generation=2))
    assert one.ending is Ending.EMPTY
    assert "left the group empty" in " ".join(_account(one))


def test_what_has_not_ended_goes_on_until_the_source_ends() -> None:
    night = Night().prepare(0, 1, f"removing member {A} on heartbeat expiration.")
    night.say(312, Kind.JOINED, C, group="other")
    (one,) = rebalances(night)
    assert (one.ending, one.seconds) == (Ending.OPEN, 312)
    assert "has had no assignment for 312 s (5 min) where the source ends" in _first(night).headline


def test_members_that_did_not_come_were_waited_for_in_vain() -> None:
    night = Night().prepare(0, 1, "").say(60, Kind.NOT_REJOINED, A).settle(60, 2, 1)
    (one,) = rebalances(night)
    assert one.waiting == (A,)
    assert f"it waited in vain for {short(A)}" in list(_account(one))


def test_old_news_of_a_member_is_not_what_began_a_rebalance() -> None:
    night = Night().say(0, Kind.LEFT, A, reason=LATE).prepare(30, 1, "").settle(31, 2, 1)
    (one,) = rebalances(night)
    assert one.events[0].kind is Kind.PREPARING


def test_a_session_timeout_on_record_is_what_a_lost_member_cost_before() -> None:
    listed = [{"member": A, "instance": "", "session_ms": 45_000, "rebalance_ms": 60_000}]
    night = Night().say(
        -5, Kind.GROUP_STORED, A, source=Source.OFFSETS, generation=1, data={"members": listed}
    )
    one = _first(night.fail(0, A, 1, 1))
    assert "up to 45.0 s, its session timeout" in one.headline
    assert "which this source does not tell" not in one.before
    untold = _first(Night().fail(0, A, 1, 1))
    assert "which this source does not tell" in untold.before


def test_records_alone_tell_who_is_gone_and_nothing_of_when() -> None:
    night = Night(source=Source.OFFSETS)
    for number, members in enumerate(([A, B], [A]), 1):
        listed = [{"member": one, "instance": ""} for one in members]
        night.say(number * 300, Kind.GROUP_STORED, A, generation=number, data={"members": listed})
    one = explained(night.events).incidents[-1]
    assert (one.cause.name, one.who) == ("gone", (short(B),))
    assert "when it began and why" in one.not_visible
    assert "not visible in this source" in one.headline


# ---- clients beside the broker


def _with_clients() -> Night:
    """A broker's log and two clients' of one rebalance: one comes late, orders-1 has nobody for 9 s."""
    one, two = (
        {"source": Source.CLIENT_LOG, "client": name, "origin": f"{name}.log:1"} for name in ("a", "b")
    )
    night = Night().prepare(0, 1, f"Updating metadata for member {B} during Stable; client reason: x")
    night.say(0.1, Kind.JOINING, B, **two)
    night.say(1, Kind.REBALANCE_TOLD, A, **one)
    night.say(1, Kind.REVOKED, A, data={"partitions": ["orders-1"]}, **one)
    night.say(9, Kind.JOINING, A, **one)
    night.say(9.1, Kind.STABILIZED, generation=2, data={"members": 2})
    night.say(9.1, Kind.WAS_JOINED, A, generation=2, **one).say(9.1, Kind.WAS_JOINED, B, generation=2, **two)
    night.say(9.2, Kind.ASSIGNMENT, A, generation=2, data={"members": 2})
    night.say(10, Kind.SYNCED, A, generation=2, data={"partitions": ["orders-0"]}, **one)
    return night.say(10, Kind.SYNCED, B, generation=2, data={"partitions": ["orders-1"]}, **two)


def test_clients_tell_who_was_last_and_which_partition_had_nobody() -> None:
    (one,) = rebalances(_with_clients())
    assert (one.last, dict(one.gaps)) == (A, {"orders-1": 9})
    assert one.seconds == pytest.approx(9.2)
    diagnosis = _first(_with_clients())
    assert [what for what in diagnosis.not_visible if "last to join" in what] == []


def test_clients_alone_tell_a_rebalance_too() -> None:
    night = _with_clients()
    night.events = [event for event in night.events if event.source is Source.CLIENT_LOG]
    (one,) = rebalances(night)
    assert (one.ending, one.last, one.to_generation, dict(one.gaps)) == (
        Ending.ASSIGNED,
        A,
        2,
        {"orders-1": 9},
    )


def test_what_a_client_says_later_belongs_to_no_rebalance_that_is_over() -> None:
    night = _with_clients()
    night.events = [event for event in night.events if event.kind is not Kind.SYNCED]
    night.say(20, Kind.POLL_LATE, A, source=Source.CLIENT_LOG, client="a", origin="a.log:9")
    night.leave(20.1, A, 2, 1, reason="client reason: not provided")
    assert [one.cause.name for one in explained(night.events).incidents] == ["rejoined-changed", "slow-poll"]


# ---- incidents


def test_what_comes_long_after_is_another_story() -> None:
    night = Night().leave(0, A, 1, 1).leave(600, B, 2, 0)
    assert len(explained(night.events).incidents) == 2


def test_who_comes_later_is_no_first_member() -> None:
    night = Night().come(0, A, 0, 1, state="Empty").come(2, B, 1, 2).come(8, C, 2, 3)
    first, later = explained(night.events).incidents
    assert (first.cause.name, first.who) == ("first-members", (short(A),))
    assert (later.cause.name, later.who) == ("came", (short(B), short(C)))


def test_a_crash_after_a_start_is_another_story() -> None:
    night = Night().come(0, A, 0, 1, state="Empty").fail(20, A, 1, 0)
    assert [one.cause.name for one in explained(night.events).incidents] == ["first-members", "lost-client"]


def test_only_what_is_asked_for_is_told() -> None:
    night = Night().fail(0, A, 1, 1).fail(1000, B, 2, 0)
    assert len(explained(night.events, since=START + 500).incidents) == 1
    assert len(explained(night.events, until=START + 500).incidents) == 1
    assert explained(night.events, groups=frozenset({"others"})).incidents == []


def test_the_first_sentence_is_of_what_cost_most_and_routine_comes_last() -> None:
    night = (
        Night()
        .come(0, A, 0, 1, took=50, state="Empty")
        .leave(300, A, 1, 0, took=2)
        .fail(900, B, 2, 0, took=1)
    )
    first = explained(night.events).first
    assert first is not None
    assert first.cause.name == "lost-client"  # its session counts too, though nobody tells how long that is


def test_incidents_that_cost_less_are_counted() -> None:
    night = Night()
    for number in range(5):
        night.fail(number * 1000, member("c", number), number, 1, took=number + 1)
    found = explained(night.events, most=2)
    assert [one.incident.seconds for one in found.incidents] == pytest.approx([4.05, 5.05])
    assert found.left_out == 3
    assert found.rebalances == 5


# ---- what is kept


def _kept(explainer: Explainer) -> int:
    return explainer.accounts.alive + explainer.incidents.kept


def test_what_is_kept_goes_by_live_groups_and_not_by_lines() -> None:
    explainer = Explainer(Wanted(), 10)
    most, lines = 0, 0
    for event in day_of_log(groups=3_000, every=20.0):
        explainer.take(event)
        most, lines = max(most, _kept(explainer)), lines + 1
    assert lines == 3_000 * 8
    assert most < 600  # those of the last hour, their incidents, and one look at the old ones
    found = explainer.done()
    assert (found.rebalances, len(found.incidents), len(found.groups)) == (6_000, 10, 3_000)


def test_a_group_that_rebalances_all_day_keeps_no_more_than_one_that_does_once() -> None:
    explainer = Explainer(Wanted(), 10)
    for number in range(2_000):
        for event in Night().fail(number * 30.0, member("c", number), number, 1).events:
            explainer.take(event)
    (one,) = explainer.done().incidents
    assert one.incident.number == 2_000
    assert len(one.incident.told) <= 16
    assert all(len(named) <= 200 for named in one.incident.seen.members.values())


def test_a_rebalance_of_many_members_keeps_few_events() -> None:
    night = Night().prepare(0, 1, "")
    for number in range(500):
        night.say(1, Kind.NOT_REJOINED, member("c", number))
    (one,) = rebalances(night.settle(2, 2, 1))
    assert len(one.events) + one.unkept == 503
    assert len(one.events) == 40


def test_the_worst_groups_are_kept_of_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.explain.worst.MOST_GROUPS", 10)
    explainer = Explainer(Wanted(), 5)
    for number in range(40):
        night = Night(f"g{number}").fail(number * 1000.0, A, 1, 1, took=40 if number == 7 else 1)
        for event in night.events:
            explainer.take(event)
    found = explainer.done()
    assert len(found.groups) + found.more_groups == 40
    assert len(found.groups) <= 10
    assert found.groups[0].group == "g7"


def test_member_ids_are_shortened_where_people_read_them() -> None:
    assert short(A) == "worker-00000001…"
    assert client_of(A) == "worker"
    assert short("no-uuid") == client_of("no-uuid") == "no-uuid"


def _first(night: Night) -> Diagnosis:
    found = explained(night.events).first
    assert found is not None
    return found


def _account(one: Rebalance) -> list[str]:
    from rota.explain.diagnosis import account

    return list(account(one))
