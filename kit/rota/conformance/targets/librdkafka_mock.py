"""The mock cluster inside the confluent-kafka wheel, as a process of its own.

Usage: `python -P librdkafka_mock.py`.

Prints `HOST PORT` once it listens and ends when its standard input ends. It runs apart from the kit because
librdkafka asserts where Kafka would answer with an error: then this process aborts and the kit goes on.

A run starts a thousand of them. What the wheel's package imports around its one extension module takes two
thirds of a start, so the extension is loaded by itself where that works.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

INITIAL_DELAY_MS = 3000
"""The mock's own group initial rebalance delay; only its C interface could change it."""

_CONFIGURATION = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 1}

_PACKAGE = "confluent_kafka"

_LOOKED_UP = ("ClusterMetadata", "BrokerMetadata", "TopicMetadata", "PartitionMetadata")
"""Classes of `confluent_kafka.admin` that the extension makes objects of when it is asked for its brokers."""


def start() -> tuple[Any, str, int]:
    """A mock cluster of one broker: who keeps it alive, its host and its port."""
    try:
        return _start(_extension())
    except Exception:  # another version of the wheel, whose inside is another
        for name in (_PACKAGE, f"{_PACKAGE}.admin"):
            sys.modules.pop(name, None)
        import confluent_kafka

        return _start(confluent_kafka)


def _start(module: Any) -> tuple[Any, str, int]:
    producer = module.Producer(_CONFIGURATION)
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    return producer, broker.host, broker.port


def _extension() -> ModuleType:
    """The wheel's extension without the package around it. Errors: ImportError."""
    package = find_spec(_PACKAGE)
    folders = (package and package.submodule_search_locations) or ()
    files = (Path(folder, f"cimpl{suffix}") for folder in folders for suffix in EXTENSION_SUFFIXES)
    file = next((str(file) for file in files if file.is_file()), None)
    spec = file and spec_from_file_location("cimpl", file)
    if not spec or spec.loader is None:
        raise ImportError(f"no extension module of {_PACKAGE}")
    outer, admin = ModuleType(_PACKAGE), ModuleType(f"{_PACKAGE}.admin")
    for name in _LOOKED_UP:
        setattr(admin, name, type(name, (), {}))
    sys.modules.update({outer.__name__: outer, admin.__name__: admin})
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Run a mock cluster of one broker until standard input ends."""
    _alive, host, port = start()
    print(host, port, flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
