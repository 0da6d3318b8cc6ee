"""Every package of rota can be imported from the archive alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy
import pytest

from rota.explore.spark import archive

SCRIPT = """
import importlib, sys
archive, packages, *names = sys.argv[1:]
sys.path.insert(0, archive)
sys.path.append(packages)  # for dependencies; without site, rota's own .pth entries are not followed
missing = []
for name in names:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert not (error.name or "").startswith("rota"), error
        missing.append(name)
        continue
    assert module.__file__.startswith(archive), (name, module.__file__)
print(len(names) - len(missing))
"""


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return archive.write(tmp_path_factory.mktemp("archive") / "rota.zip")


def test_every_package_is_imported_from_the_archive_alone(zipped: Path) -> None:
    with ZipFile(zipped) as file:
        names = [
            name.removesuffix("/__init__.py").replace("/", ".")
            for name in file.namelist()
            if name.endswith("/__init__.py")
        ]
    assert {"rota.kernel", "rota.explore", "rota.spec", "rota.wire", "rota.coordinator", "rota.cli"} <= set(
        names
    )
    dependencies = str(Path(numpy.__file__).parent.parent)
    run = subprocess.run(
        [
            sys.executable,
            "-S",
            "-E",
            "-c",
            SCRIPT,
            str(zipped),
            dependencies,
            *names,
            "rota.explore.spark.engine",
        ],
        capture_output=True,
        text=True,
        cwd=zipped.parent,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == len(names) + 1


def test_data_files_are_there(zipped: Path) -> None:
    with ZipFile(zipped) as file:
        names = file.namelist()
    assert "rota/scopes/tiny.toml" in names
    assert "rota/py.typed" in names
    assert {"rota/trace/chart.css", "rota/pages/page.css", "rota/pages/page.js"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]
    assert {"rota/", "rota/kernel/", "rota/cli/"} <= set(names)


def test_the_same_bytes_each_time(zipped: Path, tmp_path: Path) -> None:
    assert archive.write(tmp_path / "again.zip").read_bytes() == zipped.read_bytes()
