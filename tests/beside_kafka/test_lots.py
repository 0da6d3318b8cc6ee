"""Which dialogues say whom a coordinator has drawn as leader: all of them are known, found without Kafka.

Kafka draws by the hash order of random ids. A dialogue that shows it differs from rota in one run of eight or
so and is the same in the others; a comparison with Kafka meets it by accident, another order meets it always.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rota.conformance.catalogue import all_scripts
from rota.conformance.comparison.compare import Likeness, compare
from rota.conformance.comparison.known_differences import KNOWN_DIFFERENCES
from rota.conformance.runner import Options, divide
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.remote import Embedded
from rota.conformance.targets.target import Target
from rota.coordinator import Choices, CoordinatorConfig, GroupCoordinator

OPTIONS = Options(seed=1)


class LastLeads:
    """The choices of rota's server, but the last candidate leads and not the first."""

    def __init__(self, choices: Choices) -> None:
        self.now_ms = choices.now_ms
        self.new_member_id = choices.new_member_id
        self.protocol = choices.protocol

    def leader(self, candidates: tuple[str, ...]) -> str:
        return max(candidates)


def last_leads(config: CoordinatorConfig, choices: Choices) -> GroupCoordinator:
    return GroupCoordinator(config, LastLeads(choices))


def start(settings: Mapping[str, int]) -> Embedded:
    return Embedded(settings, last_leads)


@pytest.mark.long
def test_what_another_choice_of_leader_changes_is_known_to_be_drawn_by_lot() -> None:
    rota = parse_target("rota")
    other = Target("last-leads", start, fresh=True, parallel=rota.parallel, settable=True)
    compared = compare(divide(all_scripts(), rota, OPTIONS)[0], other, rota, OPTIONS)
    changed = {one.script.id for one in compared if one.likeness is Likeness.DIFFERS}
    assert changed == {known.id for known in KNOWN_DIFFERENCES if known.varies}
