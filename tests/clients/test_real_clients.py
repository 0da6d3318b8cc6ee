"""Real consumers join, leave, crash and commit; their histories are what the protocol promises."""

from operator import attrgetter

import pytest

from harness.thinned import some
from rota.clients.performances import cases
from rota.clients.scenarios import SCENARIOS

# kafka-python reads its schemas in a way that the standard library gives up.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")


ALSO = (
    "first_is_killed-kafka-python-range",
    "newcomer_continues-mixed-other-first-range",
    "one_of_three_leaves-mixed-roundrobin",
    "pair_joins_and_parts-kafka-python-cooperative-sticky",
    "third_joins-librdkafka-cooperative-sticky",
)
"""Every library, mixed both ways, and every assignor, beside one group at least that plays each scenario."""


@pytest.mark.parametrize(
    "case", some(cases(), 6, always=ALSO, kind=attrgetter("scenario"), first=1, name=str), ids=str
)
def test_scenario(case, played):
    if played.failure:
        raise played.failure
    assert {event.kind for event in played.world.history.events()} >= {"assigned", "record", "ended"}


def test_every_scenario_is_played():
    assert {case.scenario for case in cases()} == set(SCENARIOS)
