"""A verdict says what it rests on, what never fired and what was not judged; the same run says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.thinned import but
from rota.cli.main import main
from rota.explore import engines
from rota.explore.cache import sources as sources_module
from rota.report.check_model import Report

SYSTEMS = Path(__file__).parents[1] / "systems"

CIRCUMSTANCES = {"stats", "sampled", "cache"}
"""Keys, beside those that begin with `seconds`, of what depends on how a run was made: with how many
workers, from which tables."""

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(SYSTEMS))
    monkeypatch.setenv("PYTHONPATH", str(SYSTEMS))
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: CliRunner().invoke(main, ["check", *arguments])


def alone(folder: Path, *arguments: str, seed: str = "random", **environment: str) -> Any:
    """What `rota check --json` says in a process of its own."""
    path = os.pathsep.join([str(folder), str(SYSTEMS)])
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path, "ROTA_TABLES": "off", **environment}
    command = [
        sys.executable,
        "-B",
        "-m",
        "rota",
        "check",
        "--json",
        "--out",
        str(folder / "out"),
        *arguments,
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=folder)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def without(told: Any, drop: Callable[[str], bool]) -> Any:
    if isinstance(told, dict):
        return {key: without(value, drop) for key, value in told.items() if not drop(key)}
    return [without(one, drop) for one in told] if isinstance(told, list) else told


def timeless(told: Any) -> str:
    return json.dumps(without(told, lambda key: key.startswith("seconds")))


def answer(told: Any) -> str:
    return json.dumps(without(told, lambda key: key.startswith("seconds") or key in CIRCUMSTANCES))


# ---- told again


TWO = ("--scope", "tiny", "--configuration", "core", "--configuration", "no-handshake")


Two = Callable[[str, str, str], Any]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Two:
    """What an engine says with so many workers and a seed of hashes, which it is asked once."""

    @cache
    def told(engine: str, workers: str, seed: str) -> Any:
        what = (*TWO, "--engine", engine, "--workers", workers)
        return alone(tmp_path_factory.mktemp("alone"), *what, seed=seed)

    return told


@pytest.mark.long
@pytest.mark.parametrize(("engine", "workers"), [("reference", "2"), ("numpy", "1"), ("fast", "2")])
def test_the_same_run_says_the_same_but_for_seconds(engine: str, workers: str, two: Two) -> None:
    first, second = (two(engine, workers, seed) for seed in ("1", "77"))
    assert timeless(first) == timeless(second)
    assert first["verdict"] == "holds"


@pytest.mark.long
@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_workers_change_circumstances_only(engine: str, two: Two) -> None:
    alone_it_says, both_say = (two(engine, count, "1") for count in ("1", "2"))
    assert answer(alone_it_says) == answer(both_say)


def test_kept_tables_change_circumstances_only(tmp_path: Path) -> None:
    what = (*TWO, "--engine", "numpy", "--workers", "1")
    runs = [alone(tmp_path, *what, ROTA_TABLES=str(tmp_path / "tables")) for _ in range(3)]
    assert answer(runs[0]) == answer(runs[1])
    assert timeless(runs[1]) == timeless(runs[2])
    cold, warm, _ = (run["identity"]["cache"] for run in runs)
    assert cold["entries_from_cache"] == warm["entries_learned"] == 0
    assert cold["entries_learned"] == warm["entries_from_cache"] > 0


@pytest.mark.long
@pytest.mark.spark
def test_on_spark_the_same_run_says_the_same_but_for_seconds(tmp_path: Path) -> None:
    what = (*TWO, "--engine", "spark", "--master", "local[2,4]")
    first, second = (alone(tmp_path, *what) for _ in range(2))
    assert timeless(first) == timeless(second)
    assert first["identity"]["engine"] == "spark"
    assert "pyspark" in first["identity"]["versions"]


# ---- identity


def test_a_verdict_names_sources_versions_settings_and_engine(invoke: Invoke) -> None:
    told = json.loads(invoke(*TWO, "--engine", "reference", "--json").stdout)["identity"]
    assert set(told) == {"sources", "unknown", "versions", "settings", "engine", "cache"}
    assert len(told["sources"]) == 32
    assert told["unknown"] is None
    assert set(told["versions"]) == {"rota", "python"}, "the reference engine uses nothing else"
    asked = {"scope": "tiny", "configurations": ["core", "no-handshake"], "profile": "kafka-4.x"}
    assert told["settings"] == {**told["settings"], **asked}
    assert (told["engine"], told["cache"]) == ("reference", None)
    lines = invoke(*TWO, "--engine", "numpy").stdout.splitlines()
    short = told["sources"][:12]
    assert lines[-1].endswith(f", sources {short}")
    assert any(line.startswith(f"judged by: sources {short}, rota ") and "numpy" in line for line in lines)


MODEL = """
from helpers_of_mine import LAST
from rota.kernel import Outcome, Kind, Property, System, View
import toys

def whole(value):
    return value

def system():
    machine = toys.Toy("it", "it", (0,), lambda value: [Outcome((value + 1) % LAST)])
    fine = Property("fine", Kind.SAFETY, "Fine.", (View("it", whole),), lambda value: value >= 0)
    return System("mine", (machine,), (fine,))
"""


def write(folder: Path, last: int) -> None:
    """A model, long ago: what is younger than a process may not be what it has loaded."""
    for name, text in (("model_of_mine", MODEL), ("helpers_of_mine", f"LAST = {last}\n")):
        path = folder / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (10**9 + last, 10**9 + last))


def test_a_change_of_any_module_is_another_identity(tmp_path: Path) -> None:
    mine = ("--system", "model_of_mine:system", "--engine", "reference")
    seen = []
    for last in (3, 4, 3):
        write(tmp_path, last)
        seen.append(alone(tmp_path, *mine)["identity"]["sources"])
    assert seen[0] == seen[2] != seen[1]
    assert None not in seen


LOADED = """
import sys
from rota.cli.main import main
try:
    main(["check", "--scope", "tiny", "--configuration", "core", "--engine", sys.argv[1], "--quiet"])
