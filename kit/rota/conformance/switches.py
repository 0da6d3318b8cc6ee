"""Points in which lines of brokers differ: those of the spec's profiles, and of the consumer protocol.

The consumer protocol's spec is Kafka 4.4's and has no switches yet: those that cases need stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from rota.spec import KAFKA_4, PROFILES, Profile

KAFKA_4_0 = "kafka-4.0"
"""The line 4.0: in the classic protocol it is Kafka 4 as the spec has it."""


@dataclass(frozen=True)
class ConsumerSwitches:
    """In what the consumer protocol of a line differs from that of Kafka 4.4.

    commits_at_its_epoch_alone: a member's commit at an older epoch is stale, whatever it commits (before
    KIP-1251). target_at_once: there is no assignment interval. joining_again_is_fenced: who is at its second
    epoch and joins again under its id is fenced. assignor_raises_no_epoch: a wish for another assignor counts
    with the next target. pending_is_not_described: a description leaves out what a member was told to give
    up.
    """

    commits_at_its_epoch_alone: bool = False
    target_at_once: bool = False
    joining_again_is_fenced: bool = False
    assignor_raises_no_epoch: bool = False
    pending_is_not_described: bool = False


_USUAL = ConsumerSwitches()
_OF_LINES: Mapping[str, ConsumerSwitches] = {
    KAFKA_4_0: ConsumerSwitches(
        commits_at_its_epoch_alone=True,
        target_at_once=True,
        joining_again_is_fenced=True,
        assignor_raises_no_epoch=True,
        pending_is_not_described=True,
    )
}
CONSUMER_SWITCHES = tuple(field.name for field in fields(ConsumerSwitches))


def spec_profile(name: str) -> Profile:
    """The spec's profile for a line of brokers."""
    return PROFILES.get(name, KAFKA_4)


def is_switch(name: str) -> bool:
    """Whether anything is called so in which lines may differ."""
    return name in CONSUMER_SWITCHES or all(hasattr(profile, name) for profile in PROFILES.values())


def differs(line: str, switch: str) -> bool:
    """Whether a line has another value of a switch than the usual one, Kafka 4."""
    if switch in CONSUMER_SWITCHES:
        return bool(getattr(_OF_LINES.get(line, _USUAL), switch) != getattr(_USUAL, switch))
    return bool(getattr(spec_profile(line), switch) != getattr(KAFKA_4, switch))
