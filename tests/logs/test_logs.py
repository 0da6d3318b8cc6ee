"""What lines of one client leave out is known from those before; settings, lists and sources of logs."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest
from bench.logs import made, measured

from harness.logs_golden import events_of
from rota.history import Event, Kind, Source
from rota.logs.events import instance_of, listed_in
from rota.logs.patterns import Pattern, Table
from rota.reading import ReadOptions, Tally, read

TIME = "2026-11-22 10:00:00,123"


def java(sentence: str, client: str = "c-1", group: str = "orders") -> str:
    return f"[2026-11-22 10:00:00,123] INFO [Consumer clientId={client}, groupId={group}] {sentence} (a.b.C)"


def generation(number: int, member: str) -> str:
    return f"Generation{{generationId={number}, memberId='{member}', protocol='range'}}"


def rdkafka(mark: str, rest: str, handle: str = "c-1#consumer-1") -> str:
    return f"%7|1795341600.123|{mark}|{handle}| [thrd:main]: {rest}"


def only(events: list[Event], kind: Kind) -> Event:
    (found,) = (one for one in events if one.kind is kind)
    return found


def test_a_java_consumer_says_once_why_it_joins(tmp_path: Path) -> None:
    lines = [
        java("Request joining group due to: cached metadata has changed"),
        java("Request joining group due to: group is already rebalancing", client="c-2"),
        java("(Re-)joining group"),
        java("(Re-)joining group", client="c-2"),
        java("(Re-)joining group"),
    ]
    joining = [one for one in events_of(lines, tmp_path) if one.kind is Kind.JOINING]
    assert [(one.client, one.reason) for one in joining] == [
        ("c-1", "cached metadata has changed"),
        ("c-2", "group is already rebalancing"),
        ("c-1", ""),
    ]


def test_a_java_consumer_is_known_by_the_member_id_it_was_told(tmp_path: Path) -> None:
    lines = [
        java(f"Successfully joined group with generation {generation(4, 'c-1-aa')}"),
        java(f"Successfully joined group with generation {generation(9, 'c-1-bb')}", group="payments"),
        java("Notifying assignor about the new Assignment(partitions=[orders-in-0])"),
        java("Revoke previously assigned partitions [orders-in-0]"),
        java(
            "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
        ),
        java("Lost previously assigned partitions [orders-in-0]"),
        java("(Re-)joining group"),
    ]
    events = events_of(lines, tmp_path)
    assert only(events, Kind.SYNCED).generation == 4
    told = (Kind.SYNCED, Kind.REVOKED, Kind.LOST, Kind.JOINING)
    assert [only(events, kind).member for kind in told] == ["c-1-aa", "c-1-aa", "c-1-aa", ""]


def test_a_static_java_consumer_is_known_by_its_instance(tmp_path: Path) -> None:
    line = java("(Re-)joining group").replace("[Consumer ", "[Consumer instanceId=till-3, ")
    (event,) = events_of([line], tmp_path)
    assert (event.instance, event.client, event.group) == ("till-3", "c-1", "orders")


SETTINGS = """\
[2026-11-22 10:00:00,123] INFO ConsumerConfig values:
\tallow.auto.create.topics = true
\tclient.id = c-1
\tgroup.id = orders
\tgroup.instance.id = null
\tmax.poll.interval.ms = 300000
\tsasl.jaas.config = [hidden]
\tsession.timeout.ms = 45000
"""


@pytest.mark.parametrize("prefix", ["", "kafka-1  | ", "2026-11-22T10:00:00.123000000Z "])
@pytest.mark.parametrize("rest", ["", " (org.apache.kafka.clients.consumer.ConsumerConfig)\n"])
def test_the_settings_of_a_java_consumer_are_told(prefix: str, rest: str, tmp_path: Path) -> None:
    lines = [prefix + line for line in (SETTINGS + rest + java("(Re-)joining group")).splitlines()]
    started, joining = events_of(lines, tmp_path, time_zone=UTC)
    assert joining.kind is Kind.JOINING
    assert (started.kind, started.group, started.client, started.instance, started.at) == (
        Kind.CLIENT_STARTED,
        "orders",
        "c-1",
        "",
        1795341600.123,
    )
    assert started.data["settings"] == {
        "client.id": "c-1",
        "group.id": "orders",
        "group.instance.id": "null",
        "max.poll.interval.ms": "300000",
        "session.timeout.ms": "45000",
    }


def test_settings_that_end_the_log_are_told_too(tmp_path: Path) -> None:
    assert [one.kind for one in events_of(SETTINGS.splitlines(), tmp_path)] == [Kind.CLIENT_STARTED]


def test_the_settings_in_a_message_of_json_are_told(tmp_path: Path) -> None:
    message = SETTINGS.partition("INFO ")[2]
    line = json.dumps({"@timestamp": "2026-11-22T10:00:00.123Z", "level": "INFO", "message": message})
    (started,) = events_of([line], tmp_path)
    assert started.group == "orders"


def test_a_java_consumer_that_was_closed_is_told(tmp_path: Path) -> None:
    closed = "[2026-11-22 10:00:00,123] INFO App info kafka.consumer for c-1 unregistered (x.AppInfoParser)"
    events = events_of(
        [java("(Re-)joining group"), java("(Re-)joining group", client="c-2"), closed], tmp_path
    )
    assert (events[-1].kind, events[-1].client, events[-1].group) == (Kind.CLIENT_CLOSED, "c-1", "orders")
    assert len(events) == 3
    assert events_of([closed], tmp_path) == []


def test_what_librdkafka_leaves_out_is_known_from_lines_before(tmp_path: Path) -> None:
    lines = [
        rdkafka("JOIN", 'h:1/1: Joining group "orders" with 1 subscribed topic(s) and member id "m-1"'),
        rdkafka(
            "JOINGROUP",
            "JoinGroup response: GenerationId 4, Protocol range, LeaderId m-2, my MemberId m-1, member"
            " metadata count 0: (no error)",
        ),
        rdkafka("GRPASSIGNMENT", "List with 2 partition(s):"),
        rdkafka("GRPASSIGNMENT", " orders in [0] offset INVALID"),
        rdkafka("GRPASSIGNMENT", " orders in [11] offset INVALID"),
        rdkafka(
            "MAXPOLL",
            "Application maximum poll interval (8000ms) exceeded by 99ms (adjust max.poll.interval.ms for"
            " long-running message processing): leaving group",
        ),
        rdkafka("MEMBERID", 'Group "orders": updating member id "m-1" -> ""'),
        rdkafka("LEAVE", 'Group "orders": leave (in state up)'),
        rdkafka(
            "ASSIGN", 'Group "orders": delegating revoke of 2 partition(s) to application on queue q: late'
        ),
        rdkafka("JOIN", 'h:1/1: Joining group "orders" with 1 subscribed topic(s) and member id ""'),
    ]
    events = events_of(lines, tmp_path)
    assert {one.group for one in events} == {"orders"}
    assert {one.client for one in events} == {"c-1"}
    assert {one.source for one in events} == {Source.CLIENT_LOG}
    joined, synced = only(events, Kind.WAS_JOINED), only(events, Kind.SYNCED)
    assert (joined.generation, joined.member, joined.data["leader"]) == (4, "m-1", False)
    assert (synced.generation, synced.data["partitions"]) == (4, ["orders in-0", "orders in-11"])
    assert only(events, Kind.POLL_LATE).member == only(events, Kind.LEAVING).member == "m-1"
    assert only(events, Kind.REVOKED).data["partitions"] == ["orders in-0", "orders in-11"]
    assert events[-1].member == ""


def test_an_empty_assignment_is_one_too(tmp_path: Path) -> None:
    (event,) = events_of([rdkafka("GRPASSIGNMENT", "List with 0 partition(s):")], tmp_path)
    assert (event.kind, event.data["partitions"]) == (Kind.SYNCED, [])


def test_two_clients_of_librdkafka_are_kept_apart(tmp_path: Path) -> None:
    lines = [
        rdkafka("LEAVE", 'Group "orders": leave (in state up)', "a#consumer-1"),
        rdkafka("LEAVE", 'Group "payments": leave (in state up)', "a#consumer-2"),
        rdkafka(
            "CGRP",
            "Heartbeat failed due to coordinator (x) no longer available: y: re-querying for coordinator",
        ),
        rdkafka(
            "LEAVE",
            "SyncGroup response: Broker: Unknown member (0 bytes of MemberState data)",
            "a#consumer-2",
        ),
    ]
    assert [one.group for one in events_of(lines, tmp_path)] == ["orders", "payments", "", "payments"]


def test_a_connection_to_the_coordinator_that_broke_is_told(tmp_path: Path) -> None:
    rest = "GroupCoordinator: kafka-2:9092: Disconnected (after 12345ms in state UP)"
    lines = [rdkafka("FAIL", rest), rdkafka("FAIL", rest.replace("GroupCoordinator", "kafka-1:9092"))]
    (event,) = events_of(lines, tmp_path)
    assert event.kind is Kind.DISCONNECTED


def test_librdkafka_is_read_through_a_logger_of_python(tmp_path: Path) -> None:
    line = f'{TIME} DEBUG LEAVE [c-1#consumer-1] [thrd:main]: Group "orders": leave (in state up)'
    (event,) = events_of([line], tmp_path, time_zone=UTC)
    assert (event.kind, event.client, event.at) == (Kind.LEAVING, "c-1", 1795341600.123)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Set(a, b)", ["a", "b"]),
        ("HashSet(a)", ["a"]),
        ("Set()", []),
        ("List(a, b)", ["a", "b"]),
        ("[a, b]", ["a", "b"]),
        ("(a)", ["a"]),
        ("a", ["a"]),
        ("a, b and 3 more", ["a", "b"]),
        ("", []),
    ],
)
def test_lists_are_read_as_each_language_prints_them(text: str, expected: list[str]) -> None:
    assert listed_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("None", ""), ("null", ""), ("Optional.empty", ""), ("Some(a)", "a"), ("Optional[a]", "a"), ("a", "a")],
)
def test_instances_are_read_as_each_language_prints_them(text: str, expected: str) -> None:
    assert instance_of(text) == expected


def test_a_table_wants_sentences_that_begin_with_a_word() -> None:
    with pytest.raises(ValueError, match=r"the first word of a sentence is to stand fast: {member} left"):
        Table([Pattern("{member} left", None, "", "")])


def test_text_that_people_chose_is_no_pattern(tmp_path: Path) -> None:
    group = "a.*(b) [c] {d} with 3 members"
    line = f"[{TIME}] INFO [GroupCoordinator 1]: Group {group} is dead, skipping rebalance stage (a.b.C)"
    assert events_of([line], tmp_path) == []
    line = line.replace(
        "is dead, skipping rebalance stage", "could not complete rebalance because no members rejoined"
    )
    (event,) = events_of([line], tmp_path)
    assert event.group == group


def test_brokers_logs_are_merged_whatever_they_are_called(tmp_path: Path) -> None:
    for broker in (1, 2):
        (tmp_path / f"kafka-{broker}").mkdir()
        for hour in (9, 10):
            name = "server.log" if hour == 10 else "server.log.2026-11-22-09"
            lines = (
                f"[2026-11-22 {hour:02}:0{broker}:0{second},000] INFO [GroupCoordinator {broker}]: Stabilized"
                f" group g-{broker} generation {hour} (__consumer_offsets-0) with 1 members (a.b.C)\n"
                for second in range(3)
            )
            (tmp_path / f"kafka-{broker}" / name).write_text("".join(lines), encoding="utf-8")
    events = list(read([str(tmp_path)], options=ReadOptions(time_zone=UTC)))
    assert [(one.generation, one.group) for one in events] == [
        (hour, f"g-{broker}") for hour in (9, 10) for broker in (1, 2) for _ in range(3)
    ]


def test_the_day_of_the_bench_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("".join(made(2000, 25)), encoding="utf-8")
    about = sum("[GroupCoordinator" in line for line in path.read_text(encoding="utf-8").splitlines())
    assert measured(path)[1] == about > 400
    tally = Tally()
    assert len(list(read([str(path)], tally=tally))) == about
