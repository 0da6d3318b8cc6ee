"""docs/liveness.md shows what `rota check --liveness` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "liveness.md").read_text(encoding="utf-8")


def test_the_lasso_on_the_page_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE.partition("## How to read a lasso")[2]
    command, *shown = re.findall(r"^    (.*)$", section, re.MULTILINE)
    result = CliRunner().invoke(main, command.split()[1:])
    assert result.exit_code == 1
    printed = iter(result.stdout.splitlines())
    wanted = [line for line in shown if line != "..."]
    assert len(wanted) > 12
    # in this order, with others between them
    assert [line for line in wanted if not any(line in each for each in printed)] == []
