"""docs/your-own-system.md: its Python is one module, and every command prints what stands below it."""

from __future__ import annotations

import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-system.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = [block.strip("\n").splitlines() for block in re.findall(r"(?:^(?:    .*)\n)+", PAGE, re.MULTILINE)
         ]  # fmt: skip
COMMANDS = [
    (block[0].strip(), [line.strip() for line in printed])
    for block, printed in pairwise(SHOWN)
    if block[0].startswith("    rota ")
]
EXIT = {"holds": 0, "reached": 0, "violated": 1, "answered": 1}


def written(folder: Path, name: str) -> None:
    (folder / f"{name}.py").write_text("\n".join(PYTHON), encoding="utf-8")


def run(command: str) -> Result:
    return CliRunner().invoke(main, [*shlex.split(command)[1:], "--no-cache"])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's Python as a module in the current directory."""
    name = "two_phase"
    written(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) == 7
    assert {command.split()[1] for command, _ in COMMANDS} == {"check"}


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(command: str, printed: list[str], module: str) -> None:
    result = run(command)
    assert result.exit_code == EXIT[re.split(r"\W", printed[-1])[0]], result.output
    lines = iter(re.sub(r" +", " ", line) for line in result.stdout.splitlines())
    missing = [one for one in printed if not any(re.sub(r" +", " ", one) in line for line in lines)]
    assert missing == [], result.stdout


def test_two_phase_commit_takes_forty_lines() -> None:
    code = [line for line in "".join(PYTHON[:1]).splitlines() if line.strip()]
    assert len(code) <= 40


def test_every_premise_on_the_page_is_true_somewhere(module: str) -> None:
    from importlib import import_module

    from rota.explore import reference

    verdicts = reference.explore(import_module(module).system()).properties
    counted = {one.name: (one.judged, one.given) for one in verdicts if one.judged is not None}
    assert set(counted) == {"consistent", "final"}
    assert all(judged > given > 0 for judged, given in counted.values() if judged and given is not None)
