"""`rota explain` as people call it: what it prints, writes and ends with."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.nights import LATE, Night, member
from rota.cli.main import main
from rota.conformance.connections.connection import Connection, SentRequest
from rota.explain.watching import Asker, Described, Unasked, Watched
from rota.history import Kind, Source, line_of
from rota.server import controlled

A, B = member("worker", 1), member("worker", 2)


def called(*words: str) -> Result:
    return CliRunner().invoke(main, ["explain", *words], catch_exceptions=False)


def ended(*words: str) -> tuple[int, str, str]:
    """The exit code, and both streams."""
    from rota.cli.errors import UsageError

    try:
        result = called(*words)
    except UsageError as error:
        return error.exit_code, "", error.message
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A night of two groups."""
    night = Night().come(0, A, 0, 1, took=3, state="Empty").leave(300, A, 1, 0, reason=LATE, took=2)
    other = Night("billing").fail(100, B, 4, 2, took=9)
    path = tmp_path / "night.jsonl"
    events = sorted([*night.events, *other.events], key=lambda one: one.at or 0.0)
    path.write_text("".join(f"{line_of(event)}\n" for event in events))
    return path


def test_the_first_line_names_cause_member_and_seconds(log: Path) -> None:
    code, out, _ = ended(str(log))
    assert code == 0
    assert out.startswith("Lost client: the broker heard nothing of worker-00000002…")
    assert "had no assignment for 9.0 s" in " ".join(out.split())
    assert out.splitlines()[-1] == "explained: 3 rebalances of 2 groups, 14.1 s without an assignment"
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("billing  ", "orders  "))]
    assert rows == ["billing", "orders"]


def test_seconds_that_no_source_shows_are_none(tmp_path: Path) -> None:
    """As of a group's records, which say who was in each generation and no more."""
    night = Night(source=Source.OFFSETS)
    for at, generation, members in ((0, 1, [A]), (100, 2, [A, B])):
        listed = [
            {"member": one, "instance": "", "session_ms": 45_000, "rebalance_ms": 300_000} for one in members
        ]
        night.say(at, Kind.GROUP_STORED, A, generation=generation, data={"members": listed})
    path = tmp_path / "night.jsonl"
    path.write_text("".join(f"{line_of(event)}\n" for event in night.events))
    _, out, _ = ended(str(path))
    assert out.splitlines()[-1].endswith("; how long there was no assignment is not visible")
    (row,) = (line.split() for line in out.splitlines() if line.startswith("orders  "))
    assert row[3] == "?"
    told = json.loads(ended(str(path), "--json")[1])
    assert (told["seconds"], told["groups"][0]["seconds"]) == (None, None)


def test_a_group_is_told_alone(log: Path) -> None:
    code, out, _ = ended(str(log), "--group", "orders")
    assert code == 0
    assert out.startswith("Slow poll: ")
    assert "billing" not in out


def test_quiet_is_two_lines(log: Path) -> None:
    _, out, _ = ended(str(log), "--quiet")
    assert [line.partition(":")[0] for line in out.splitlines()] == ["Lost client", "explained"]


def test_json_is_one_object_with_all_of_it(log: Path) -> None:
    code, out, _ = ended(str(log), "--json")
    found = json.loads(out)
    assert (code, found["schema"], found["verdict"], found["rebalances"]) == (0, 1, "explained", 3)
    assert [one["cause"] for one in found["incidents"]] == ["first-members", "lost-client", "slow-poll"]
    assert {one["group"] for one in found["groups"]} == {"orders", "billing"}
    slow = found["incidents"][-1]
    assert slow["members"] == ["worker-00000001…"]
    assert slow["accounts"][0]["rule"] == "leave.member"
    assert {"setting", "words"} == set(slow["change"][0])
    assert slow["rests_on"][0]["kind"] == "member-left"


