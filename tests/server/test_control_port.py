"""The control port: every operation does what it says, and a request that is wrong is told what is right."""

from __future__ import annotations

import http.client
import json
from contextlib import contextmanager

import pytest

from rota.control.http import ControlPort
from rota.control.openapi import document
from rota.control.operations import OPERATIONS
from rota.mutants.core import CoreBug, planted
from rota.server import controlled
from rota.wire.consumer import encode_assignment, encode_subscription

SESSION_SECONDS = 10
UNSTABLE_OFFSET_COMMIT = 88
PATIENCE = 30.0
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 16, 15, 25, 27


class Door:
    """Who asks at the port."""

    def __init__(self, port):
        self.port = port

    def raw(self, method, path, body=None, **headers):
        """Status and answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(
                method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
            )
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def ask(self, method, path, **fields):
        body = json.dumps(fields) if fields else None
        return self.raw(method, path, body, **({"Content_Type": "application/json"} if fields else {}))

    def get(self, path):
        status, answer = self.ask("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path, **fields):
        status, answer = self.ask("POST", path, **fields)
        assert status == 200, answer
        return answer

    def refused(self, status, method, path, **fields):
        """Why."""
        told, answer = self.ask(method, path, **fields)
        assert told == status, answer
        return answer["error"]


@contextmanager
def at_the_door(**settings):
    """A broker in hand, and its control port."""
    with controlled(settings) as broker:
        port = ControlPort(broker._controls, broker._loop)
        try:
            yield broker, Door(port.port)
        finally:
            port.stop()


@pytest.fixture
def held():
    with at_the_door() as both:
        yield both


@pytest.fixture
def broker(held):
    return held[0]


@pytest.fixture
def door(held):
    return held[1]


@pytest.fixture
def stable(broker, member):
    """The only member of group g, which is Stable, with partition 3 of topic t and a committed offset."""
    return settled(broker, member)


def settled(broker, member):
    broker.create_topic("t", 4)
    only = member(broker.bootstrap, "billing")
    only.join(protocols=[{"name": "range", "metadata": encode_subscription({"topics": ["t"]})}])
    mine = {"topic": "t", "partitions": [3]}
    only.sync(assignments={only.member_id: encode_assignment({"assigned_partitions": [mine]})})
    partition = {"partition_index": 0, "committed_offset": 41, "committed_metadata": "here"}
    place = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": only.member_id}
    answer = only.call("OffsetCommit", 8, **place, topics=[{"name": "t", "partitions": [partition]}])
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0
    return only


def test_its_health(broker, door):
    health = door.get("/health")
    assert (health["status"], health["bootstrap"]) == ("ok", broker.bootstrap)


def test_groups_with_everything_that_is_known(broker, door, stable, member):
    (group,) = door.get("/groups")["groups"]
    assert (group["group_id"], group["type"], group["state"], group["generation"]) == (
        "g",
        "classic",
        "Stable",
        1,
    )
    (only,) = group["members"]
    assert only["member_id"] == group["leader"] == stable.member_id
    assert (only["client_id"], only["client_host"]) == ("billing", "/127.0.0.1")
    assert only["partitions"] == [{"topic": "t", "partition": 3}]
    assert only["protocols"][0]["topics"] == ["t"]
    assert 0 < only["timers_ms"]["session"] <= 1000 * SESSION_SECONDS
    (offset,) = group["offsets"]
    assert (offset["topic"], offset["partition"], offset["offset"]) == ("t", 0, 41)
    assert (offset["metadata"], group["pending_offsets"]) == ("here", [])
    second = member(broker.bootstrap, "two")
    second.ask()
    broker.until(lambda groups: groups["g"].state == "PreparingRebalance")
    (group,) = door.get("/groups?group_id=g")["groups"]
    assert {each["member_id"]: each["awaits"] for each in group["members"]} == {
        stable.member_id: None, second.member_id: "JoinGroup"
    }  # fmt: skip
    assert "join" in group["timers_ms"]
    assert door.get("/groups?group_id=another")["groups"] == []


def subscribed(connection, member_id, epoch, **fields):
    """A heartbeat of the consumer protocol."""
    said = {"group_id": "c", "member_id": member_id, "member_epoch": epoch, **fields}
    return connection.call("ConsumerGroupHeartbeat", 1, **said)


def test_groups_of_the_consumer_protocol_expire_and_move_with_what_they_have(broker, door, member):
    broker.create_topic("t", 2)
    first = member(broker.bootstrap, "billing")
    begins = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    joined = subscribed(first, "m1", 0, **begins)
    assert (joined["error_code"], joined["member_epoch"] > 0) == (0, True)
    (group,) = door.get("/groups")["groups"]
    assert (group["type"], group["epoch"], len(group["members"])) == ("consumer", joined["member_epoch"], 1)
    assert group["members"][0]["partitions"] == [{"topic": "t", "partition": index} for index in (0, 1)]
    assert "consumer_session" in group["members"][0]["timers_ms"]
    assert broker.groups()["c"].assignments == {"m1": (("t", 0), ("t", 1))}
    address = door.post("/coordinator/move")["coordinator"]
    assert subscribed(first, "m1", joined["member_epoch"])["error_code"] == NOT_COORDINATOR
    moved = member(address, "billing")
    assert subscribed(moved, "m1", joined["member_epoch"])["error_code"] == 0
    assert door.post("/members/expire", member="billing", group_id="c") == {"member_id": "m1"}
    assert subscribed(moved, "m1", joined["member_epoch"])["error_code"] == UNKNOWN_MEMBER_ID


def erring(broker, door, stable):
    door.post("/faults", api="Heartbeat", fault="error", error="REBALANCE_IN_PROGRESS", times=2)
    door.post("/faults", api="Heartbeat", fault="error", error="NOT_COORDINATOR", client_id="somebody else")
    assert [stable.heartbeat() for _ in range(3)] == [REBALANCE_IN_PROGRESS, REBALANCE_IN_PROGRESS, 0]
    (left,) = door.get("/faults")["faults"]
    assert (left["api"], left["error"], left["left"]) == ("Heartbeat", "NOT_COORDINATOR", 1)
    assert door.ask("DELETE", "/faults") == (200, {"forgotten": 1})
    assert door.get("/faults")["faults"] == []


def delayed(broker, door, stable):
    """By the server's clock: a minute is over as soon as it is put forward."""
    door.post("/faults", api="LeaveGroup", fault="delay", delay_ms=60_000)
    stable.send("LeaveGroup", 5, group_id="g", members=[{"member_id": stable.member_id}])
    broker.until(lambda _: not door.get("/faults")["faults"], PATIENCE)
    assert broker.groups()["g"].members
    assert stable.silent(0.05)
    door.post("/clock/advance", seconds=SESSION_SECONDS / 2)
    assert broker.groups()["g"].members
    door.post("/faults", api="DescribeGroups", fault="delay", delay_ms=0)
    door.post("/clock/advance", seconds=60)
    assert not stable.silent(PATIENCE)
    assert stable.receive()["error_code"] == 0
    assert not broker.groups()["g"].members
    assert stable.call("DescribeGroups", 5, groups=["g"])["groups"][0]["group_state"] == "Empty"


