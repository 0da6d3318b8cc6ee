"""The targets that have a name."""

from __future__ import annotations

from rota.conformance.targets.kafka_jars import RELEASES
from rota.conformance.targets.kfake import KFAKE
from rota.conformance.targets.krafka import KRAFKA
from rota.conformance.targets.tansu import TANSU

FOREIGN = {one.name: one for one in (KFAKE, TANSU, KRAFKA)}
"""Coordinators of others that are started by name."""

NAMES = ("rota", "librdkafka-mock", *RELEASES, *FOREIGN)
"""Every target that has a name."""
