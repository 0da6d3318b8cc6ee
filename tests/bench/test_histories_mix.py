"""Of what recordings consist, and whether what is planted behind them is found."""

from __future__ import annotations

import json

import pytest
from bench.histories_mix import RECORDINGS, TRUTH, main, mix_of

from harness.small_groups import all_small
from rota.population.files import Wanted, write

GROUPS, SEED = 3, 5


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three groups of few members; the servers of some remember a bug that shows."""
    folder = tmp_path_factory.mktemp("made")
    with all_small():
        written = write(Wanted(GROUPS, SEED, 0.5), folder)
    assert 0 < written.visible < GROUPS
    return folder, written


def test_what_there_is_is_counted(made):
    folder, written = made
    found = mix_of(folder / RECORDINGS)
    assert (found.events, found.requests) == (written.events, written.requests)
    assert found.beats == pytest.approx(written.as_json()["heartbeats"])
    assert len(found.generations) == GROUPS
    assert found.pairs == mix_of(folder / RECORDINGS).pairs > 100


def test_what_is_found_is_held_to_what_shows(made, capsys, tmp_path):
    folder, written = made
    assert main(folder) == 0
    said = capsys.readouterr().out
    assert f"bugs that show: {written.visible}, found: {written.visible}, violated without one: 0" in said
    truth = [json.loads(line) for line in (folder / TRUTH).read_text().splitlines()]
    sound = next(one for one in ("group-00000000-00", "group-00000001-00", "group-00000002-00")
                 if one not in {each["group"] for each in truth if each["shown"]})  # fmt: skip
    (tmp_path / RECORDINGS).symlink_to(folder / RECORDINGS)
    (tmp_path / TRUTH).write_text(json.dumps({"group": sound, "shown": "an answer"}) + "\n")
    assert main(tmp_path) == 1
    said = capsys.readouterr().out
    assert f"{sound}: not found" in said
    assert "violated without a bug that shows" in said
