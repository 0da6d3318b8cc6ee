"""`rota serve --data-dir` killed under load: what clients were told is so after the restart.

The number of kills is `ROTA_KILLS`; `make test-kills` has a thousand.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from harness.kills import Ledger, Lost, run

KILLS = int(os.environ.get("ROTA_KILLS", "50"))


@pytest.mark.parametrize(("fsync", "share"), [("always", 0.6), ("1000", 0.2), ("never", 0.2)])
def test_what_clients_were_told_outlives_kills(tmp_path: Path, fsync: str, share: float) -> None:
    """A kill takes nothing from a process whose system goes on, whatever the policy."""
    kills = round(KILLS * share)
    tally = run(tmp_path, kills, random.Random(fsync).randrange(1 << 30), fsync)
    print(f"fsync {fsync}: {tally}")
    within = sum(tally.ended[doing] for doing in ("append", "roll", "compaction"))
    assert sum(tally.ended.values()) == kills
    assert within >= kills // 2 * 0.8, "too few ended within what was to be tried"
    assert tally.answered > kills


def test_a_server_that_answers_before_it_writes_is_found(tmp_path: Path) -> None:
    with pytest.raises(Lost, match="told was"):
        run(tmp_path, 40, 1, forgetful=True)


def test_a_ledger_allows_what_was_asked_for_until_it_is_answered() -> None:
    ledger = Ledger({"g": [1]})
    ledger.asks("g", 2)
    assert ledger.allowed == {"g": [1, 2]}
    ledger.found("g", 1)
    with pytest.raises(Lost, match="g: found 2, told was 1"):
        ledger.found("g", 2)
    ledger.asks("g", 2)
    ledger.told("g")
    with pytest.raises(Lost, match="g: found 1, told was 2"):
        ledger.found("g", 1)