def dropped(broker, door, stable):
    door.post("/faults", api="LeaveGroup", fault="drop")
    stable.send("LeaveGroup", 5, group_id="g", members=[{"member_id": stable.member_id}])
    broker.until(lambda _: not door.get("/faults")["faults"], PATIENCE)
    assert stable.silent(0.05)
    assert len(broker.connections()) == 1
    assert broker.groups()["g"].members


def halved(broker, door, stable):
    """Each way in which an answer is made: by a table, by an object, in pieces."""
    for name, version, body in (
        ("FindCoordinator", 3, {"key": "g", "key_type": 0}),
        ("Heartbeat", 4, stable.place()),
        ("Metadata", 12, {"topics": [{"name": "t"}]}),
        ("LeaveGroup", 5, {"group_id": "g", "members": [{"member_id": stable.member_id}]}),
    ):
        again = stable.__class__(broker.bootstrap, "billing")
        door.post("/faults", api=name, fault="cut")
        again.send(name, version, **body)
        head = again.stream.read(4)
        rest = again.stream.read()
        assert 0 < len(rest) < int.from_bytes(head, "big"), name
        again.close()
    assert not broker.groups()["g"].members  # it was carried out


def refusing(broker, door, stable):
    assert door.post("/log/errors", error="NOT_ENOUGH_REPLICAS")["append_errors"] == ["NOT_ENOUGH_REPLICAS"]
    partition = {"partition_index": 0, "committed_offset": 99, "committed_metadata": ""}
    place = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": stable.member_id}
    topics = [{"name": "t", "partitions": [partition]}]
    for error, offset in ((COORDINATOR_NOT_AVAILABLE, 41), (0, 99)):  # as Kafka translates it
        answer = stable.call("OffsetCommit", 8, **place, topics=topics)
        assert answer["topics"][0]["partitions"][0]["error_code"] == error
        assert broker.groups()["g"].offsets == {("t", 0): offset}
    assert door.get("/faults")["append_errors"] == []


