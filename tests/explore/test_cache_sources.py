"""The name of a system's tables: another one after any change to what the system is made of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import toys

from rota.explore.cache import sources as here
from rota.explore.cache.sources import Sources, Unknowable, contents, installed, unit_of
from rota.explore.cache.store import NotKept, identity_of, roots
from rota.kernel import SystemRef
from rota.mutants import system

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "model/rota/kernel",
    "model/rota/spec",
    "model/rota/environment",
    "model/rota/invariants",
    "model/rota/explore/tables",
    "model/rota/explore/cache",
    "kit/rota/mutants",
)

Of = Callable[..., str]


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sources]:
    """`sources` that remembers nothing."""

    def told(*roots: str, locate: here.Locate = installed) -> Sources:
        contents.cache_clear()
        return here.sources(roots, locate)

    monkeypatch.setattr(here, "versions", lambda place: "foreign 1.0")
    return told


@pytest.mark.long
def test_every_file_that_a_system_is_made_of_counts(tmp_path: Path, anew: Callable[..., Sources]) -> None:
    for source in ("model", "kit"):
        shutil.copytree(ROOT / source, tmp_path / source, ignore=shutil.ignore_patterns("__pycache__"))

    def locate(unit: str) -> Path | None:
        places = (tmp_path / source / unit.replace(".", "/") for source in ("model", "kit"))
        return next((place for place in places if place.is_dir()), None)

    named = sorted(roots(system({})))
    before = anew(*named, locate=locate).code
    assert anew(*named, locate=locate).code == before
    seen = {before}
    files = [path for folder in FOLDERS for path in sorted((tmp_path / folder).rglob("*")) if path.is_file()]
    assert len(files) > 100
    assert any(path.name == "range.py" for path in files), "what only a table of functions names"
    for path in files:
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        after = anew(*named, locate=locate).code
        assert after not in seen, path.relative_to(tmp_path)
        seen.add(after)
        path.write_bytes(text)
    assert anew(*named, locate=locate).code == before
    for path in (tmp_path / "kit/rota/cli/check.py", tmp_path / "kit/rota/report/check_text.py"):
        path.write_text("changed = True\n", encoding="utf-8")
    assert anew(*named, locate=locate).code == before, "what only tells of a run is no part of a system"


PACKAGE = {
    "mine/__init__.py": "",
    "mine/system.py": "from mine.rules import RULES\nfrom . import world\n",
    "mine/rules.py": "RULES = {'a': 'mine.lazily'}\n",
    "mine/lazily.py": "def a(): from other import helper\n",
    "mine/world.py": "import far\n",
    "mine/data/table.toml": "a = 1\n",
    "other/__init__.py": "",
    "other/helper.py": "from (\n    nothing\n) import x\n",
    "far.py": "import json; import math, \\\n  near as n\n",
    "near.py": "x = 1\n",
    "unasked/__init__.py": "",
}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    return tmp_path


@pytest.mark.parametrize("name", PACKAGE)
def test_a_users_system_is_what_its_modules_import(
    mine: Path, name: str, anew: Callable[..., Sources]
) -> None:
    before = anew("mine.system")
    assert {"mine.system", "mine.rules", "mine.lazily", "mine.world", "other.helper", "far", "near"} <= set(
        before.modules
    )
    (mine / name).write_text(PACKAGE[name] + "\n# changed\n", encoding="utf-8")
    assert (anew("mine.system").code == before.code) == name.startswith("unasked")


def test_a_new_file_in_a_package_counts_too(mine: Path, anew: Callable[..., Sources]) -> None:
    before = anew("mine.system").code
    (mine / "mine" / "more.py").write_text("", encoding="utf-8")
    assert anew("mine.system").code != before


def test_what_is_installed_counts_by_its_version(
    mine: Path, anew: Callable[..., Sources], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = mine / "site-packages" / "foreign"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    installed.cache_clear()
    (mine / "near.py").write_text("import foreign\n", encoding="utf-8")
    before = anew("mine.system").code
    (package / "__init__.py").write_text("changed = True\n", encoding="utf-8")
    assert anew("mine.system").code == before
    monkeypatch.setattr(here, "versions", lambda place: "foreign 1.1")
    assert anew("mine.system").code != before


def test_a_system_of_no_file_has_no_name() -> None:
    with pytest.raises(Unknowable, match="nowhere is in no file"):
        here.sources(["nowhere"])


def test_a_folder_that_is_no_package_of_a_model(
    mine: Path, anew: Callable[..., Sources], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "MOST_BYTES", 10)
    with pytest.raises(Unknowable, match="holds too much"):
        anew("mine.system")


def test_what_changed_since_the_process_began_may_not_be_what_runs(
    mine: Path, anew: Callable[..., Sources]
) -> None:
    os.utime(mine / "near.py", (here.BEGAN - 100, here.BEGAN - 100))
    assert not anew("mine.system").settled
    for path in mine.rglob("*.*"):
        os.utime(path, (here.BEGAN - 100, here.BEGAN - 100))
    assert anew("mine.system").settled
    os.utime(mine / "near.py", (here.BEGAN + 1, here.BEGAN + 1))
    assert not anew("mine.system").settled


def test_settings_are_part_of_a_name() -> None:
    keys = {identity_of(one).key for one in (toys.ring(3), toys.ring(4), toys.counters(2), toys.counters(3))}
    assert len(keys) == 4
    assert identity_of(toys.ring(3)).key == identity_of(toys.ring(3)).key
    profiles = {identity_of(system({"profile": name})).key for name in ("kafka-4.x", "kafka-3.x")}
    assert len(profiles) == 2
    assert len({identity_of(system({}, only=name)).key for name in (None, "deadlock")}) == 2


def test_settings_that_cannot_be_written_down() -> None:
    odd = replace(toys.ring(3), ref=SystemRef("toys:ring", (("count", object()),)))
    with pytest.raises(NotKept, match="cannot be written down"):
        identity_of(odd)


def test_units() -> None:
    names = ("rota.spec.classic.join", "rota", "toys", "mine.deep.module")
    assert [unit_of(name) for name in names] == ["rota.spec", "rota", "toys", "mine"]