def test_nothing_about_groups_is_5_and_says_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(
        "[2026-11-23 03:00:00,000] INFO [KafkaServer id=0] started (kafka.server.KafkaServer)\n" * 5
    )
    code, _, err = ended(str(path), "--format", "log")
    assert code == 5
    assert "nothing about groups was found in" in err
    assert str(path) in err


def test_a_group_that_is_misspelt_is_5_and_names_the_one_that_is_meant(log: Path) -> None:
    code, _, err = ended(str(log), "--group", "ordesr")
    assert code == 5
    assert "did you mean orders?" in err


def test_no_rebalance_in_that_time_is_told_as_such(log: Path) -> None:
    code, out, _ = ended(str(log), "--since", "2030-01-01", "--time-zone", "UTC")
    assert code == 0
    asked = "No rebalance in the time that was asked for; 3 rebalances at other times"
    assert " ".join(out.split()).startswith(
        f"{asked}; the last that is told of any group is of 2023-11-14 22:18:22 (UTC)."
    )
    code, out, _ = ended(str(log), "--until", "2023-01-01")
    assert code == 0
    assert out.startswith(f"{asked}.")
    _, out, _ = ended(str(log), "--since", "2023-11-14T22:16:00+00:00", "--group", "billing")
    assert " ".join(out.split()).startswith(
        "No rebalance in the time that was asked for; 1 rebalance at other times."
    ), "of other groups something is told later"


def test_a_group_that_kept_its_generation_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    path.write_text(f"{line_of(Night().say(0, Kind.JOINED, A).events[0])}\n")
    code, out, _ = ended(str(path))
    assert code == 0
    assert out.startswith("No rebalance: groups were seen, and each kept its generation.")


