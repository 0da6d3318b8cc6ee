"""The optional parts of rota: what each adds, which packages it needs, how to install it."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution. packages: (distribution, importable module) pairs."""

    name: str
    adds: str
    packages: tuple[tuple[str, str], ...]

    @property
    def install(self) -> str:
        """The shell command that installs it into the interpreter that runs now."""
        return f"{sys.executable} -m pip install 'rota[{self.name}]'"


EXTRAS = (
    Extra("fast", "the compiled engine", (("numpy", "numpy"), ("numba", "numba"))),
    Extra(
        "spark",
        "the Spark engine (needs Java 17 or later)",
        (("pyspark", "pyspark"), ("numpy", "numpy"), ("pyarrow", "pyarrow")),
    ),
    Extra("proofs", "rota prove", (("z3-solver", "z3"),)),
    Extra("liveness", "rota check --liveness", (("networkx", "networkx"),)),
    Extra(
        "targets",
        "the target librdkafka-mock and real clients",
        (("confluent-kafka", "confluent_kafka"),),
    ),
    Extra("capture", "captured packets (pcap, pcapng) as sources", (("dpkt", "dpkt"),)),
    Extra(
        "compression",
        "batches of the offsets topic that are packed with snappy, lz4 or zstd",
        (("cramjam", "cramjam"),),
    ),
    Extra(
        "test",
        "rota's own tests",
        (
            ("pytest", "pytest"),
            ("hypothesis", "hypothesis"),
            ("networkx", "networkx"),
            ("kio", "kio"),
            ("kafka-python", "kafka"),
        ),
    ),
)


def extra_for(module: str) -> Extra | None:
    """The first extra that brings `module` (dotted names count by their first part), or None."""
    root = module.partition(".")[0]
    for extra in EXTRAS:
        if any(root == importable for _, importable in extra.packages):
            return extra
    return None