except SystemExit:
    pass
from rota.cli import check
from rota.explore.cache.sources import sources
counted = set(sources([check.__name__]).modules)
# __main__ of the script is no part of rota, and a name that is only a folder has no text
loaded = {name for name, module in sys.modules.items() if name.startswith("rota.") and module.__file__}
# what starts the verb, and where compiled code is put meanwhile, has no part in a verdict
print(sorted(loaded - counted - {"rota.cli.main", "rota.cli.compiled_code"}))
"""


@pytest.mark.parametrize("engine", but(["reference"], ["reference", "fast"]))
def test_all_that_a_check_loads_counts(engine: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, engine], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_identity_that_forgets_a_module_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted: a folder's other modules do not count, and imports are not followed."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def codes() -> set[str]:
        out = set()
        for last in (3, 4):
            write(tmp_path, last)
            sources_module.contents.cache_clear()
            out.add(sources_module.sources(["model_of_mine"]).code)
        return out

    assert len(codes()) == 2
    only = lambda place: (str(place if place.is_file() else place / "__init__.py"),)  # noqa: E731
    monkeypatch.setattr(sources_module, "_files", only)
    assert len(codes()) == 2, "they are followed, though nothing else of the folder counts"
    monkeypatch.setattr(sources_module, "_needed", lambda module, path: frozenset())
    assert len(codes()) == 1


def test_what_cannot_be_known_is_said(tmp_path: Path) -> None:
    write(tmp_path, 3)
    os.utime(tmp_path / "helpers_of_mine.py", (2 * 10**9, 2 * 10**9))
    told = alone(tmp_path, "--system", "model_of_mine:system", "--engine", "reference")["identity"]
    assert (told["sources"], told["unknown"]) == (None, "changed since this process began")


# ---- what the verdict says nothing of


def test_rules_that_never_fired_are_named(invoke: Invoke) -> None:
    result = invoke("--system", "fickle:promising", "--engine", "reference")
    assert result.exit_code == 0, result.output
    assert "never fired: fickle.stops" in result.stdout.splitlines()
    told = json.loads(invoke("--system", "fickle:promising", "--engine", "reference", "--json").stdout)
    assert told["not_fired"] == ["fickle.stops"]


def test_of_many_rules_that_never_fired_the_first_are_named_and_all_in_json(invoke: Invoke) -> None:
    core = ("--scope", "tiny", "--configuration", "core", "--engine", "fast")
    told = json.loads(invoke(*core, "--json").stdout)
    first = ", ".join(told["not_fired"][:3])
    more = len(told["not_fired"]) - 3
    text = " ".join(invoke(*core).stdout.split())
    assert f"never fired: {first} and {more} more " in text
    assert more > 50


def test_a_system_that_declares_no_rules_is_told_so(invoke: Invoke) -> None:
    lines = invoke("--system", "fickle:honest", "--engine", "reference").stdout.splitlines()
    assert "rules that never fire are not looked for: the system declares none" in lines


def test_a_reporter_that_drops_what_never_fired_is_noticed(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted; the tests above see it."""
    monkeypatch.setattr(Report, "not_fired", ())
    result = invoke("--system", "fickle:promising", "--engine", "reference")
    assert "never fired" not in result.stdout


def test_where_no_state_is_declared_terminal_the_verdict_says_that_deadlock_was_not_judged(
    invoke: Invoke,
) -> None:
    lines = invoke("--system", "fickle:honest", "--engine", "reference").stdout.splitlines()
    assert "deadlock not judged: no state is declared terminal" in lines
    told = json.loads(invoke("--system", "fickle:honest", "--engine", "reference", "--json").stdout)
    why = {"what": "deadlock", "why": "no state is declared terminal", "configurations": ["honest"]}
    assert told["not_judged"] == [why]
    other = json.loads(invoke("--system", "toys:ring", "--engine", "reference", "--json").stdout)
    assert other["not_judged"] == []


# ---- machines that are no functions


SPARK = pytest.param("spark", marks=(pytest.mark.spark, pytest.mark.long))


@pytest.mark.parametrize("engine", [*(name for name in engines.ENGINES if name != "spark"), SPARK])
@pytest.mark.parametrize("name", ["once", "hashes"])
def test_an_impure_machine_is_a_users_mistake(engine: str, name: str, invoke: Invoke) -> None:
    result = invoke("--system", f"fickle:{name}", "--engine", engine)
    assert result.exit_code == 2, result.output
    assert "machine fickle is no function of what it is given: asked about " in result.stderr
    assert "it answered Outcome" in result.stderr or "in another process" in result.stderr


def test_a_run_says_how_much_was_looked_at_twice(invoke: Invoke) -> None:
    told = json.loads(invoke("--system", "fickle:honest", "--engine", "fast", "--json").stdout)
    assert told["sampled"] == told["runs"][0]["stats"]["sampled"] | {"elsewhere": 41, "not_elsewhere": None}
    text = " ".join(invoke("--system", "fickle:honest", "--engine", "fast", "--stats").stdout.split())
    again, questions = told["sampled"]["again"], told["sampled"]["questions"]
    assert (
        f"looked at twice: {again} of {questions} answers of machines and properties, successors of " in text
    )
    assert "; 41 states in another process" in text
    assert "sampled states" in text
