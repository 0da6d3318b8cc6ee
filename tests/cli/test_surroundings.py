"""Where rota runs: no home, no folder to write to, a directory that is gone, `python -m rota`."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import CliRunner

from rota.cli import compiled_code
from rota.cli.doctor import examine_kafka
from rota.cli.kept_tables import tables_folder
from rota.cli.main import main
from rota.conformance.cache_folder import NoHome, cache_folder
from rota.explore.cache import folder

ROOT = Path(__file__).parents[2]
OFFICE = ("check", "--system", "ticket_office:office")

Rota = Callable[..., CompletedProcess[bytes]]


def test_python_dash_m_is_the_command(rota: Rota) -> None:
    told = rota("nope")
    assert (told.returncode, told.stdout) == (2, b"")
    assert told.stderr == b"rota: no such command 'nope'; see `rota --help`\n"
    assert rota("--help").stdout.startswith(b"Usage: rota [OPTIONS] COMMAND")


def test_python_dash_m_has_workers(rota: Rota) -> None:
    configurations = ("--configuration", "core", "--configuration", "no-handshake", "--engine", "reference")
    told = rota("check", "--scope", "tiny", *configurations, "--workers", "2")
    unasked = [line for line in told.stderr.splitlines() if not line.startswith(b"check: ")]  # how far it is
    assert (told.returncode, unasked) == (0, [])
    assert b"with 2 workers" in told.stdout.splitlines()[-1]


def test_a_wheel_has_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hatchling = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    name = hatchling.build_wheel(str(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert "rota/__main__.py" in wheel.namelist()
        assert "rota/__init__.py" not in wheel.namelist()


@pytest.mark.parametrize("verb", [("rules",), OFFICE, ("doctor",)])
def test_a_working_directory_that_is_gone_is_told(rota: Rota, verb: tuple[str, ...]) -> None:
    told = rota(*verb, shell='mkdir gone && cd gone && rmdir ../gone && "$@"')
    assert (told.returncode, told.stdout) == (2, b"")
    assert told.stderr.splitlines()[-1].startswith(
        b"rota: the current directory: No such file or directory; "
    )


def test_no_folder_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("rota.cli.checking.explored", lambda *given: none())
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "systems"))
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, [*OFFICE, "--engine", "reference"])
    assert told.exit_code == 2
    assert told.stderr.startswith("rota: No usable temporary directory found in ['/tmp']; set TMPDIR")


# ---- no home


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a name or a home, as in a container."""

    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    for name in ("HOME", "ROTA_CACHE", "ROTA_TABLES", "XDG_CACHE_HOME", compiled_code.CHOSEN):
        monkeypatch.delenv(name, raising=False)


def test_without_a_home_no_tables_are_kept(
    homeless: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoHome, match="there is no home folder, and ROTA_CACHE names none"):
        cache_folder()
    assert tables_folder() is None
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "systems"))
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, list(OFFICE)).exit_code == 0
    told = CliRunner().invoke(main, ["doctor", "--clear-cache"])
    assert (told.exit_code, told.stdout) == (0, "tables are not kept here\n")


def test_without_a_home_it_is_told_where_jars_could_be(
    homeless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.conformance.targets.kafka_jars.find_java", lambda *given: None)
    found = examine_kafka()
    assert (found.state, found.remedy) == ("absent", "name a folder in ROTA_CACHE")
    told = CliRunner().invoke(main, ["conform", "--target", "kafka-4.4.0"])
    assert told.exit_code == 3
    assert "no home folder" in told.stderr
    assert "name a folder in ROTA_CACHE" in told.stderr


# ---- no folder for compiled code


@pytest.fixture
def temporary(homeless: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where a folder for this run would be made."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(compiled_code.CHOSEN, "")  # so that it is as before when the test is over
    return tmp_path


def test_where_compiled_code_has_a_folder_it_gets_no_other(temporary: Path) -> None:
    compiled_code.find_a_place()
    assert os.environ[compiled_code.CHOSEN] == ""
    assert [path.name for path in temporary.iterdir()] == ["file"]


@pytest.mark.parametrize("why", ["no folder", "no room"])
def test_where_it_has_none_it_gets_one_for_the_run(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    place = temporary / "file" / "__pycache__" if why == "no folder" else temporary
    monkeypatch.setattr(compiled_code, "_places", lambda: [place])
    monkeypatch.setattr(compiled_code, "NEEDED", 1 << 62 if why == "no room" else 0)
    compiled_code.find_a_place()
    made = Path(os.environ[compiled_code.CHOSEN])
    assert made.parent == temporary
    assert made.stat().st_mode & 0o777 == 0o700


def test_one_that_was_named_is_kept(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled_code.CHOSEN, "mine")
    monkeypatch.setattr(compiled_code, "_places", list)
    compiled_code.find_a_place()
    assert os.environ[compiled_code.CHOSEN] == "mine"


def test_the_folder_of_rota_comes_first(homeless: None) -> None:
    assert compiled_code._places() == [ROOT / "model" / "rota" / "explore" / "compiled" / "__pycache__"]


def test_a_full_disk_names_the_file_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="level-00001") as caught:
        folder.write(tmp_path / "level-00001", b"")
    assert caught.value.filename == str(tmp_path / "level-00001")
