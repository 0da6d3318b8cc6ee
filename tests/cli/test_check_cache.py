"""`rota check` with tables of earlier runs, without them, and `rota doctor --clear-cache`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.thinned import but
from rota.cli.kept_tables import tables_folder
from rota.cli.main import main

CORE = ("check", "--scope", "tiny", "--configuration", "core")

Invoke = Callable[..., Result]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of tables, which tests of anything else do without."""
    assert tables_folder() is None
    monkeypatch.delenv("ROTA_TABLES")
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tables"


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, [*arguments])


def reported(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


@pytest.mark.parametrize("engine", but(["numpy"], ["fast", "numpy"]))
def test_the_second_run_says_what_came_from_the_cache(
    invoke: Invoke, tables: Path, engine: str, timeless: Callable[[Any], Any]
) -> None:
    first = reported(invoke(*CORE, "--engine", engine, "--json"))
    second = reported(invoke(*CORE, "--engine", engine, "--json"))
    learned = first["identity"]["cache"]["entries_learned"]
    assert first["identity"]["cache"] == {"entries_learned": learned, "entries_from_cache": 0, "notes": []}
    assert second["identity"]["cache"] == {"entries_learned": 0, "entries_from_cache": learned, "notes": []}
    assert learned > 100
    for report in (first, second):
        del report["identity"]["cache"], report["sampled"], report["runs"][0]["stats"]
    assert timeless(first) == timeless(second)
    lines = invoke(*CORE, "--engine", engine).stdout.splitlines()
    assert f"tables: {learned:,} entries from the cache, 0 learned" in lines
    assert len(list(tables.iterdir())) == 1


def test_without_the_cache_nothing_is_read_or_written(invoke: Invoke, tables: Path) -> None:
    assert reported(invoke(*CORE, "--engine", "numpy", "--no-cache", "--json"))["identity"]["cache"] is None
    assert not tables.exists()
    reported(invoke(*CORE, "--engine", "numpy", "--json"))
    (path,) = tables.iterdir()
    path.write_bytes(b"damaged")
    plain = invoke(*CORE, "--engine", "numpy", "--no-cache")
    assert "tables:" not in plain.stdout
    assert path.read_bytes() == b"damaged"


def test_a_damaged_file_is_noted(invoke: Invoke, tables: Path) -> None:
    invoke(*CORE, "--engine", "numpy")
    (path,) = tables.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    result = invoke(*CORE, "--engine", "numpy")
    assert result.exit_code == 0
    assert "note: " in result.stdout
    assert "is not as it was written" in " ".join(result.stdout.split())


def test_engines_without_tables_of_their_own_say_nothing(invoke: Invoke, tables: Path) -> None:
    assert reported(invoke(*CORE, "--engine", "reference", "--json"))["identity"]["cache"] is None
    assert not tables.exists()


def test_workers_use_it_too(invoke: Invoke, tables: Path) -> None:
    both = ("check", "--scope", "tiny", "--configuration", "core", "--configuration", "no-handshake",
            "--workers", "2", "--engine", "numpy", "--json")  # fmt: skip
    first, second = reported(invoke(*both)), reported(invoke(*both))
    assert (
        second["identity"]["cache"]["entries_from_cache"] == first["identity"]["cache"]["entries_learned"] > 0
    )
    assert second["identity"]["cache"]["entries_learned"] == 0


def test_clearing_it(invoke: Invoke, tables: Path) -> None:
    assert reported(invoke("doctor", "--clear-cache", "--json"))["files"] == 0
    invoke(*CORE, "--engine", "numpy")
    (tables.parent / "kafka-4.4.0").mkdir()
    size = sum(path.stat().st_size for path in tables.iterdir())
    told = invoke("doctor", "--clear-cache")
    assert told.stdout == f"cleared: 1 files, {size:,} bytes in {tables}\n"
    assert not list(tables.iterdir())
    assert (tables.parent / "kafka-4.4.0").is_dir()


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ROTA_TABLES", "ROTA_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tables_folder() == tmp_path / ".cache" / "rota" / "tables"
    monkeypatch.setenv("ROTA_CACHE", "elsewhere")
    assert tables_folder() == Path("elsewhere") / "tables"
    monkeypatch.setenv("ROTA_TABLES", "here")
    assert tables_folder() == Path("here")
    monkeypatch.setenv("ROTA_TABLES", "off")
    assert tables_folder() is None
