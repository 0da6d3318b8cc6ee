"""The offsets topic over the wire: the events that the files have, its ends, what stands in the way."""

import socket
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice

import pytest
from click.testing import CliRunner

from harness.kafka_on_disk import ask
from harness.offsets_logs import WrittenLog
from rota.cli.main import main
from rota.log.group_records import GroupKey, GroupValue, OffsetKey, OffsetValue
from rota.offsets_topic import TopicUnreadable, Wanted, read_data_folder, read_topic, wire
from rota.reading import ReadingError, Tally, read
from rota.server import running
from rota.wire.records import rebased

TOPIC = "__consumer_offsets"
PARTITIONS = 3


@pytest.fixture
def address():
    with running({}) as address:
        yield address


def make_topic(address):
    topic = {"name": TOPIC, "num_partitions": PARTITIONS, "replication_factor": 1}
    assert ask(address, "CreateTopics", 5, {"topics": [topic]})["topics"][0]["error_code"] == 0


def produce(address, partition, *batches):
    for batch in batches:
        data = [{"name": TOPIC, "partition_data": [{"index": partition, "records": rebased(batch, 0)}]}]
        body = {"transactional_id": None, "acks": -1, "timeout_ms": 5000, "topic_data": data}
        found = ask(
            address, "Produce", 7, body, client_id="__admin_client"
        )  # who may write to a broker's own topic
        (answer,) = found["responses"][0]["partition_responses"]
        assert answer["error_code"] == 0, answer


def offsets(*numbers, group="g"):
    log = WrittenLog()
    for number in numbers:
        log.write((OffsetKey(group, "t", 0), OffsetValue(number, "", 1)))
    return log


def pair(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


def committed(events):
    return [event.data["committed"] for event in events]


def test_what_is_read_over_the_wire_is_what_is_in_the_files(address, tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "_PARTITION_BYTES", 200)
    make_topic(address)
    groups = WrittenLog().write(
        (GroupKey("h"), GroupValue("consumer", 1, "range", "m")), (b"\0\3\0\1x", b"new")
    )
    for partition, log in enumerate((offsets(*range(20)), groups)):
        produce(address, partition, *log.batches)
        log.folder(tmp_path, partition)
    found = [*read_topic(pair(address))]
    assert found == [*read_data_folder(tmp_path)]
    assert len(found) == 22
    tally = Tally()
    assert [*read([f"kafka://{address}"], tally=tally)] == found
    assert tally.sources == {f"kafka://{address}": "kafka"}
    some = read_topic(pair(address), Wanted(partitions=frozenset({1, 2})))
    assert {event.data["partition"] for event in some} == {1}


def test_it_ends_where_the_partitions_ended_when_they_were_asked(address):
    make_topic(address)
    produce(address, 0, *offsets(1, 2).batches)
    events = read_topic(pair(address))
    first = next(events)
    produce(address, 0, *offsets(3).batches)
    assert committed([first, *events]) == [1, 2]


def test_following_goes_on_with_what_is_appended(address):
    make_topic(address)
    produce(address, 0, *offsets(1).batches)
    with closing(read_topic(pair(address), Wanted(follow=True, wait=0.05))) as events:
        assert committed(islice(events, 1)) == [1]
        produce(address, 2, *offsets(2).batches)
        assert committed(islice(events, 1)) == [2]
        later = threading.Timer(0.2, produce, (address, 0, *offsets(3, 4).batches))
        later.start()
        assert committed(islice(events, 2)) == [3, 4]
        later.join()


def test_explain_follows_the_topic_of_a_cluster(address):
    """It tells what is appended, and ends by itself where nothing is any more."""
    make_topic(address)
    first, second = (WrittenLog().write((GroupKey("orders"), GroupValue("consumer", number, "range", "m")))
                     for number in (1, 2))  # fmt: skip
    produce(address, 0, *first.batches)
    later = threading.Timer(0.5, produce, (address, 0, *second.batches))
    later.start()
    words = ["explain", f"kafka://{address}", "--follow", "--seconds", "3"]
    told = CliRunner().invoke(main, words, catch_exceptions=False)
    later.join()
    assert told.exit_code == 0
    assert "generation 1 to 2" in told.stdout


def test_a_leader_that_goes_away_and_comes_again_is_followed():
    with running({}) as address:
        make_topic(address)
        produce(address, 0, *offsets(1, 2).batches)
        events = read_topic(pair(address), Wanted(follow=True, wait=0.05, patience=20))
        assert committed(islice(events, 2)) == [1, 2]
        port = int(address.rpartition(":")[2])

    def come_again():
        time.sleep(0.5)
        with running({}, port=port) as again:
            make_topic(again)
            produce(again, 0, *offsets(1, 2, 3).batches)
            done.wait(20)

    done = threading.Event()
    server = threading.Thread(target=come_again)
    server.start()
    try:
        assert committed(islice(events, 1)) == [3]
    finally:
        done.set()
        server.join()


def test_a_broker_without_the_topic(address):
    with pytest.raises(TopicUnreadable, match=r"there is no topic __consumer_offsets.*Describe and Read"):
        next(read_topic(pair(address)))
    with pytest.raises(ReadingError, match="there is no topic"):
        next(read([f"kafka://{address}"]))


@pytest.mark.parametrize("verb", ["validate", "explain"])
def test_verbs_speak_to_it_as_the_command_config_says(address, verb, tmp_path):
    config = tmp_path / "client.properties"
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n",
        encoding="utf-8",
    )
    words = [verb, f"kafka://{address}"]
    plain = CliRunner().invoke(main, words)
    assert (plain.exit_code, "no topic __consumer_offsets" in plain.stderr) == (2, True)
    secured = CliRunner().invoke(main, [*words, "--command-config", str(config)])
    assert secured.exit_code == 2
    assert "Sasl" in secured.stderr or "SASL" in secured.stderr
    missing = CliRunner().invoke(main, [*words, "--command-config", str(tmp_path / "none")])
    assert (missing.exit_code, "--command-config cannot read" in missing.stderr) == (2, True)


