"""What is judged leaves no cycles of objects behind, so that nobody need look for them meanwhile."""

from __future__ import annotations

import gc
import json
from functools import partial

import pytest
from click.testing import CliRunner

from harness.small_groups import all_small
from rota.cli.main import main
from rota.population.files import RECORDINGS
from rota.reading import ReadOptions, read
from rota.spec import KAFKA_4
from rota.validate.collecting import uncollected
from rota.validate.terms import Terms
from rota.validate.validation import Validation

FEW = 40
"""Objects in cycles that are no event's."""


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Of groups whose servers have bugs; every fortieth frame has a body that is none."""
    folder = tmp_path_factory.mktemp("made")
    with all_small():
        how = ("--histories", "12", "--seed", "5", "--bugs", "0.5", "--out", str(folder))
        assert CliRunner().invoke(main, ["simulate", *how, "--quiet"]).exit_code == 0
    for path in (folder / RECORDINGS).glob("*.jsonl"):
        lines = path.read_text().splitlines()
        path.write_text("\n".join(map(damaged, range(len(lines)), lines)))
    return list(read([str(folder / RECORDINGS)], options=ReadOptions(unordered=True)))


def damaged(number, line):
    told = json.loads(line)
    if number % 40 == 39 and "fields" in told.get("data", {}):
        told["data"]["fields"] = {"group_id": told["data"]["fields"].get("group_id"), "topics": 3}
    return json.dumps(told)


def cycles(events, also=lambda event: None):
    """Objects that only a look for cycles frees once events are judged."""
    gc.collect()
    with uncollected():
        assert gc.get_threshold()[0] == 0
        validation = Validation(Terms(KAFKA_4, fresh=True))
        for event in events:
            validation.take(event)
            also(event)
        account = validation.end()
    assert account.judged
    del validation, account
    return gc.collect()


def test_what_is_judged_leaves_no_cycles(events):
    usual = gc.get_threshold()
    assert len(events) > 20 * FEW
    cycles(events)
    assert cycles(events) < FEW
    assert gc.get_threshold() == usual


def test_a_planted_cycle_for_each_event_is_found(events):
    def cycle(kept):
        kept.append(kept)

    assert cycles(events, lambda event: partial(cycle, [event])()) > FEW