@pytest.mark.parametrize(
    ("zone", "given", "words", "shown"),
    [
        ("Etc/GMT-2", (), "+02", "2026-11-23 03:00:04"),
        ("Etc/GMT-2", ("--time-zone", "UTC"), "UTC", "2026-11-23 03:00:04"),
        ("UTC", (), "UTC", "2026-11-23 03:00:04"),
    ],
)
def test_times_are_those_of_the_log(
    zone: str, given: tuple[str, ...], words: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown as the log has them, and asked for so, whatever the machine's zone is."""
    path = tmp_path / "server.log"
    path.write_text(
        "".join(f"[2026-11-23 03:00:0{at},000] INFO [GroupCoordinator id=1] {told}\n" for at, told in LINES)
    )
    page = tmp_path / "page.html"
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        span = ("--since", "2026-11-23T02:59", "--until", "2026-11-23T03:01")
        code, out, _ = ended(str(path), *span, *given, "--report", f"html={page}")
        missed, _, said = validated(str(path), *span[:2], *given)
        outside, _, when = validated(str(path), "--since", "2026-11-23T03:01", *given)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert code == 0
    assert shown in out
    assert f"times: {words}" in out
    assert {shown, "03:00:01", words} <= {*re.findall(r"[^<>,]+", page.read_text())}
    assert (missed, said) == (0, "")
    assert outside == 5
    assert f"from 2026-11-23 03:00:01 to {shown} ({words}" in when


LINES = (
    (1, "Preparing to rebalance group orders in state Stable with old generation 6 (reason: r)."),
    (4, "Stabilized group orders generation 7 with 2 members."),
)


def validated(*words: str) -> tuple[int, str, str]:
    """The same of `rota validate`."""
    result = CliRunner().invoke(main, ["validate", *words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_a_group_that_validate_is_asked_for_and_is_not_there_is_told_with_those_that_are(log: Path) -> None:
    code, _, said = validated(str(log), "--group", "ordesr")
    assert code == 5
    assert "nothing about ordesr in" in said
    assert "did you mean orders? there are billing, orders" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to read; give the paths"),
        (["LOG", "--since", "yesterday"], "is no moment; write 2026-11-23T03:00"),
        (["LOG", "--since", "2030-01-01", "--until", "2029-01-01"], "--since is later than --until"),
        (["LOG", "--report", "pdf=x"], "write html=PATH"),
        (["LOG", "--skew", "LOG"], "write PATH=SECONDS"),
        (["LOG", "--time-zone", "Nowhere"], "no time zone is called"),
        (["LOG", "LOG2", "--follow"], "--follow goes with one file"),
        (["-", "--follow"], "--follow goes with one file"),
        (["no-such.log"], "cannot read no-such.log"),
        (["--bootstrap", "nonsense"], "write HOST:PORT"),
        (["--bootstrap", "localhost:1", "--report", "html=x.html"], "leave it out with --bootstrap"),
        (["--bootstrap", "localhost:1", "--since", "3h"], "--since is of logs and recordings; leave it out"),
        (["--bootstrap", "localhost:1", "--until", "3h"], "--until is of logs and recordings; leave it out"),
        (
            ["--bootstrap", "localhost:1", "--unordered"],
            "--unordered is of logs and recordings; leave it out",
        ),
        (["--bootstrap", "localhost:1", "--port", "9093"], "--port is of logs and recordings; leave it out"),
        (["--bootstrap", "localhost:1", "--skew", "client.log=1"], "--skew is of logs and recordings"),
        (["LOG", "--timeout", "3"], "--timeout waits for who is asked; add --bootstrap"),
        (["LOG", "--seconds", "3"], "--seconds ends --follow; add --follow"),
        (["LOG", "--follow", "--unordered"], "leave out one of --unordered and --follow"),
    ],
)
def test_what_cannot_be_done_is_2_and_says_what_can(log: Path, words: list[str], said: str) -> None:
    code, _, err = ended(*[str(log) if word == "LOG" else word for word in words])
    assert (code, said in err) == (2, True), err


def test_a_page_is_written_with_a_timeline_of_each_incident(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert ended(str(log), "--report", f"html={path}")[0] == 0
    page = path.read_text()
    assert page.count('class="timeline"') == 3
    assert "session ran out" in page
    assert "<script src" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_names_of_strangers_are_text_on_the_page(tmp_path: Path) -> None:
    night = Night("<script>alert(1)</script>").fail(0, "<img src=x>", 1, 1)
    log, path = tmp_path / "night.jsonl", tmp_path / "page.html"
    log.write_text("".join(f"{line_of(event)}\n" for event in night.events))
    assert ended(str(log), "--report", f"html={path}")[0] == 0
    page = path.read_text()
    assert "<script>alert" not in page
    assert "<img" not in page


def test_a_log_is_followed_for_as_long_as_is_said(log: Path) -> None:
    code, out, _ = ended(str(log), "--follow", "--seconds", "0")
    assert code == 0
    assert out.index("orders: First members") < out.index(
        "Lost client: "
    )  # told as it ended, before the whole
    assert out.splitlines()[-1].startswith("explained: 3 rebalances")


def test_an_interrupt_keeps_what_was_told(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rota.explain.following import Following

    def interrupted(self: Following) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Following, "idle", interrupted)
    code, out, _ = ended(str(log), "--follow")
    assert code == 130
    assert out.splitlines()[-1].startswith("explained: 3 rebalances")


# ---- a coordinator that runs


def test_nobody_to_ask_is_3() -> None:
    code, _, err = ended("--bootstrap", "127.0.0.1:1", "--group", "orders")
    assert code == 3
    assert "start the broker, or give another address" in err


def test_a_group_that_is_not_there_is_5() -> None:
    with controlled({}) as broker:
        code, _, err = ended("--bootstrap", broker.bootstrap, "--group", "orders")
    assert code == 5
    assert "no group orders at" in err


def test_nothing_rebalances_where_nothing_is() -> None:
    with controlled({}) as broker:
        code, out, _ = ended("--bootstrap", broker.bootstrap)
    assert code == 0
    assert "no group rebalances" in out


def consumer_group(address: tuple[str, int], group: str) -> None:
    """Somebody joins a group of KIP-848."""
    body = {"group_id": group, "member_id": "m-1", "member_epoch": 0, "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["orders"], "topic_partitions": []}  # fmt: skip
    with closing(Connection(address, "new")) as connection:
        answer = connection.receive(connection.send("ConsumerGroupHeartbeat", 0, body), 60)
    assert answer is not None
    assert answer.body["error_code"] == 0


def test_a_group_of_the_consumer_protocol_is_told_as_such() -> None:
    with controlled({}) as broker:
        consumer_group(broker.address, "billing")
        code, _, err = ended("--bootstrap", broker.bootstrap, "--group", "billing")
        assert code == 5
        assert "group billing is a consumer group" in " ".join(err.split())
        first = Member(broker.address, "first")
        first.sync(first.join())
        code, out, _ = ended("--bootstrap", broker.bootstrap, "--group", "billing", "--group", "orders")
    assert code == 0
    assert "group orders is Stable" in out
    assert "note: group billing is a consumer group" in out


def test_every_broker_is_asked_for_its_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lists those that it coordinates, and one that does not answer is told of."""
    ask = Asker._ask
    with controlled({}) as one, controlled({}) as other:

        def asked(self: Asker, connection: Connection, versions: Any, name: str, body: Any) -> dict[str, Any]:
            """As of a cluster of both, and of a broker that is away."""
            found = ask(self, connection, versions, name, body)
            if name == "Metadata":
                more = [("127.0.0.1", other.address[1]), ("127.0.0.1", 1)]
                found["brokers"] = [*found["brokers"], *({"host": host, "port": port} for host, port in more)]
            return found

        monkeypatch.setattr(Asker, "_ask", asked)
        consumer_group(one.address, "billing")
        consumer_group(other.address, "orders")
        asker = Asker(one.address, 60)
        assert {*asker.groups()} == {"billing", "orders"}
        assert len(asker.unasked) == 1
        code, out, _ = ended("--bootstrap", one.bootstrap)
    assert code == 0
    assert "which groups that broker has is not known" in " ".join(out.split())


class Member:
    """A client that says what it is told to, over a connection of its own."""

    def __init__(self, address: tuple[str, int], name: str) -> None:
        self._connection = Connection(address, name)
        self.id = ""

    def _send(self, api: str, version: int, **fields: Any) -> SentRequest:
        return self._connection.send(api, version, {"group_id": "orders", **fields})

    def _answered(self, sent: SentRequest) -> dict[str, Any]:
        answer = self._connection.receive(sent, 60)
        assert answer is not None
        return answer.body

    def join(self) -> SentRequest:
        """Ask for an id where there is none, then join; the answer may come late."""
        fields = {
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 120_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"\0\0\0\0\0\0\0\0\0\0"}],
        }
        if not self.id:
            self.id = self._answered(self._send("JoinGroup", 4, member_id="", **fields))["member_id"]
        return self._send("JoinGroup", 4, member_id=self.id, **fields)

    def sync(self, joined: SentRequest) -> None:
        """Take part in the generation that it was answered with."""
        body = self._answered(joined)
        generation = body["generation_id"]
        fields = {"generation_id": generation, "member_id": self.id, "assignments": []}
        assert self._answered(self._send("SyncGroup", 3, **fields))["error_code"] == 0


@pytest.fixture
def stuck() -> Iterator[tuple[str, Member, Member]]:
    """A group in which the second member has come and the first was not told yet."""
    with controlled({"group.initial.rebalance.delay.ms": 0}) as broker:
        first, second = Member(broker.address, "first"), Member(broker.address, "second")
        first.sync(first.join())
        second.join()
        broker.until(lambda groups: groups["orders"].state == "PreparingRebalance")
        yield broker.bootstrap, first, second


def test_a_group_that_is_stuck_is_told_as_far_as_can_be_known(stuck: tuple[str, Member, Member]) -> None:
    bootstrap, first, second = stuck
    code, out, _ = ended("--bootstrap", bootstrap, "--group", "orders")
    said = " ".join(out.split())
    assert code == 0
    assert said.startswith("group orders has been PreparingRebalance for at least 0 s, while members join")
    assert "it waits for one of " in said
    assert "since when is not visible" in said
    assert "nothing was changed there" in said
    found = json.loads(ended("--bootstrap", bootstrap, "--json")[1])  # without --group: those that rebalance
    (group,) = found["groups"]
    assert (group["state"], group["awaited_exactly"]) == ("PreparingRebalance", False)
    assert set(group["awaited"]) == {first.id, second.id}
    assert group["in_state_since"] is None


def test_what_a_log_tells_beside_it_is_who_is_awaited(
    stuck: tuple[str, Member, Member], tmp_path: Path
) -> None:
    bootstrap, first, second = stuck
    night = Night(source=Source.CLIENT_LOG)
    settings = {"max.poll.interval.ms": "120000"}
    night.say(0, Kind.CLIENT_STARTED, client="second", data={"settings": settings})
    night.say(1, Kind.JOINING, second.id, client="second")
    log = tmp_path / "second.jsonl"
    log.write_text("".join(f"{line_of(event)}\n" for event in night.events))
    found = json.loads(ended(str(log), "--bootstrap", bootstrap, "--group", "orders", "--json")[1])
    (group,) = found["groups"]
    assert (group["awaited"], group["awaited_exactly"]) == ([first.id], True)
    assert group["longest_rebalance_ms"] == 120_000
    assert group["latest_end"] == pytest.approx(group["in_state_at_least_since"] + 120)


def test_what_was_seen_is_told_where_the_broker_goes_away(
    stuck: tuple[str, Member, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap, _, _ = stuck
    looks = []
    real = Asker.describe

    def describe(self: Asker, group: str, at: float) -> Described:
        looks.append(group)
        if len(looks) > 1:
            raise Unasked("nothing to ask: it is gone")
        return real(self, group, at)

    monkeypatch.setattr(Asker, "describe", describe)
    code, out, err = ended("--bootstrap", bootstrap, "--group", "orders", "--follow", "--seconds", "9")
    assert code == 3
    assert "group orders has been PreparingRebalance" in out
    assert "it is gone" in err


def test_a_listener_with_tls_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.conformance.targets.preflight._speaks_tls", lambda address: True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        code, _, err = ended("--bootstrap", place, "--group", "orders", "--timeout", "0.2")
    assert (code, f"{place} speaks TLS; say so with --command-config" in err) == (3, True), err


def test_who_has_watched_from_the_beginning_knows_since_when() -> None:
    watched = Watched("orders")
    watched.record({"a": 60_000}, "somewhere")
    for at, state, members in (
        (0, "Stable", "ab"),
        (5, "PreparingRebalance", "abc"),
        (8, "PreparingRebalance", "abc"),
    ):
        watched.take(Described("orders", at, state, {one: one for one in members}))
    assert (watched.whole, watched.since, watched.latest_end) == (True, 5, 65)
    assert watched.awaited == ["a", "b"]  # c has come, or it would not be there
    assert "for 3 s" in watched.headline
    watched.take(Described("orders", 9, "Stable", {"a": "a"}))
    assert (watched.awaited, watched.latest_end) == ([], None)


def test_asking_changes_nothing(stuck: tuple[str, Member, Member]) -> None:
    bootstrap, _, _ = stuck
    asked: list[str] = []
    real = Connection.send

    def send(self: Connection, name: str, version: int, body: Mapping[str, Any]) -> SentRequest:
        asked.append(name)
        return real(self, name, version, body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "send", send)
        assert ended("--bootstrap", bootstrap, "--group", "orders")[0] == 0
    reading = {
        "ApiVersions",
        "FindCoordinator",
        "ListGroups",
        "DescribeGroups",
        "Metadata",
        "ListOffsets",
        "Fetch",
    }
    assert set(asked) <= reading
