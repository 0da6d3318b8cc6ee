"""On Apache Kafka 4.4.0 a member whose leave the log refuses stays for ever, as the explored world says.

A session that ends while the log refuses removes its member all the same, as soon as the log is well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from beside_kafka.consumer_dialogues.stage import Stage, error
from beside_kafka.consumer_dialogues.steps import HEARTBEAT, body, join, settings, topic

SESSION = 2.0
SESSIONS = 4
"""For how many the member that has left is watched."""

TOPIC_SETTING, SET, UNSET = 2, 0, 1
REFUSED = "UNKNOWN_SERVER_ERROR"


@pytest.fixture
def stage(address: tuple[str, int]) -> Iterator[Stage]:
    with closing(Stage(address, "refused")) as made:
        yield made


def limit(stage: Stage, size: int | None) -> None:
    """The log of groups takes batches up to a size in bytes, or of any that is usual."""
    value = {"config_operation": UNSET if size is None else SET, "value": size and str(size)}
    config = {"name": "max.message.bytes", **value}
    offsets = {"resource_type": TOPIC_SETTING, "resource_name": "__consumer_offsets", "configs": [config]}
    (answer,) = stage.ask("IncrementalAlterConfigs", 1, {"resources": [offsets]})["responses"]
    assert answer["error_code"] == 0, answer


def heartbeat(stage: Stage, epoch: int, **said: Any) -> str:
    return error(stage.ask(HEARTBEAT, 1, body(stage, "m1", epoch, said))["error_code"])


@contextmanager
def refusing(stage: Stage) -> Iterator[None]:
    """The log takes nothing: a join of some other group tells when; m1 heartbeats meanwhile."""

    def refuses() -> bool:
        other = {"group": f"{stage.group}.{time.monotonic()}", "timeout": 1000, "topics": "t", "owns": ""}
        return heartbeat(stage, 2) == "NONE" and heartbeat(stage, 0, **other) == REFUSED

    limit(stage, 100)
    try:
        stage.until(refuses, "the log does not refuse")
        yield
    finally:
        limit(stage, None)


@pytest.fixture
def member(stage: Stage) -> None:
    """m1 is the only member of a new group, at epoch 2."""
    session = {"consumer_session_timeout_ms": int(SESSION * 1000), "consumer_heartbeat_interval_ms": 200}
    for step in (settings(**session), topic("t", 1), join("m1")):
        step(stage)


def members(stage: Stage) -> set[str]:
    """Of the group; the broker names one twice whose removal the log has refused."""
    return {one["member_id"] for one in stage.described()["members"]}


@pytest.mark.usefixtures("member")
def test_who_leaves_while_the_log_refuses_stays_for_ever(stage: Stage) -> None:
    with refusing(stage):
        assert heartbeat(stage, -1) == REFUSED
    time.sleep(SESSIONS * SESSION)
    assert members(stage) == {"m1"}


@pytest.mark.usefixtures("member")
def test_whose_session_ends_while_the_log_refuses_is_removed_afterwards(stage: Stage) -> None:
    with refusing(stage):
        time.sleep(1.5 * SESSION)
        assert members(stage) == {"m1"}
    stage.until(lambda: not members(stage), "m1 stays in the group")