def test_a_partition_that_is_not_there(address):
    make_topic(address)
    with pytest.raises(TopicUnreadable, match="no partition 9; it has 0 to 2"):
        next(read_topic(pair(address), Wanted(partitions=frozenset({1, 9}))))


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nowhere = listener.getsockname()
    with pytest.raises(TopicUnreadable, match=r"refused.*look whether the broker runs") as raised:
        next(read_topic(nowhere))
    assert not raised.value.there


@pytest.mark.parametrize("verb", ["validate", "explain"])
def test_verbs_end_with_3_where_nobody_listens(verb):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    told = CliRunner().invoke(main, [verb, f"kafka://127.0.0.1:{port}"])
    assert (told.exit_code, "start the broker, or give another address" in told.stderr) == (3, True)


@pytest.mark.parametrize("verb", ["validate", "explain"])
def test_verbs_say_what_else_listens_there(verb):
    """At once, and not after the half minute for which a topic without a leader is waited for."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            told = CliRunner().invoke(main, [verb, f"kafka://127.0.0.1:{other.server_port}"])
        finally:
            other.shutdown()
    assert (told.exit_code, "an HTTP server answers" in told.stderr) == (3, True)


def test_whoever_never_answers_is_given_up():
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(TopicUnreadable, match=r"no answer to ApiVersions in 0\.2 s"),
    ):
        next(read_topic(silent.getsockname(), Wanted(patience=0.2)))


def test_what_was_deleted_meanwhile_is_told(address, monkeypatch):
    make_topic(address)
    produce(address, 0, *offsets(1, 2, 3).batches)
    real = wire._Cluster.offset
    asked = []

    def begins_too_early(cluster, number, which):
        asked.append(which)
        return -5 if which == wire._EARLIEST and len(asked) == 1 else real(cluster, number, which)

    monkeypatch.setattr(wire._Cluster, "offset", begins_too_early)
    lost, *rest = read_topic(pair(address), Wanted(partitions=frozenset({0})))
    assert (lost.data["text"], lost.reason) == ("offsets -5 to -1", "deleted while it was read")
    assert committed(rest) == [1, 2, 3]
