"""Mutated frames: a few thousand of those that `make frames` sends by the million."""

import json
from time import thread_time

import pytest

from harness import mutated_frames
from harness.extremes import DEAR, STRETCH
from harness.mutated_frames import main, report, run_segment, wrong
from rota.server.groups import GroupService

LARGE = 64 << 20
"""Bytes that no allocator has ready from before."""


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """However slow this machine is, a frame is handled before the next one comes."""
    monkeypatch.setattr(mutated_frames, "SEGMENT", 3_000)
    monkeypatch.setattr("rota.server.turns.TURN_SECONDS", 60)
    monkeypatch.setattr("rota.server.turns.ITERATION_SECONDS", 3_600)


def test_no_mutated_frame_is_a_fault_and_half_of_them_reach_a_handler():
    line = run_segment(7)
    assert line["faults"] == []
    assert line["peak_mib"] < DEAR >> 20
    assert line["reached"].total() > 0.5 * line["sent"].total() == 1_500
    assert set(line["reached"]) == set(line["sent"]) > {"JoinGroup", "Produce", "OffsetCommit"}


def trusting(self, body, context):
    body["member_id"].index("m")
    context.reply({"error_code": 25})


def test_planted_bug_a_handler_that_trusts_its_client(monkeypatch):
    monkeypatch.setattr(GroupService, "_heartbeat", trusting)
    assert any("Heartbeat failed" in fault for fault in run_segment(7)["faults"])


def test_planted_bug_a_frame_that_holds_the_loop(monkeypatch):
    def slow(self, body, context):
        end = thread_time() + 1.1 * STRETCH
        while thread_time() < end:
            pass
        context.reply({"error_code": 25})

    monkeypatch.setattr(mutated_frames, "SEGMENT", 200)
    monkeypatch.setattr(GroupService, "_heartbeat", slow)
    assert any("held the loop for" in fault for fault in wrong(run_segment(7)))


@pytest.mark.parametrize("given_back", [0, 2 * LARGE], ids=["alone", "in a process that had more"])
def test_planted_bug_a_frame_that_costs_much(monkeypatch, given_back):
    """Also where what others have left is given back while frames are sent."""
    left = [bytearray(given_back)]

    def large(self, body, context):
        left.clear()
        assert len(b"x" * LARGE) == LARGE
        context.reply({"error_code": 25})

    monkeypatch.setattr(mutated_frames, "SEGMENT", 200)
    monkeypatch.setattr(GroupService, "_heartbeat", large)
    assert any("MiB at its peak" in fault for fault in wrong(run_segment(7)))


def test_a_run_goes_on_behind_its_last_segment(tmp_path, monkeypatch, capsys):
    out = tmp_path / "frames.jsonl"
    monkeypatch.setattr(mutated_frames, "SEGMENT", 200)
    for frames in (200, 600, 600):
        monkeypatch.setattr("sys.argv", ["frames", "--frames", str(frames), "--seed", "3", "--out", str(out)])
        assert main() == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["segment"] for line in lines] == [3, 4, 5]
    assert report(lines) in capsys.readouterr().out
    assert "all                         600" in report(lines)
