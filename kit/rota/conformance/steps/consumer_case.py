"""How a case about the consumer protocol is registered, and the settings with which its limits are near."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rota.conformance.dialogues.broker_settings import (
    CONSUMER_HEARTBEAT,
    CONSUMER_INTERVAL,
    CONSUMER_MAX_SIZE,
    CONSUMER_MIN_HEARTBEAT,
    CONSUMER_MIN_SESSION,
    CONSUMER_SESSION,
)
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.rules import CONSUMER

SPOKEN = {"ConsumerGroupHeartbeat": (0, 1), "ConsumerGroupDescribe": (0, 1)}
TOPICS = {"CreateTopics": (5, 7), "Metadata": (10, 13)}
BY_NAME = {"OffsetCommit": (9, 9), "OffsetFetch": (9, 9)}
"""Versions in which members of the protocol commit and fetch, and topics are named."""

SESSION = 3.0
INTERVAL = 1.5
MOST = 3

LIMITS = {
    CONSUMER_SESSION: int(SESSION * 1000),
    CONSUMER_MIN_SESSION: 1000,
    CONSUMER_HEARTBEAT: 500,
    CONSUMER_MIN_HEARTBEAT: 100,
    CONSUMER_MAX_SIZE: MOST,
    CONSUMER_INTERVAL: int(INTERVAL * 1000),
}
"""Settings with which a session ends and a group is full soon: one broker for all cases of that."""


def rule_case(
    id: str,
    requirement: str,
    source: str,
    *,
    level: Level = Level.SHOULD,
    needs: Mapping[str, tuple[int, int]] | None = None,
    topics: bool = True,
    **about: Any,
) -> Callable[[Callable[[Dialogue], None]], Callable[[Dialogue], None]]:
    """Register a case; the id begins with the slug of a rule of the consumer protocol.

    topics: whether topics are made in it; the others are as of `case`.
    """
    wanted = {**SPOKEN, **(TOPICS if topics else {}), **(needs or {})}
    return case(f"{CONSUMER}.{id}", requirement, source, level=level, needs=wanted, **about)
