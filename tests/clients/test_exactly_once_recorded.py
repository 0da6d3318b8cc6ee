"""Exactly once, recorded: librdkafka's members and their transactional producers go through `rota record`."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from harness.exactly_once import PARTITIONS, exactly_once
from nights.night import Recorder
from rota.cli.main import main
from rota.mutants.core import core_bugs, planted
from rota.server import running

pytest.importorskip("confluent_kafka")

SETTINGS = {"group.initial.rebalance.delay.ms": 300}


@pytest.mark.parametrize(
    ("bug", "verdict", "rules"),
    [
        ("", "holds", []),
        ("aborted-offsets-count", "violated", ["offsets.fetch"]),
        pytest.param("stored-without-its-transaction", "violated", ["offsets.fetch"], marks=pytest.mark.long),
    ],
)
def test_what_is_committed_in_transactions_is_judged(bug, verdict, rules, tmp_path, caplog):
    """Planted is that offsets count which were aborted, or that they count at once."""
    caplog.set_level(logging.CRITICAL)
    path = tmp_path / "recording.jsonl"
    with (
        planted(core_bugs()[bug]) if bug else nullcontext(),
        running(SETTINGS) as address,
        Recorder(address, path, tmp_path / "port") as at,
    ):
        committed = exactly_once(at)
    assert len(committed) == PARTITIONS
    settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    given = ["validate", str(path), "--fresh", "--profile", "rota", "--json", *settings]
    account = json.loads(CliRunner().invoke(main, given).stdout)
    assert account["verdict"] == verdict, (account["violations"], account["undecided"])
    assert [one["rule"] for one in account["violations"]] == rules
