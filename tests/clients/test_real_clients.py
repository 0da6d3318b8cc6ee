"""Real consumers join, leave, crash and commit; their histories are what the protocol promises."""

import pytest

from rota.clients.performances import cases
from rota.clients.scenarios import SCENARIOS

# kafka-python reads its schemas in a way that the standard library gives up.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")


@pytest.mark.parametrize("case", cases(), ids=str)
def test_scenario(case, played):
    if played.failure:
        raise played.failure
    assert {event.kind for event in played.world.history.events()} >= {"assigned", "record", "ended"}


def test_every_scenario_is_played():
    assert {case.scenario for case in cases()} == set(SCENARIOS)
