"""Every field of every request at its extremes: a sample of the list, which `make extremes` sends whole."""

import pytest

from harness.extremes import STRETCH, judged, pace, served
from harness.thinned import some
from rota.server.groups import GroupService

SERVED = served([])
SAMPLE = 15

GROUPS = (
    "ConsumerGroupHeartbeat",
    "Heartbeat",
    "JoinGroup",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "SyncGroup",
)
"""What members ask; of all else an eighth."""


@pytest.mark.parametrize("name", some(SERVED, 8, always=GROUPS))
def test_no_extreme_harms_anybody(name):
    """Beside others, which share caches and execution units, the same takes twice the time."""
    found = [*judged(name, SERVED[name], SAMPLE, seed=1, stretch=3 * STRETCH)]
    if found and (slower := pace()) > 1:
        found = [*judged(name, SERVED[name], SAMPLE, seed=1, stretch=3 * STRETCH * slower)]
    assert found == []


def test_planted_bug_a_handler_that_trusts_its_client(monkeypatch):
    monkeypatch.setattr(GroupService, "_heartbeat", lambda self, body, caller: body["member_id"].index("m"))
    with pytest.raises(AssertionError):
        assert [*judged("Heartbeat", SERVED["Heartbeat"], SAMPLE, seed=1)] == []


def test_planted_bug_frames_in_one_go(monkeypatch):
    """On whatever machine: four times as long as is allowed here."""
    monkeypatch.setattr("rota.server.turns.TURN_SECONDS", 10)
    monkeypatch.setattr("rota.server.turns.ITERATION_SECONDS", 10)
    found = judged("Metadata", range(12, 14), stretch=STRETCH * pace() / 2)
    assert any("held the loop" in line for line in found)
