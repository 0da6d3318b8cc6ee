"""Kafka Streams counts words exactly once, Kafka Connect copies a file to another, whoever crashes meanwhile.

`make test-clients`. The jars are fetched once, through mvn; without them the tests are skipped.
"""

import time
from collections import Counter, defaultdict

import pytest

from harness.clients.jars import CONNECT, STREAMS, jars
from harness.clients.jvm import Program, Worker, until
from harness.clients.meddler import BUGS, Bug, Meddler
from harness.java_programs import NotCompiled, compiled
from rota.conformance.targets.made_once import NotMade
from rota.conformance.targets.ports import free_ports
from rota.server import running

kafka = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

pytestmark = pytest.mark.clients

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1000}
IGNORED = Bug(requests={"Fetch": lambda body: body.update(isolation_level=0)})


@pytest.fixture
def address():
    with running(SETTINGS) as address:
        yield address


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """The class path of the word count."""
    folder = tmp_path_factory.mktemp("classes")
    try:
        libs = jars("streams", STREAMS)
        compiled("clients/programs/WordCount", folder, libs)
    except (NotMade, NotCompiled) as cause:
        pytest.skip(str(cause))
    return f"{libs}:{folder}"


@pytest.fixture(scope="module")
def connect():
    """The class path of a worker."""
    try:
        return jars("connect", CONNECT)
    except NotMade as cause:
        pytest.skip(str(cause))


class Records:
    """Topics, and what is in them."""

    def __init__(self, address):
        self.address = address
        self._producer = kafka.Producer({"bootstrap.servers": address, "linger.ms": 0})
        self._admin = admin.AdminClient({"bootstrap.servers": address})

    def create(self, *topics, partitions=1):
        for made in self._admin.create_topics(
            [admin.NewTopic(each, partitions, 1) for each in topics]
        ).values():
            made.result(20)

    def produce(self, topic, *values):
        for number, value in enumerate(values):
            self._producer.produce(topic, value, key=str(number))
        assert self._producer.flush(20) == 0

    def read(self, topic, isolation="read_committed", address=None):
        """All key-value pairs that are there."""
        settings = {
            "bootstrap.servers": address or self.address,
            "group.id": "reader",
            "enable.auto.commit": False,
        }
        consumer = kafka.Consumer({**settings, "isolation.level": isolation, "enable.partition.eof": True})
        consumer.assign([kafka.TopicPartition(topic, 0, kafka.OFFSET_BEGINNING)])
        found = []
        try:
            while (message := consumer.poll(20)) is not None:
                if message.error():
                    assert message.error().code() == kafka.KafkaError._PARTITION_EOF, message.error()
                    return found
                found.append((message.key().decode(), message.value().decode()))
            raise AssertionError("it came to no end")
        finally:
            consumer.close()


def each_once(pairs):
    """How often each word was counted. Errors: AssertionError, if a count came twice or not at all."""
    counts = defaultdict(list)
    for word, count in pairs:
        counts[word].append(int(count))
    for word, found in counts.items():
        assert found == list(range(1, len(found) + 1)), f"{word}: {found}"
    return {word: len(found) for word, found in counts.items()}


LINES = ("the quick fox", "the lazy dog", "the fox")


def words(times):
    return Counter(" ".join(LINES * times).split())


def test_words_are_counted_exactly_once(streams, address, tmp_path):
    """One instance dies in the middle of a transaction, another goes on, a third joins, the second leaves."""
    records = Records(address)
    records.create("lines", partitions=2)
    records.create("counts")

    def instance(name, commit_ms):
        arguments = [address, "count", "lines", "counts", str(commit_ms), str(tmp_path / name)]
        return Program(streams, "WordCount", arguments, tmp_path / f"{name}.txt")

    def counted(times):
        return lambda: sum(each_once(records.read("counts")).values()) == sum(words(times).values())

    programs = [instance("first", 5_000)]
    try:
        records.produce("lines", *LINES)
        programs[0].waits("it has counted", counted(1))
        records.produce("lines", *LINES)
        both = sum(words(2).values())
        programs[0].waits("it counts", lambda: len(records.read("counts", "read_uncommitted")) >= both)
        assert each_once(records.read("counts")) == words(1), "it has committed already"
        programs[0].kill()
        programs.append(instance("second", 200))
        programs[1].waits("the second goes on", counted(2))
        programs.append(instance("third", 200))
        records.produce("lines", *LINES)
        programs[2].waits("it runs", lambda: "RUNNING" in programs[2].said.read_text())
        programs[1].end()
        records.produce("lines", *LINES)
        programs[2].waits("the third goes on", counted(4))
        programs[2].end()
    finally:
        for each in programs:
            each.kill()
    assert each_once(records.read("counts")) == words(4)
    # What shows that the first one's transaction was open when it died shows, too, that this test can fail.
    with Meddler(address, IGNORED) as broker, pytest.raises(AssertionError):
        each_once(records.read("counts", address=broker.address))


def test_a_file_is_copied(connect, address, tmp_path):
    """A worker dies, another goes on where it was, a third joins, the second leaves."""
    copied(connect, address, tmp_path)


def test_a_broker_that_forgets_the_sinks_offsets_is_found(connect, address, tmp_path):
    with Meddler(address, BUGS["commits are forgotten"]) as broker, pytest.raises(AssertionError):
        copied(connect, broker.address, tmp_path)


def copied(connect, address, tmp_path):
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    source.touch()
    lines = []

    def add(*more):
        lines.extend(more)
        with source.open("a") as file:
            file.writelines(f"{line}\n" for line in more)

    def there():
        return sink.exists() and len(sink.read_text().splitlines()) >= len(lines)

    def moved(worker, name, to):
        worker.waits(f"{name} is at {to}", lambda: worker.running(name) == [to])

    ports = free_ports(3)
    workers = [Worker(connect, address, ports[0], tmp_path)]
    try:
        package = "org.apache.kafka.connect.file"
        workers[0].connect(
            "source", connector_class=f"{package}.FileStreamSourceConnector", file=source, topic="lines"
        )
        workers[0].connect(
            "sink", connector_class=f"{package}.FileStreamSinkConnector", file=sink, topics="lines"
        )
        add("one", "two", "three")
        workers[0].waits("they are copied", there)
        time.sleep(2)  # four times as long as offsets may stay uncommitted
        workers[0].kill()
        add("four", "five")
        workers.append(Worker(connect, address, ports[1], tmp_path))
        workers[1].waits("the next worker copies", there)
        workers.append(Worker(connect, address, ports[2], tmp_path))
        until(
            "tasks are shared", lambda: len({*workers[1].running("source"), *workers[1].running("sink")}) == 2
        )
        add("six")
        workers[1].waits("both copy", there)
        time.sleep(2)
        workers[1].end()
        for name in ("source", "sink"):
            moved(workers[2], name, f"127.0.0.1:{ports[2]}")
        add("seven")
        workers[2].waits("the last one copies", there)
        workers[2].end()
    finally:
        for each in workers:
            each.kill()
    assert sink.read_text().splitlines() == lines
