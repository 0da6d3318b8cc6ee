"""docs/server-limits.md is what was measured and what the code limits, and has every offence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.offenders import CONNECTIONS
from bench.offenders_limits import CHEAP, LIMITS, Limit
from bench.offenders_list import OFFENCES
from bench.offenders_page import page
from bench.offenders_table import rows_in

from rota.coordinator import ErrorCode as CoordinatorErrorCode
from rota.server.errors import ErrorCode
from rota.server.settings import KNOWN, default

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIGURES = (DOCS / "offenders.json").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "impl" / "rota").rglob("*.py")]


def test_the_page_is_written_from_the_figures_and_the_limits() -> None:
    written = (DOCS / "server-limits.md").read_text(encoding="utf-8")
    assert written == page(FIGURES), "out of date; run `python -m bench.offenders_page`"


def test_every_offence_was_measured_from_one_and_from_several_connections() -> None:
    those = {(row.offence, row.connections) for row in rows_in(FIGURES)}
    wanted = {(name, number) for name in OFFENCES for number in CONNECTIONS if name != "nobody"}
    assert those == wanted | {("nobody", 0)}


def test_every_offence_has_a_limit_or_is_cheap() -> None:
    named = [name for one in (*LIMITS, *CHEAP) for name in one.offences]
    assert OFFENCES.keys() - {*named} == {"nobody"}
    assert {*named} <= OFFENCES.keys()


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.where)
def test_a_limit_is_what_the_code_has(limit: Limit) -> None:
    assert limit.value == default(limit.where) if limit.where in KNOWN else limit.value > 0
    code = re.fullmatch(r"[A-Z_]+", limit.told)
    assert code is None or hasattr(ErrorCode, limit.told) or hasattr(CoordinatorErrorCode, limit.told)
    assert not limit.log or any(limit.log.partition(" HOST")[0] in source for source in SOURCES)


def test_a_limit_that_is_not_there_is_a_mistake() -> None:
    for where in ("no.such.setting", "rota.server.settings:NONE"):
        with pytest.raises((KeyError, AttributeError)):
            assert Limit((), "", where, "", "").value