def expiring(broker, door, stable):
    assert door.post("/members/expire", member="billing") == {"member_id": stable.member_id}
    assert stable.heartbeat() == UNKNOWN_MEMBER_ID
    why = door.refused(409, "POST", "/members/expire", member="billing")
    assert why == "no member is called 'billing'; members are: none"


def unloaded(broker, door, stable):
    assert door.post("/coordinator/unload") == {"coordinator": None}
    assert stable.heartbeat() == NOT_COORDINATOR
    found = stable.call("FindCoordinator", 6, key_type=0, coordinator_keys=["g"])["coordinators"][0]
    assert found["error_code"] == COORDINATOR_NOT_AVAILABLE
    assert door.get("/groups") == {"groups": [], "coordinator": None}
    assert door.refused(409, "POST", "/coordinator/unload").startswith(
        "the coordinator is unloaded already; "
    )
    assert door.post("/coordinator/load") == {"coordinator": broker.bootstrap}
    assert stable.heartbeat() == 0
    assert broker.groups()["g"].offsets == {("t", 0): 41}
    assert door.refused(409, "POST", "/coordinator/load").startswith("the coordinator is loaded; ")


def moved(broker, door, stable):
    assert door.post("/coordinator/move")["coordinator"] != broker.bootstrap
    assert stable.heartbeat() == NOT_COORDINATOR
    assert door.post("/coordinator/move") == {"coordinator": broker.bootstrap}
    assert stable.heartbeat() == 0


def forward(broker, door, stable):
    before = door.get("/health")["now_ms"]
    after = door.post("/clock/advance", seconds=SESSION_SECONDS + 1)["now_ms"]
    assert after - before >= 1000 * SESSION_SECONDS
    assert stable.heartbeat() == UNKNOWN_MEMBER_ID


def reset(broker, door, stable):
    door.post("/coordinator/move")
    door.post("/faults", api="Heartbeat", fault="error", error="NOT_COORDINATOR")
    door.post("/log/errors", error="NOT_ENOUGH_REPLICAS")
    assert door.post("/reset") == {"bootstrap": broker.bootstrap}
    assert stable.closed()
    assert door.get("/faults") == {"faults": [], "append_errors": []}
    assert door.get("/groups") == {"groups": [], "coordinator": broker.bootstrap}
    again = stable.__class__(broker.bootstrap, "billing")
    topics = again.call("Metadata", 12, topics=None)["topics"]
    assert [each for each in topics if not each["is_internal"]] == []
    assert again.join()["generation_id"] == 1
    assert broker.groups()["g"].offsets == {}
    again.close()


def connected(broker, door, stable):
    (one,) = door.get("/connections")["connections"]
    assert {"billing", stable.member_id} <= {*one["names"]}
    assert door.post("/connections/close", whose="billing") == {"closed": 1}
    assert stable.closed()
    assert "no connection of 'billing' is open" in door.refused(
        409, "POST", "/connections/close", whose="billing"
    )


def topical(broker, door, stable):
    assert door.post("/topics", name="new", partitions=3) == {"name": "new", "partitions": 3}
    (topic,) = stable.call("Metadata", 12, topics=[{"name": "new"}])["topics"]
    assert len(topic["partitions"]) == 3
    assert "already exists" in door.refused(409, "POST", "/topics", name="new")


