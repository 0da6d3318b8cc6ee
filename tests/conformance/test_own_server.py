"""rota's own server conforms: every case passes whose settings it has, in one run as of a user."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from rota.cli.conform import conform

SLOW = {"timers.new-member-expired.five-minutes", "expiry.empty-group.since-last-member"}


def test_embedded_conforms(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(conform, ["--embedded", "--json", "--seed", "4", "--out", str(tmp_path)])
    report = json.loads(outcome.stdout)
    other = {case["id"]: case["verdict"] for case in report["cases"] if case["verdict"] != "pass"}
    assert other == {id: "unsupported" for id in other if id.startswith("expiry.")}
    assert len(other) == 10, "rota's offsets do not expire"
    assert (outcome.exit_code, report["verdict"]) == (0, "conforms")
    assert report["seconds"] < 25
    assert {skipped["id"] for skipped in report["not_checked"]} == SLOW
