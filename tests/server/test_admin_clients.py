"""Administration with unmodified clients: librdkafka's AdminClient and kafka-python's."""

import time

import pytest

from rota.server import running

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "log.cleaner.backoff.ms": 50}


@pytest.fixture
def address():
    with running(SETTINGS) as address:
        yield address


def test_librdkafka(address):
    admin = pytest.importorskip("confluent_kafka.admin")
    kafka = pytest.importorskip("confluent_kafka")
    client = admin.AdminClient({"bootstrap.servers": address})

    def done(futures):
        return {key: future.result(10) for key, future in futures.items()}

    config = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0"}
    done(client.create_topics([admin.NewTopic("t", 2, 1, config=config)]))
    done(client.create_partitions([admin.NewPartitions("t", 3)]))
    resource = admin.ConfigResource(admin.ResourceType.TOPIC, "t")
    (found,) = done(client.describe_configs([resource])).values()
    assert (found["cleanup.policy"].value, found["cleanup.policy"].source) == ("compact", 1)
    assert (found["retention.ms"].value, found["retention.ms"].is_default) == ("604800000", True)
    change = admin.ConfigEntry("retention.ms", "5000", incremental_operation=admin.AlterConfigOpType.SET)
    done(
        client.incremental_alter_configs(
            [admin.ConfigResource(resource.restype, "t", incremental_configs=[change])]
        )
    )
    (found,) = done(client.describe_configs([resource])).values()
    assert found["retention.ms"].value == "5000"
    broker = admin.ConfigResource(admin.ResourceType.BROKER, "1")
    (found,) = done(client.describe_configs([broker])).values()
    assert found["num.partitions"].value == "1"
    cluster = client.describe_cluster().result(10)
    assert [node.id for node in cluster.nodes] == [1]
    assert len(done(client.describe_topics(kafka.TopicCollection(["t"])))["t"].partitions) == 3

    producer = kafka.Producer({"bootstrap.servers": address})
    for number in range(5):
        producer.produce("t", b"%d" % number, b"k", partition=0)
        producer.flush(10)
        time.sleep(0.005)
    consumer = kafka.Consumer({"bootstrap.servers": address, "group.id": "g"})
    deadline, values = time.monotonic() + 10, []
    while values != [b"3", b"4"] and time.monotonic() < deadline:
        consumer.assign([kafka.TopicPartition("t", 0, 0)])
        values = [message.value() for message in consumer.consume(5, 0.5)]
    assert values == [b"3", b"4"]
    consumer.close()

    done(client.create_topics([admin.NewTopic("u", 1, 1)]))
    for number in range(3):
        producer.produce("u", b"%d" % number)
        producer.flush(10)
    place = kafka.TopicPartition("u", 0, 2)
    assert next(iter(done(client.delete_records([place])).values())).low_watermark == 2
    with pytest.raises(kafka.KafkaException, match="olicy"):
        done(client.delete_records([kafka.TopicPartition("t", 0, 1)]))
    with pytest.raises(kafka.KafkaException, match="Unknown topic config name: nonsense"):
        done(client.create_topics([admin.NewTopic("w", 1, 1, config={"nonsense": "1"})]))
    topics = client.list_topics(timeout=10).topics
    assert {"t", "u", "__consumer_offsets"} == {*topics}
    done(client.delete_topics(["t", "u"]))
    assert {*client.list_topics(timeout=10).topics} == {"__consumer_offsets"}


def test_kafka_python(address):
    kafka = pytest.importorskip("kafka")
    from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

    client = kafka.KafkaAdminClient(bootstrap_servers=address)
    client.create_topics([NewTopic("t", 1, 1, topic_configs={"max.message.bytes": "2000"})])
    told = client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "t")])
    assert "2000" in str(told)
    client.alter_configs(
        [ConfigResource(ConfigResourceType.TOPIC, "t", configs={"max.message.bytes": "900"})]
    )
    assert "900" in str(client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "t")]))
    producer = kafka.KafkaProducer(bootstrap_servers=address)
    producer.send("t", bytes(500)).get(10)
    with pytest.raises(kafka.errors.KafkaError):
        producer.send("t", bytes(1500)).get(10)
    consumer = kafka.KafkaConsumer("t", bootstrap_servers=address, auto_offset_reset="earliest")
    assert sum(map(len, consumer.poll(5_000).values())) == 1
    consumer.close()
    producer.close()
    client.delete_topics(["t"])
    client.close()