def transactional(broker, door, stable):
    """What an open transaction has committed does not count, is not lost by a move, and counts in the end."""
    who = {"transactional_id": "x"}
    made = stable.call(
        "InitProducerId", 4, **who, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )
    who |= {name: made[name] for name in ("producer_id", "producer_epoch")}
    assert stable.call("AddOffsetsToTxn", 3, **who, group_id="g")["error_code"] == 0
    partition = {"partition_index": 0, "committed_offset": 50, "committed_metadata": ""}
    topics = [{"name": "t", "partitions": [partition]}]
    answer = stable.call("TxnOffsetCommit", 3, **who, group_id="g", topics=topics)
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0
    pending = {"producer_id": made["producer_id"], "topic": "t", "partition": 0, "offset": 50}
    door.post("/coordinator/move")
    door.post("/coordinator/move")
    (group,) = door.get("/groups")["groups"]
    assert ([each["offset"] for each in group["offsets"]], group["pending_offsets"]) == ([41], [pending])
    asked = {"group_id": "g", "topics": None, "require_stable": True}
    (found,) = stable.call("OffsetFetch", 7, **asked)["topics"][0]["partitions"]
    assert found["error_code"] == UNSTABLE_OFFSET_COMMIT
    assert stable.call("EndTxn", 3, **who, committed=True)["error_code"] == 0
    door.post("/coordinator/move")
    door.post("/coordinator/move")
    (group,) = door.get("/groups")["groups"]
    assert ([each["offset"] for each in group["offsets"]], group["pending_offsets"]) == ([50], [])
    (found,) = stable.call("OffsetFetch", 7, **asked)["topics"][0]["partitions"]
    assert found["committed_offset"] == 50


SERVER, MANAGER = "kafka_server_group_coordinator_metrics_", "kafka_coordinator_group_groupmetadatamanager_"


def scraped(door):
    """The metrics that are not 0, by name with labels."""
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=30)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
    lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    connection.close()
    found = dict(line.rsplit(" ", 1) for line in lines)
    assert len(found) == len(lines)
    return {name: int(value) for name, value in found.items() if int(value)}


def measured(broker, door, stable):
    told = {
        SERVER + 'group_count{protocol="classic"}': 1,
        SERVER + 'classic_group_count{state="Stable"}': 1,
        SERVER + "offset_count": 1,
        SERVER + "offset_commit_count": 1,
        SERVER + "group_completed_rebalance_count": 1,
        MANAGER + "numgroups": 1,
        MANAGER + "numgroupsstable": 1,
        MANAGER + "numoffsets": 1,
    }
    assert scraped(door) == told
    again = stable.__class__(broker.bootstrap, "billing")
    begins = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    assert subscribed(again, "m1", 0, **begins)["error_code"] == 0
    stable.call("LeaveGroup", 5, group_id="g", members=[{"member_id": stable.member_id}])
    told = {name.replace("Stable", "Empty").replace("stable", "empty"): value for name, value in told.items()}
    told |= {
        SERVER + 'group_count{protocol="consumer"}': 1,
        SERVER + 'consumer_group_count{state="Stable"}': 1,
        SERVER + "consumer_group_rebalance_count": 1,
    }
    assert scraped(door) == told
    again.close()


STORIES = (
    erring, delayed, dropped, halved, refusing, expiring, unloaded, moved, forward, reset, connected, topical,
    transactional, measured,
)  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_what_is_asked_happens(story, broker, door, stable):
    story(broker, door, stable)


CONTROLS, FAULTS = "rota.server.controls:Controls.", "rota.server.faults:"
STORED = "rota.server.snapshots:Stored."
OPERATION, CONNECTION = "rota.control.operations:", "rota.server.connection:Connection."

