"""A line about a group is found in whatever layout it stands, with its time."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner

from harness.logs_golden import AT, bare, events_of
from rota.cli.main import main
from rota.history import Event, Kind
from rota.logs.reader import Logs
from rota.logs.times import Times
from rota.reading import ReadingError

SENTENCE = "Stabilized group orders generation 4 with 3 members."
TAGGED = f"[GroupCoordinator id=1 topic=__consumer_offsets partition=7] {SENTENCE}"
LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
PLAIN = f"[2026-11-22 10:00:00,123] INFO {TAGGED} ({LOGGER})"
EXPECTED = {
    "source": "broker-log",
    "kind": "stabilized",
    "group": "orders",
    "generation": 4,
    "data": {"members": 3},
}

LAYOUTS = {
    "kafka's own": PLAIN,
    "iso time first": f"2026-11-22T10:00:00.123Z INFO  [event-processor-1] {LOGGER} - {TAGGED}",
    "spring boot": f"2026-11-22T11:00:00.123+01:00  INFO 1 --- [-C-1] o.a.k.c.g.Manager : {TAGGED}",
    "log4j date": f"22 Nov 2026 10:00:00,123 [main] INFO {LOGGER} - {TAGGED}",
    "slashes": f"2026/11/22 10:00:00.123 INFO {TAGGED}",
    "dots": f"22.11.2026 10:00:00,123 INFO {TAGGED}",
    "apache": f"[22/Nov/2026:10:00:00.123 +0000] {TAGGED}",
    "seconds": f"{AT} INFO {TAGGED}",
    "milliseconds": f"{int(AT * 1000)} INFO {TAGGED}",
    "kubectl --timestamps": f"2026-11-22T10:00:00.123000000Z {PLAIN}",
    "kubectl --prefix": f"[pod/kafka-0/kafka] {PLAIN}",
    "kubectl, both": f"[pod/kafka-0/kafka] 2026-11-22T10:00:00.123000000Z {PLAIN}",
    "kubectl, its clock": "2026-11-22T10:00:00.123000000Z " + PLAIN.replace("10:00:00", "13:00:00"),
    "docker compose": f"kafka-1  | {PLAIN}",
    "docker json-file": json.dumps(
        {"log": f"{PLAIN}\n", "stream": "stdout", "time": "2026-11-22T10:00:00.123Z"}
    ),
    "journald short": f"Nov 22 10:00:00.123000 host kafka[812]: INFO {TAGGED}",
    "journald short-iso": f"2026-11-22T10:00:00.123000+0000 host kafka[812]: INFO {TAGGED}",
    "journald json": json.dumps(
        {"MESSAGE": PLAIN, "__REALTIME_TIMESTAMP": str(int(AT * 1e6)), "_PID": "812"}
    ),
    "journald json, bytes": json.dumps(
        {"MESSAGE": list(PLAIN.encode()), "__REALTIME_TIMESTAMP": str(int(AT * 1e6))}
    ),
    "log4j JsonTemplateLayout": json.dumps(
        {
            "instant": {"epochSecond": int(AT), "nanoOfSecond": 123_000_000},
            "thread": "main",
            "level": "INFO",
            "loggerName": LOGGER,
            "message": TAGGED,
        }
    ),
    "ecs": json.dumps(
        {
            "@timestamp": "2026-11-22T10:00:00.123Z",
            "log.level": "INFO",
            "message": TAGGED,
            "ecs.version": "1.2.0",
        }
    ),
    "logstash": json.dumps(
        {
            "@timestamp": "2026-11-22T11:00:00.123+01:00",
            "level": "INFO",
            "logger_name": LOGGER,
            "message": TAGGED,
        }
    ),
    "json behind a prefix": "kafka-1  | " + json.dumps({"timeMillis": AT * 1000, "message": TAGGED}),
    "json, seconds": json.dumps({"ts": AT, "msg": TAGGED}),
    "colours": f"\x1b[32m[2026-11-22 10:00:00,123]\x1b[0m INFO {TAGGED} ({LOGGER})",
    "colours to the end": f"\x1b[32m[2026-11-22 10:00:00,123] INFO {TAGGED} (\x1b[35m{LOGGER}\x1b[0m)\x1b[0m",
    "colours in json": json.dumps({"log": f"\x1b[36m{PLAIN}\x1b[0m"}),
    "carriage return": f"{PLAIN}\r",
    "byte order mark": f"\ufeff{PLAIN}\r",
    "confluent's image": f"{PLAIN.partition(' (')[0]} (kafka.coordinator.group.GroupCoordinator)",
    "strimzi": f"2026-11-22 10:00:00,123 INFO  [group-coordinator-1] GroupMetadataManager:123 - {TAGGED}",
    "strimzi's own": f"2026-11-22 10:00:00,123 INFO {TAGGED} ({LOGGER}) [event-processor-0]",
    "kafka connect": f"[2026-11-22 10:00:00,123] INFO [sink|task-0] {TAGGED} ({LOGGER}:1093)",
    "the class's name first": f"2026-11-22 10:00:00,123 INFO  [GroupMetadataManager] {TAGGED}",
    "stern": f"my-cluster-kafka-0 kafka 2026-11-22T10:00:00.123000000Z {PLAIN}",
    "containerd": f"2026-11-22T10:00:00.123000000Z stdout F {PLAIN}",
    "syslog": f"<14>1 2026-11-22T11:00:00.123000+01:00 host kafka 812 - - {PLAIN}",
    "half an hour off": f"[2026-11-22T15:30:00.123+05:30] INFO {TAGGED}",
    "logcli": json.dumps({"labels": {}, "line": PLAIN, "timestamp": "2026-11-22T11:00:00.123+01:00"}),
    "vector": json.dumps({"host": "k", "message": TAGGED, "timestamp": "2026-11-22T10:00:00.123Z"}),
    "loki": json.dumps(
        {"data": {"result": [{"stream": {}, "values": [[f"{int(AT * 1000)}000000", TAGGED]]}]}}
    ),
    "elasticsearch": json.dumps(
        {"hits": {"hits": [{"_source": {"@timestamp": "2026-11-22T10:00:00.123Z", "message": TAGGED}}]}}
    ),
    "an array": json.dumps([{"textPayload": TAGGED, "timestamp": "2026-11-22T10:00:00.123Z"}]),
    "google cloud": json.dumps(
        {"jsonPayload": {"message": TAGGED, "level": "INFO"}, "timestamp": "2026-11-22T10:00:00.123Z"}
    ),
    "splunk": json.dumps({"result": {"_raw": TAGGED, "_time": "2026-11-22T11:00:00.123+01:00"}}),
    "over several lines": json.dumps({"events": [{"timestamp": 7, "message": PLAIN}]}, indent=2),
    "comma-separated": f'2026-11-22T10:00:00.123Z,kafka-1,"{PLAIN}"',
    "a hole": "\0" * 4096 + PLAIN,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_line_is_read_in_its_layout(layout: str, tmp_path: Path) -> None:
    (event,) = events_of([LAYOUTS[layout]], tmp_path, time_zone=UTC)
    assert bare(event) == EXPECTED
    assert event.at == pytest.approx(AT, abs=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_recognised(layout: str) -> None:
    assert Logs().recognises("any", f"Some banner\n{LAYOUTS[layout]}\n".encode())


@pytest.mark.parametrize("head", [b"", b"tea\n", b"\x00\x01[GroupCoordinator", b"a,b\n1,2\n", b"# Title\n"])
def test_what_is_no_log_is_not(head: bytes) -> None:
    assert not Logs().recognises("any", head)


def test_each_message_of_a_document_is_told_in_its_order_and_at_its_time(tmp_path: Path) -> None:
    hits = [
        {
            "_source": {
                "@timestamp": f"2026-11-22T10:00:0{second}Z",
                "message": TAGGED.replace("4", str(second)),
            }
        }
        for second in range(3)
    ]
    found = events_of([json.dumps({"hits": {"total": 3, "hits": hits}})], tmp_path)
    assert [(one.generation, one.at) for one in found] == [(n, int(AT) + n) for n in range(3)]
    values = [[f"{int(AT) + second}000000000", hit["_source"]["message"]] for second, hit in enumerate(hits)]
    assert [bare(one) for one in events_of([json.dumps([{"values": values}])], tmp_path)] == [
        *map(bare, found)
    ]


def test_a_log_in_which_nothing_is_about_groups_is_one() -> None:
    assert Logs().recognises("any", b"2026-11-22 10:00:00,123 INFO starting\n")


def moment(text: str, **settings: object) -> float | None:
    return Times(**settings).find(text)  # type: ignore[arg-type]


def test_a_time_without_a_zone_is_of_the_one_that_is_given() -> None:
    text = "[2026-11-22 10:00:00,123]"
    assert moment(text, zone=UTC) == AT
    assert moment(text, zone=timezone(timedelta(hours=2))) == AT - 7200
    assert moment("[2026-07-22 10:00:00]", zone=ZoneInfo("Europe/Berlin")) == 1784707200.0
    assert moment("[2026-11-22 10:00:00]", zone=ZoneInfo("Europe/Berlin")) == AT - 0.123 - 3600


def test_a_time_without_a_zone_is_of_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Etc/GMT-5")
    time.tzset()
    try:
        assert moment("[2026-11-22 10:00:00,123]") == AT - 5 * 3600
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("%d/%m/%Y %H:%M:%S,%f", "INFO 22/11/2026 10:00:00,123 main"),
        ("%m-%d-%y %I:%M:%S.%f %p", "11-22-26 10:00:00.123 AM"),
        ("%Y%m%dT%H%M%S.%f%z", "at 20261122T110000.123+0100"),
        ("%e %b %Y %H:%M:%S.%f", "22 Nov 2026 10:00:00.123000000"),
    ],
)
def test_the_format_of_times_can_be_given(given: str, text: str) -> None:
    assert moment(text, zone=UTC, given=given) == pytest.approx(AT)
    assert moment("no time", given=given) is None


@pytest.mark.parametrize("given", ["HH:mm:ss", "%Q"])
def test_what_is_no_format_of_times_is_told(given: str) -> None:
    with pytest.raises(ReadingError, match="write one as %d/%m/%Y"):
        moment("", given=given)


@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        ("Nov 22 10:00:00", "2026-11-23", "2026-11-22"),
        ("Nov 22 10:00:00", "2026-11-22", "2026-11-22"),
        ("Nov 22 10:00:00", "2027-03-01", "2026-11-22"),
        ("Dec 31 10:00:00", "2027-01-01", "2026-12-31"),
        ("Feb 29 10:00:00", "2027-01-01", "2024-02-29"),
    ],
)
def test_a_time_without_a_year_is_of_the_last_that_had_it(text: str, written: str, expected: str) -> None:
    at = moment(text, zone=UTC, written=datetime.fromisoformat(f"{written}T12:00+00:00").timestamp())
    assert at == datetime.fromisoformat(f"{expected}T10:00+00:00").timestamp()


@pytest.mark.parametrize(
    "text", ["", "2026-13-45 10:00:00", "Foo 22 10:00:00", "10:00:00", "Feb 30 10:00:00"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert moment(text, zone=UTC) is None


def test_the_layout_can_be_given(tmp_path: Path) -> None:
    line = "<Pending dynamic member c-1 joins group orders in state Stable: it is added> at 22-11-26 10"
    assert events_of([line], tmp_path) == []
    (event,) = events_of(
        [line], tmp_path, layout="<%m> at %d{dd-MM-yy HH}%n", time_zone=UTC, time_format="%d-%m-%y %H"
    )
    assert (event.kind, event.member, event.at) == (Kind.JOINED, "c-1", AT - 0.123)


def test_the_layout_that_is_given_says_where_a_marked_sentence_ends(tmp_path: Path) -> None:
    """As with the class's short name behind it."""
    line = f"[2026-11-22 10:00:00,123] INFO {TAGGED} (Manager) - main"
    (event,) = events_of([line], tmp_path, time_zone=UTC)
    assert event.kind is Kind.UNREAD
    (event,) = events_of([line], tmp_path, layout="[%d] %p %m (%c{1}) - %t%n", time_zone=UTC)
    assert bare(event) == EXPECTED
    assert event.at == pytest.approx(AT, abs=1e-6)


