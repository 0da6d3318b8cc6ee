"""ApiVersions, Metadata and FindCoordinator, as bodies; and the settings."""

from uuid import UUID

import pytest

from harness.endpoints import HERE, Fixed
from rota.coordinator import GroupCoordinator
from rota.server import KNOWN, Settings, SettingsError, running
from rota.server.api_ranges import ApiRanges
from rota.server.cluster import Cluster
from rota.server.settings import MAX_PARTITIONS
from rota.server.topics import Topics
from rota.wire import advertised, api, decode_response, encode_response, encode_response_in_slices

ZERO = UUID(int=0)


class Asked:
    """A request; its answer as a client reads it."""

    endpoint = HERE

    def __init__(self, api_name, version):
        self.api_name, self.version = api_name, version

    def encoded(self, body):
        return encode_response(self.api_name, self.version, body, 1)

    def encoded_in_slices(self, body):
        return encode_response_in_slices(self.api_name, self.version, body, 1)

    def reply(self, body):
        self.reply_in_pieces((self.encoded(body),), 0)

    def reply_in_pieces(self, pieces, held):
        self.answer = decode_response(self.api_name, self.version, b"".join(pieces)).body


class Answers(Cluster):
    """A cluster whose answers are given back, however many steps they take."""

    def metadata(self, body, version):
        return self._answer("Metadata", version, self.describe, body)

    def find_coordinator(self, body, version):
        return self._answer("FindCoordinator", version, self.find_coordinators, body)

    def _answer(self, api_name, version, handler, body):
        asked = Asked(api_name, version)
        for _ in handler(body, asked) or ():
            pass
        return asked.answer


class Loop:
    """Whose time comes when it is asked for."""

    def __init__(self):
        self.waiting = []

    def call_later(self, seconds, function, *arguments):
        self.waiting.append((seconds, function, arguments))

    def go_on(self):
        for _, function, arguments in self.waiting:
            function(*arguments)


def cluster(**config):
    settings = Settings.of({name.replace("_", "."): value for name, value in config.items()})
    return Answers(settings, Topics(settings), Fixed(), Loop())


def errors(answer):
    return [(topic["name"], topic.get("error_code", 0)) for topic in answer["topics"]]


def named(*names):
    return [{"name": name, "topic_id": ZERO} for name in names]


RANGES = ApiRanges(frozenset({"ApiVersions", "Fetch", "JoinGroup", "Produce"}))


def test_api_versions_lists_what_is_served():
    body = {"client_software_name": "rota", "client_software_version": "0.1.0"}
    listed = RANGES.api_versions(body, 3)["api_keys"]
    assert [tuple(each.values()) for each in listed] == [(0, 0, 13), (1, 4, 18), (11, 0, 9), (18, 0, 5)]
    assert not RANGES.serves(8, 2)
    for each in listed:
        served = [version for version in range(-2, 30) if RANGES.serves(each["api_key"], version)]
        first = 3 if each["api_key"] == 0 else each["min_version"]
        assert served == list(range(first, each["max_version"] + 1))


@pytest.mark.parametrize("text", ["", "-x", "x-", "a b", "a_b", "x" * 300 + "."])
def test_odd_software_names_are_refused_from_version_3_on(text):
    for odd in (("a", text), (text, "1")):
        body = dict(zip(("client_software_name", "client_software_version"), odd, strict=True))
        assert RANGES.api_versions(body, 3) == {"error_code": 42}
        assert "error_code" not in RANGES.api_versions(body, 2)


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [(None, -1, 0), ("rota", 1, 0), ("other", 1, 129), ("rota", 2, 129), ("rota", -1, 42), (None, 1, 42)],
)
def test_a_client_of_another_cluster_is_sent_back_to_its_bootstrap_servers(cluster_id, node_id, error):
    software = {"client_software_name": "a", "client_software_version": "1"}
    answer = RANGES.api_versions(software | {"cluster_id": cluster_id, "node_id": node_id}, 5)
    assert answer.get("error_code", 0) == error


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator(version):
    here = {"node_id": 1, "host": "h", "port": 9092}
    ask = {"coordinator_keys": ["a", ""]} if version >= 4 else {"key": "a"}
    answer = cluster().find_coordinator(ask, version)
    found = answer["coordinators"] if version >= 4 else [answer]
    assert [each | here for each in found] == found
    assert [each.get("key") for each in found] == (["a", ""] if version >= 4 else [None])
    if version >= 1:
        assert cluster().find_coordinator(ask | {"key_type": 1}, version) == answer
    for key_type in (2, 77):
        if version >= 1:
            answer = cluster().find_coordinator(ask | {"key_type": key_type}, version)
            for each in answer["coordinators"] if version >= 4 else [answer]:
                assert (each["error_code"], each["node_id"], each["host"], each["port"]) == (42, -1, "", -1)


@pytest.mark.parametrize("version", range(14))
def test_metadata_is_encodable_in_every_version(version):
    found = cluster(num_partitions=3)
    body = found.metadata({"topics": named("t")}, version)
    assert [(each["node_id"], each["host"], each["port"]) for each in body["brokers"]] == [(1, "h", 9092)]
    (topic,) = body["topics"]
    assert (topic["error_code"], topic["name"]) == (0, "t")
    assert [each["partition_index"] for each in topic["partitions"]] == [0, 1, 2]
    assert {each["leader_id"] for each in topic["partitions"]} == {1}


def test_metadata_of_all_topics():
    found = cluster()
    found.metadata({"topics": named("a", "b", "a")}, 9)
    assert errors(found.metadata({"topics": None}, 9)) == [("a", 0), ("b", 0)]
    assert errors(found.metadata({"topics": []}, 0)) == [("a", 0), ("b", 0)]
    assert errors(found.metadata({"topics": []}, 1)) == []