BUGS = (
    ("one-request-meets-it", FAULTS + "Faults.of", "if not planned.left:", "if True:", erring),
    ("any-client-meets-it", FAULTS + "Faults.of", "in (None, client_id)", "is not self", erring),
    ("faults-stay", FAULTS + "Faults.forget", "self.planned.clear()", "pass", erring),
    ("error-and-effect", CONTROLS + "_takes", "fault.error_code))", "fault.error_code)); return False",
     erring),
    ("delayed-for-ever", CONTROLS + "_delay", "self._loop.call_later(seconds, later)",
     "self._loop.call_later(9e4, later)", delayed),
    ("not-delayed", CONTROLS + "_takes", "fault.kind is FaultKind.DELAY", "False", delayed),
    ("drop-is-carried-out", CONTROLS + "_takes", "context.dropped()", "return False", dropped),
    ("cut-at-the-end", CONNECTION + "break_off", "len(frame) // 2", "len(frame)", halved),
    ("cut-and-nothing-done", CONTROLS + "_takes", "context.answer_by(CutOff(",
     "return context.connection.break_off(bytes(20)) or True or ((", halved),
    ("refused-and-stored", "rota.server.controls:_KeptLog.append", "if not error_code", "if True", refusing),
    ("appends-never-fail", FAULTS + "Faults.of_append", "if self._append_errors", "if not self", refusing),
    ("open-offsets-count", STORED + "_take_offsets", "position, producer_id", "position", transactional),
    ("open-offsets-stay-behind", STORED + "_loaded", "tuple(self.pending(group_id))", "()", transactional),
    ("every-record-is-a-rebalance", STORED + "take", "bool(record.members) and is_next", "1", measured),
    ("commits-are-not-counted", STORED + "_take_offsets", "isinstance(record, OffsetRecord)", "0", measured),
    ("epochs-are-not-counted", STORED + "_take_entries", "isinstance(value, GroupEpoch)", "0", measured),
    ("groups-of-one-protocol", "rota.control.metrics:metrics", "for group in core.consumer_groups.values()",
     "for group in ()", measured),
    ("ends-are-not-seen", STORED + "take", "self.offsets.end_transaction", "str", transactional),
    ("nobody-expires", CONTROLS + "expire", "self.groups_served.fire(", "str(", expiring),
    ("unloaded-answers", "rota.server.elsewhere:Elsewhere._has_group", "self._placement.is_loaded and ", "",
     unloaded),
    ("unloaded-is-found", "rota.server.cluster:Cluster._coordinator", "not self._placement.is_loaded",
     "False", unloaded),
    ("loads-nothing", CONTROLS + "_take_over", "self.stored.all()", "[]", unloaded),
    ("stays", CONTROLS + "move_coordinator", "placement.move(wanted, group_id)", "placement", moved),
    ("clock-stays", CONTROLS + "advance", "seconds + COARSE_SECONDS", "0", forward),
    ("reset-keeps-groups", CONTROLS + "reset", "self.stored = Stored()", "pass", reset),
    ("reset-keeps-faults", CONTROLS + "reset", "self.faults.forget()", "pass", reset),
    ("reset-keeps-topics", CONTROLS + "reset", "self.server = self._made()",
     "topics = self.server.topics; self.server = self._made(); self.server.topics = topics", reset),
    ("one-name-of-many", CONTROLS + "_note", "names.update(name for name in said if name)",
     "names.update(said[1:2])", connected),
    ("one-partition", OPERATION + "_create_topic", 'said["partitions"])\n', "1)\n", topical),
)  # fmt: skip
"""Name, function, the text that is exchanged and what for, the story that tells."""


@pytest.mark.parametrize(("name", "function", "old", "new", "story"), BUGS, ids=[bug[0] for bug in BUGS])
def test_a_story_tells_a_planted_bug(name, function, old, new, story, member, monkeypatch):
    monkeypatch.setitem(globals(), "PATIENCE", 1.0)
    with planted(CoreBug("", name, "", function, old, new)), at_the_door() as (broker, door):
        only = settled(broker, member)
        only.socket.settimeout(2)
        with pytest.raises((AssertionError, TimeoutError)):
            story(broker, door, only)


