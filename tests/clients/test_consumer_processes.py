"""What the consumer processes tell of their libraries."""

import pytest


def test_a_librdkafka_that_is_closed_is_outside_of_its_group():
    """Its last callbacks may come when it has left: they are told all the same."""
    pytest.importorskip("confluent_kafka")
    from librdkafka_process import Librdkafka

    settings = {
        "address": "127.0.0.1:9",  # nobody is there
        "group_id": "g",
        "client_id": "c",
        "assignor": "range",
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 1000,
        "auto_offset_reset": "earliest",
        "more": {"log_level": 0},
    }
    consumer = Librdkafka(settings)
    consumer.close()
    assert consumer.membership() == (-1, "")
