"""docs/your-own-system.md: its machines take forty lines, its premises are true somewhere.

That its commands print what the page shows is tested with those of all pages (tests/docs).
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from rota.explore import reference
from rota.report.site.blocks import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-system.md").read_text(encoding="utf-8")
PYTHON = ["\n".join(block.body) for block in blocks(PAGE) if block.file == "two_phase.py"]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's Python as a module in the current directory."""
    name = "two_phase"
    (tmp_path / f"{name}.py").write_text("\n".join(PYTHON), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_two_phase_commit_takes_forty_lines() -> None:
    code = [line for line in PYTHON[0].splitlines() if line.strip()]
    assert 30 < len(code) <= 40


def test_every_premise_on_the_page_is_true_somewhere(module: str) -> None:
    verdicts = reference.explore(import_module(module).system()).properties
    counted = {one.name: (one.judged, one.given) for one in verdicts if one.judged is not None}
    assert set(counted) == {"consistent", "final"}
    assert all(judged > given > 0 for judged, given in counted.values() if judged and given is not None)
