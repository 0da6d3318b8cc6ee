"""`rota check --resume` and `--resume-if-any`: from where it goes on, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main
from rota.explore.manifest import MANIFEST

Invoke = Callable[..., Result]

CORE = ("--scope", "tiny", "--configuration", "core", "--checkpoint", "kept")


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["check", *arguments])


def test_it_says_from_where_it_goes_on(invoke: Invoke) -> None:
    assert invoke(*CORE, "--max-states", "40").exit_code == 3
    kept = json.loads(Path("kept", "core", MANIFEST).read_bytes())
    whole = invoke(*CORE, "--resume", "--json")
    assert whole.exit_code == 0
    assert f"core: goes on from level {kept['level']}, {kept['states']} states" in whole.stderr
    (run,) = json.loads(whole.stdout)["runs"]
    assert run["stats"]["resumed"] == {"level": kept["level"], "states": kept["states"]}
    assert 0 < kept["level"] < run["depth"]
    assert sum(run["histogram"][: kept["level"] + 1]) == kept["states"]
    assert invoke(*CORE, "--resume", "--quiet").stderr == ""


@pytest.mark.parametrize(
    "found", ["nothing", pytest.param("an empty folder", marks=pytest.mark.long), "other configurations"]
)
def test_with_nothing_to_go_on_with_it_is_refused_or_begins(found: str, invoke: Invoke) -> None:
    if found == "an empty folder":
        Path("kept", "core").mkdir(parents=True)
    elif found == "other configurations":
        assert invoke("--scope", "tiny", "--configuration", "leave", *CORE[4:]).exit_code == 0
    refused = invoke(*CORE, "--resume")
    assert refused.exit_code == 2
    assert (
        "--resume: kept has no search of core to go on with; name the folder that has one" in refused.stderr
    )
    assert not Path("kept", "core", MANIFEST).exists()
    assert found != "nothing" or not Path("kept").exists()
    begun = invoke(*CORE, "--resume-if-any")
    assert begun.exit_code == 0
    assert "goes on from" not in begun.stderr
    assert "core: goes on from level" in invoke(*CORE, "--resume-if-any").stderr


def test_a_suite_goes_on_where_some_configuration_was_begun(invoke: Invoke) -> None:
    both = ("--configuration", "leave")
    assert invoke(*CORE).exit_code == 0
    result = invoke(*CORE, *both, "--resume")
    assert result.exit_code == 0
    assert "core: goes on from" in result.stderr
    assert "leave: goes on from" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--resume", "--resume-if-any"], "say one of them"),
        (["--resume-if-any"], "--resume-if-any needs the folder to go on with; name it: --checkpoint DIR"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], line: str, invoke: Invoke) -> None:
    result = invoke(*CORE[:4], *arguments)
    assert result.exit_code == 2
    assert line in result.stderr


@pytest.mark.parametrize("harm", ["manifest", "level", "values"])
def test_damage_is_exit_2_and_names_the_file_and_what_to_do(harm: str, invoke: Invoke) -> None:
    assert invoke(*CORE, "--max-states", "40").exit_code == 3
    path = sorted(Path("kept", "core").glob(f"{harm}*"))[0]
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    result = invoke(*CORE, "--resume")
    assert result.exit_code == 2
    assert f"{path} is damaged (it " in result.stderr
    assert "put it back as it was, or give an empty folder" in result.stderr


def test_what_cannot_be_written_is_said(invoke: Invoke) -> None:
    Path("kept").mkdir()
    Path("kept", "core").write_text("", encoding="utf-8")
    result = invoke(*CORE)
    assert result.exit_code == 2
    assert "kept/core" in result.stderr
