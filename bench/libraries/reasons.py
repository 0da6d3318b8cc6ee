"""Why tests of the libraries do not pass on a broker, as far as it was looked for."""

from __future__ import annotations

from collections.abc import Mapping

_ADMIN = "test/integration/test_admin_integration.py::"
REASONS: Mapping[str, Mapping[str, str]] = {
    "kafka-python": {
        f"{_ADMIN}test_alter_replica_log_dirs": "rota has no AlterReplicaLogDirs: it has no log folders",
        f"{_ADMIN}test_describe_configs_broker_resource_returns_configs": (
            "rota's DescribeConfigs does not tell of `advertised.listeners`"
        ),
        f"{_ADMIN}test_describe_metadata_quorum": "rota has no DescribeQuorum: it has no voting controllers",
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
