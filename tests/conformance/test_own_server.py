"""rota's own server conforms: every case passes, in one run as a user would start it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from rota.cli.conform import conform

SLOW = {"timers.new-member-expired.five-minutes", "expiry.empty-group.since-last-member"}


def test_embedded_conforms(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(conform, ["--embedded", "--json", "--seed", "4", "--out", str(tmp_path)])
    report = json.loads(outcome.stdout)
    assert {case["id"]: case["verdict"] for case in report["cases"] if case["verdict"] != "pass"} == {}
    assert (outcome.exit_code, report["verdict"]) == (0, "conforms")
    assert report["seconds"] < 25
    assert {skipped["id"] for skipped in report["not_checked"]} == SLOW