WRONG = (
    (400, "POST", "/faults", {"api": "Heartbeet", "fault": "drop"}, "did you mean Heartbeat?"),
    (400, "POST", "/faults", {"fault": "drop"}, "api is missing: Kafka's name of an API"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "lose"}, "there are error, delay, drop, cut"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "error"}, "error is missing: a fault 'error'"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "error", "error": "NOT_COORDINATR"},
     "did you mean NOT_COORDINATOR?"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "error", "error": "NONE"}, "'NONE' is not known"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "cut", "delay_ms": 5}, "delay_ms says nothing of"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "drop", "times": 0}, "out of bounds; give 1 to"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "drop", "times": True}, "True is no integer; how"),
    (400, "POST", "/faults", {"api": "Heartbeat", "fault": "drop", "time": 2}, "did you mean times?"),
    (400, "POST", "/faults", {"api": 7, "fault": "drop"}, "api: 7 is no string; Kafka's name of an API"),
    (400, "POST", "/clock/advance", {"seconds": -1}, "seconds: -1 is out of bounds; give 0 to"),
    (400, "POST", "/clock/advance", {"seconds": float("nan")}, "out of bounds"),
    (400, "POST", "/clock/advance", {}, "seconds is missing: how far"),
    (400, "POST", "/reset", {"hard": 1}, "'hard': nothing is asked here"),
    (404, "POST", "/fault", {"api": "Heartbeat"}, "there is nothing at /fault; there are /health, "),
    (405, "PUT", "/reset", {}, "PUT is not understood at /reset; use POST"),
)  # fmt: skip


@pytest.mark.parametrize(("status", "method", "path", "fields", "why"), WRONG, ids=lambda one: str(one)[:40])
def test_what_is_wrong_is_told_with_what_is_right(status, method, path, fields, why, door):
    assert why in door.refused(status, method, path, **fields)
    assert door.get("/faults") == {"faults": [], "append_errors": []}


BODY = '{"seconds": 3600}'
JSON = {"Content_Type": "application/json"}


@pytest.mark.parametrize(
    ("status", "body", "headers", "why"),
    [
        (403, BODY, {**JSON, "Host": "evil.example:80"}, "this port answers to 127.0.0.1:"),
        (403, BODY, {**JSON, "Origin": "http://evil.example"}, "pages of a browser are not answered"),
        (403, BODY, {**JSON, "Sec_Fetch_Site": "same-site"}, "pages of a browser are not answered"),
        (415, BODY, {"Content_Type": "text/plain"}, "send the fields as JSON"),
        (400, "{", JSON, "this is no JSON"),
        (400, "[" * 20_000, JSON, "this is no JSON"),
        (400, "[1]", JSON, "send a JSON object"),
        (413, " " * 70_000, JSON, "the body has 65,536 bytes at most"),
        (400, BODY, {**JSON, "Content_Length": "x"}, "Content-Length is a number"),
        (411, BODY, {**JSON, "Transfer_Encoding": "chunked"}, "say how long the body is"),
    ],
)
def test_who_may_not_ask_and_what_cannot_be_read(status, body, headers, why, door):
    before = door.get("/health")["now_ms"]
    told, answer = door.raw("POST", "/clock/advance", body, **headers)
    assert (told, why in answer["error"]) == (status, True), answer
    assert door.get("/health")["now_ms"] - before < 3_600_000


def test_fields_of_what_changes_something_stand_in_no_address(door):
    status, answer = door.raw("POST", "/clock/advance?seconds=5")
    assert (status, answer["error"].partition(",")[0]) == (400, "fields stand in the body")


def test_its_own_document_says_what_there_is(door):
    served = door.get("/openapi.json")
    assert served == document(served["info"]["version"], f"http://127.0.0.1:{door.port}")
    told = {(path, method.upper()) for path, methods in served["paths"].items() for method in methods}
    assert told == {("/metrics", "GET"), *((each.path, each.method) for each in OPERATIONS)}
    names = [each.name for each in OPERATIONS]
    assert len(names) == len(set(names))
    for operation in OPERATIONS:
        assert set(served["paths"][operation.path][operation.method.lower()]["responses"]) >= {
            "200",
            "400",
            "409",
        }


def test_answers_have_the_fields_that_the_document_says(broker, door, stable):
    """Of everything that is asked without fields, in an order in which it can be."""
    asked = [each for each in OPERATIONS if not any(field.required for field in each.fields)]
    assert len(asked) > 8
    for operation in asked:
        status, answer = door.ask(operation.method, operation.path)
        assert (status, set(answer)) == (200, set(operation.gives)), operation.name