def test_a_client_in_kafka_connect_is_read(tmp_path: Path) -> None:
    line = (
        "[2026-11-22 10:00:00,123] INFO [sink|task-0] [Consumer clientId=connector-consumer-sink-0,"
        " groupId=connect-sink] Successfully joined group with generation Generation{generationId=7,"
        " memberId='c-1', protocol='range'}"
        " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:{})"
    )
    expected, found = events_of([line.replace(":{}", ""), line.replace("{})", "666)")], tmp_path)
    assert expected.kind is not Kind.UNREAD
    assert bare(found) == bare(expected)


@pytest.mark.parametrize("layout", ["[%d] %p %c", "%m %m"])
def test_what_is_no_layout_is_told(layout: str, tmp_path: Path) -> None:
    with pytest.raises(ReadingError, match="give log4j's, as"):
        events_of([PLAIN], tmp_path, layout=layout)


def test_a_line_without_a_time_is_told_without_one(tmp_path: Path) -> None:
    (event,) = events_of([TAGGED], tmp_path)
    assert event.at is None


def test_lines_whose_time_is_not_found_are_counted_and_what_helps_is_told(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    line = PLAIN.replace("2026-11-22 10:00:00,123", "11/22/2026 10:00:00,123")
    path.write_text(f"{line}\n{line}\n{PLAIN.replace('Stabilized', 'Settled')}\n")
    told = (
        f"; 1 line about groups that rota does not know; 2 lines whose time is not found (first at {path}:1):"
        " name its format with --time-format "
    )
    for verb in ("explain", "validate"):
        said = CliRunner().invoke(main, [verb, str(path)]).stdout
        assert told in " ".join(said.split())
        given = CliRunner().invoke(main, [verb, str(path), "--time-format", "%m/%d/%Y %H:%M:%S,%f"]).stdout
        assert "; 1 line whose time is not found" in " ".join(given.split())


def unread(lines: list[str], tmp_path: Path) -> list[Event]:
    return [one for one in events_of(lines, tmp_path) if one.kind is Kind.UNREAD]


def test_what_is_about_groups_and_unknown_is_told_as_unread(tmp_path: Path) -> None:
    lines = [
        PLAIN.replace("Stabilized", "Unsettled"),
        PLAIN.replace("3 members.", "3 cups of tea."),
        "[2026-11-22 10:00] WARN [Consumer clientId=c, groupId=orders] The rebalance ended badly (x.y)",
        '%7|1795341600.123|TEA|c#consumer-1| [thrd:main]: Group "orders": has gone out for tea',
    ]
    found = unread(lines, tmp_path)
    assert [one.origin for one in found] == [f"server.log:{number}" for number in (1, 2, 3, 4)]
    assert found[0].data["text"] == SENTENCE.replace("Stabilized", "Unsettled")
    assert [(one.group, one.client) for one in found[2:]] == [("orders", "c"), ("orders", "c")]


def test_what_is_not_about_groups_is_not_told(tmp_path: Path) -> None:
    lines = [
        "[2026-11-22 10:00:00,123] INFO [Log partition=orders-0] Rolled new log segment (kafka.log.Log)",
        "[2026-11-22 10:00:00,123] INFO [share-group-reaper]: Starting (x.y.Reaper)",
        "[2026-11-22 10:00:00,123] INFO [Consumer clientId=c, groupId=orders] Fetch position is 17 (x.y)",
        "\tgroup.max.size = 4",
        "    at kafka.coordinator.group.GroupCoordinator.doJoin(GroupCoordinator.scala:1)",
        '{"message": 7, "group": "orders"}',
        '{"group": broken}',
        '%7|1795341600.123|CGRPJOINSTATE|c#consumer-1| [thrd:main]: Group "orders" changed join state a -> b',
    ]
    assert events_of(lines, tmp_path) == []