def test_topics_are_made_only_if_request_and_settings_allow_it():
    refusing = {"topics": named("t"), "allow_auto_topic_creation": False}
    assert errors(cluster().metadata(refusing, 4)) == [("t", 3)]
    assert errors(cluster(auto_create_topics_enable="false").metadata({"topics": named("t")}, 4)) == [
        ("t", 3)
    ]
    bad = named("", ".", "..", "a/b", "x" * 250, "ok", "a.b_c-d")
    assert [code for _, code in errors(cluster().metadata({"topics": bad}, 4))] == [17, 17, 17, 17, 17, 0, 0]


def test_a_topic_is_there_a_moment_later():
    found = cluster(auto_create_topics_delay_ms=20)
    asked = {"topics": named("t", "a b")}
    assert errors(found.metadata(asked, 9)) == errors(found.metadata(asked, 9)) == [("t", 3), ("a b", 17)]
    assert [seconds for seconds, *_ in found._loop.waiting] == [0.02]
    found._loop.go_on()
    assert errors(found.metadata(asked, 9)) == [("t", 0), ("a b", 17)]


def test_the_topic_of_offsets_is_there_once_a_coordinator_is_looked_for():
    found = cluster(offsets_topic_num_partitions=7)
    assert errors(found.metadata({"topics": None}, 9)) == []
    found.find_coordinator({"key": "g", "key_type": 0}, 3)
    (topic,) = found.metadata({"topics": None}, 9)["topics"]
    assert (topic["name"], topic["is_internal"], len(topic["partitions"])) == ("__consumer_offsets", True, 7)


def test_topics_by_id_from_version_12_on():
    found = cluster()
    made = found.metadata({"topics": named("t")}, 12)["topics"][0]["topic_id"]
    assert made != ZERO
    asked = [{"name": None, "topic_id": made}, {"name": None, "topic_id": UUID(int=9)}]
    assert errors(found.metadata({"topics": asked}, 12)) == [("t", 0), (None, 100)]
    for version in (10, 11):
        assert errors(found.metadata({"topics": asked}, version)) == [("", 42), ("", 42)]
    nameless = found.metadata({"topics": named(None)}, 12)
    assert errors(nameless) == [("", 17)]


def test_metadata_creates_no_more_topics_than_there_may_be_partitions():
    found = cluster(num_partitions=MAX_PARTITIONS)
    assert errors(found.metadata({"topics": named("a", "b", "a")}, 9)) == [("a", 0), ("b", 44)]


def test_settings_have_kafkas_names_and_defaults():
    assert Settings.of({}) == Settings()
    given = Settings.of({"group.initial.rebalance.delay.ms": "0", "num.partitions": 4})
    assert (given.coordinator.group_initial_rebalance_delay_ms, given.num_partitions) == (0, 4)
    assert Settings.of({"auto.create.topics.enable": "FALSE"}).auto_create_topics_enable is False
    assert Settings.of({"auto.create.topics.enable": True}).auto_create_topics_enable is True


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_bad_values_are_refused_with_what_would_do(name):
    for value in ("", "x", "-2", "1.5", str(2**63)):
        with pytest.raises(
            SettingsError,
            match=f"^{name} cannot be {value!r}; give (a whole number|true or|uniform and|disabled:|compact)",
        ):
            Settings.of({name: value})


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("connections.max.idle.ms", -1),
        ("fetch.max.bytes", 1024),
        ("group.initial.rebalance.delay.ms", 0),
        ("group.max.size", 1),
        ("log.retention.bytes", -1),
        ("max.connections", 0),
        ("message.max.bytes", 0),
        ("num.partitions", 1),
        ("offset.metadata.max.bytes", 0),
        ("offsets.retention.check.interval.ms", 1),
        ("offsets.retention.minutes", 1),
        ("socket.request.max.bytes", 1),
    ],
)
def test_least_values(name, least):
    Settings.of({name: least})
    with pytest.raises(SettingsError, match=f"give a whole number from {least} to"):
        Settings.of({name: least - 1})


def test_bad_settings_together():
    with pytest.raises(
        SettingsError, match=r"unknown setting 'group\.max.sizes'; known are auto.create.*socket"
    ):
        Settings.of({"group.max.sizes": 1})
    with pytest.raises(SettingsError, match=r"group\.min\.session\.timeout\.ms 9 is above .* 8; change one"):
        Settings.of({"group.min.session.timeout.ms": 9, "group.max.session.timeout.ms": 8})


def test_every_api_that_is_advertised_has_an_answer(address, connect):
    keys = {each["api_key"] for each in connect(address).call("ApiVersions", 0)["api_keys"]}
    served = {name: api(name) for name in advertised() if api(name).key in keys}
    assert {"Produce", "Fetch", "ListOffsets", "CreateTopics", "InitProducerId", "JoinGroup"} < set(served)
    for name, item in served.items():
        first, last = advertised()[name]
        for version in {3 if name == "Produce" else first, min(last, item.max_version)}:
            names = {"client_software_name": "a", "client_software_version": "1"}
            body = {"ApiVersions": names, "Produce": {"acks": 1}}.get(name, {})
            assert connect(address).call(name, version, **body)


def test_a_server_takes_a_coordinator_of_somebody_else(connect):
    made = []

    class Strange(GroupCoordinator):
        def __init__(self, config, choices):
            super().__init__(config, choices)
            made.append(config.group_min_session_timeout_ms)

    with running({"group.min.session.timeout.ms": 77}, coordinator=Strange) as address:
        assert connect(address).call("Heartbeat", 4, group_id="g")["error_code"] == 25
    assert made == [77]
