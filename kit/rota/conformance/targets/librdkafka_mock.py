"""The mock cluster inside the confluent-kafka wheel, as a process of its own.

Usage: `python -m rota.conformance.targets.librdkafka_mock`.

Prints `HOST PORT` once it listens and ends when its standard input ends. It runs apart from the kit because
librdkafka asserts where Kafka would answer with an error: then this process aborts and the kit goes on.
"""

from __future__ import annotations

import sys
from typing import Any

INITIAL_DELAY_MS = 3000
"""The mock's own group initial rebalance delay; only its C interface could change it."""


def main() -> int:
    """Run a mock cluster of one broker until standard input ends."""
    from confluent_kafka import Producer

    configuration: dict[str, Any] = {
        "bootstrap.servers": "mock",
        "test.mock.num.brokers": 1,
        "log_level": 1,
    }
    producer = Producer(configuration)
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    print(broker.host, broker.port, flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
