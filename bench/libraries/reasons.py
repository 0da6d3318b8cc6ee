"""Why tests of the libraries do not pass on a broker, as far as it was looked for."""

from __future__ import annotations

from collections.abc import Mapping

_ADMIN = "test/integration/test_admin_integration.py::"
_STATIC = "rota's consumer protocol (KIP-848) has no static members"
_DOCKER = "stops and starts a broker through docker compose"
_SCRIPTS = "wants a folder with Kafka's shell scripts (KAFKA_PATH)"
REASONS: Mapping[str, Mapping[str, str]] = {
    "franz-go": {
        "Test848RegexBrokerResolves": "rota's consumer protocol (KIP-848) has no regular expressions",
        "TestGroupETL/sticky/848/static": _STATIC,
        "TestTxnEtl/sticky/848/static": _STATIC,
    },
    "kafka-go": {
        "TestClient/retrieve_committed_offsets_for_a_consumer_group_and_topic": (
            "on Kafka its reader gets nothing in 30 s; it was looked at no further"
        ),
        "TestClientElectLeaders": "on Kafka REQUEST_TIMED_OUT, since the test gives no timeout",
        "TestReader": "ends its process, as its last subtest (see below) fails",
        "TestReaderConsumerGroup/consumer_group_commits_on_close": (
            "asks with a dialer that it has not set, and panics, which ends all that run beside it"
        ),
        "TestReaderConsumerGroup/verify_offset_committed_when_using_interval_committer": (
            "panics as the one about commits on close does; whichever of them comes first ends the process"
        ),
        "TestReaderConsumerGroup/consumer_group_rebalance": "runs beside those that end their process",
        "TestReaderConsumerGroup/rebalance_across_many_partitions_and_consumers": (
            "on Kafka it had not begun when its process ended"
        ),
        "TestRebalanceTooManyConsumers": "reads nothing within its 10 s on either",
        "TestReaderReadCompactedMessage": "INVALID_CONFIG on both: 4.4.0 allows no segments of 200 bytes",
        "TestWriter/writing_a_message_with_SASL_Plain_authentication": "wants a listener with SASL at 9093",
    },
    "sarama": {
        "TestFuncAdminQuotas": "rota throttles nobody and has no AlterClientQuotas",
        "TestFuncAdminDescribeConfig": "rota's DescribeConfigs has no documentation of a config",
        "TestFuncAdminListConsumerGroupOffsets": _DOCKER,
        "TestFuncTxnProduceWithBrokerFailure": _DOCKER,
        "TestFuncIdempotentBufferedSequence": "reads the log of a broker through docker",
        "TestFuncAdminAlterPartitionReassignments": "wants two brokers, and there is one",
        "TestConsumerFetchFollowerFailover": "wants a follower, and there is one broker",
        "TestFuncAdminDescribeLogDirs": "wants five brokers, and there is one",
    },
    "librdkafka": {
        "0052_msg_timestamps": _SCRIPTS,
        "0077_compaction": _SCRIPTS,
        "0081_admin": "neither broker is started with an authorizer",
        "0092_mixed_msgver": "INVALID_CONFIG on both: 4.4.0 has no message.format.version any more",
        "0103_transactions": "makes a topic with three replicas, and there is one broker",
        "0109_auto_create_topics": _SCRIPTS,
        "0115_producer_auth": _SCRIPTS,
        "0119_consumer_auth": _SCRIPTS,
        "0129_fetch_aborted_msgs": "INVALID_CONFIG on both: 4.4.0 allows no segments of 20,000 bytes",
    },
    "kafka-python": {
        f"{_ADMIN}test_create_partitions": "INVALID_REPLICA_ASSIGNMENT on both, for its brokers",
        "test/integration/test_consumer_integration.py::test_group": (
            "the group is not stable after 30 s on either; it was looked at no further"
        ),
        f"{_ADMIN}test_create_describe_delete_acls": "neither broker is started with an authorizer",
        "test/integration/test_ssl_integration.py::TestSSLConnection::test_ssl_handshake": (
            "starts a Kafka from a folder that the archive does not have"
        ),
        "test/integration/test_ssl_integration.py::TestSSLConnection::test_legacy_kafka_client_ssl": (
            "starts a Kafka from a folder that the archive does not have"
        ),
    },
}
"""Suite → test → the reason."""
