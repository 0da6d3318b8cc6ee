"""Mistakes in a user's system, and systems of which nothing is judged: what `rota` says of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mistakes
import pytest
from click.testing import CliRunner, Result

from rota.cli import check_plan
from rota.cli.main import main
from rota.explore import reference
from rota.explore.compiled import packing
from rota.explore.compiled.expansion import Expansion
from rota.explore.fast import engine as fast
from rota.explore.result import EngineLimit
from rota.explore.tables.machines import Interned, Learned
from rota.explore.tables.properties import CheckGroup
from rota.kernel import UserError

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(mistakes.__file__).parent))
    monkeypatch.setenv("PYTHONPATH", "")

    def run(*arguments: str, verb: str = "check") -> Result:
        return CliRunner().invoke(main, [verb, *arguments])

    return run


def last_line(result: Result) -> str:
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("engine", ["reference", "numpy", "fast"])
@pytest.mark.parametrize(
    "name", ["test raises", "view a list", "actions none", "value a list", "dataclasses"]
)
def test_a_mistake_is_exit_2_with_its_run(invoke: Invoke, name: str, engine: str) -> None:
    result = invoke("--engine", engine, "--system", "mistakes:mistaken", "--set", f"name={name}")
    wanted = mistakes.MISTAKES[name]
    assert result.exit_code == 2
    assert last_line(result).startswith(f"rota: mistake in {wanted.where}: ")
    assert last_line(result).endswith("; correct it")
    assert f"{mistakes.__file__}:" in last_line(result)
    steps = "1 step" if wanted.steps == 1 else f"{wanted.steps} steps"
    assert result.stderr.startswith(f"{wanted.where} makes a mistake after {steps}\n")
    assert "\nstart\n     walker" in result.stderr
    assert f"\n  {wanted.steps}  (a step" in result.stderr
    assert "holds" not in result.stdout


def test_a_mistake_in_initial_has_no_run(invoke: Invoke) -> None:
    result = invoke("--system", "mistakes:mistaken", "--set", "name=initial empty")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "machine walker: initial() returned no values; a machine begins with one at least" in result.stderr


def test_walks_tell_of_mistakes_too(invoke: Invoke) -> None:
    result = invoke("--system", "mistakes:mistaken", "--set", "name=receive raises", verb="simulate")
    assert result.exit_code == 2
    assert "receive(0, 'walker', 'hello') raised KeyError: 'hello', at" in last_line(result)
    assert "\n  2  (a step" in result.stderr


@pytest.mark.parametrize("name", ["test", "view", "fair"])
def test_what_is_said_of_endless_runs_may_be_mistaken(invoke: Invoke, name: str) -> None:
    result = invoke("--liveness", "--system", "mistakes:lasting", "--set", f"name={name}")
    assert result.exit_code == 2
    assert ("mistake in assumption odd" if name == "fair" else "mistake in property comes") in last_line(
        result
    )


@pytest.mark.parametrize("way", ["raises", "leaves"])
def test_a_factory_that_fails_is_told_with_its_line(invoke: Invoke, way: str) -> None:
    result = invoke("--system", "mistakes:failing", "--set", f"way={way}")
    assert (result.exit_code, result.stdout) == (2, "")
    mark = "leaving" if way == "leaves" else "raising"
    assert f", at {mistakes.line(mark)}); correct it, or its settings with --set" in result.stderr


def test_a_module_that_leaves_is_told(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "leaving_toy.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    result = invoke("--system", "leaving_toy:f")
    assert result.exit_code == 2
    assert "module leaving_toy cannot be imported (SystemExit: 0, at " in result.stderr


# ---- nothing is judged

VACUOUS: dict[str, str] = {
    "misspelt": "property small is about the role 'wlaker', which no machine of walk has; did you mean "
    "walker? its roles are walker",
    "misspelt step": "did you mean walker? its roles are walker",
    "misspelt end": "did you mean walker? its roles are walker",
    "pair": "is about 2 machines of the role 'walker', so it is never judged; walk has only walker",
    "nothing": "walk has no properties, so nothing would be judged; give System.properties one at least",
    "only lasting": "nothing would be judged; judge what it claims of endless runs with --liveness",
    "twice": "system walk has two properties called small; rename one of them",
    "no machines": "system walk has no machines; give it one at least",
}


@pytest.mark.parametrize("verb", ["check", "simulate"])
@pytest.mark.parametrize("what", VACUOUS)
def test_a_system_of_which_nothing_is_judged_is_refused(invoke: Invoke, what: str, verb: str) -> None:
    result = invoke("--system", "mistakes:vacuous", "--set", f"what={what}", verb=verb)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert VACUOUS[what] in result.stderr


def test_a_sentence_about_endless_runs_of_no_machine_is_refused(invoke: Invoke) -> None:
    result = invoke("--liveness", "--system", "mistakes:vacuous", "--set", "what=lasting misspelt")
    assert result.exit_code == 2
    assert "property comes is about the role 'wlaker'" in result.stderr


def test_a_witness_of_no_machine_names_the_roles(invoke: Invoke) -> None:
    result = invoke("--system", "mistakes:no_witness")
    assert result.exit_code == 2
    assert "property small: no machine has the role wlaker; there are walker" in result.stderr


def test_a_sentence_about_endless_runs_alone_is_no_property(invoke: Invoke) -> None:
    result = invoke("--property", "comes", "--system", "mistakes:lasting")
    assert result.exit_code == 2
    assert "--liveness" in result.stderr


# ---- whose mistake it is


def _bug(*_: Any, **__: Any) -> Any:
    raise KeyError("an engine's own")


@pytest.mark.parametrize(
    ("engine", "where", "name"),
    [
        ("reference", reference.Search, "_admit"),
        ("numpy", Learned, "_queue"),
        ("numpy", Interned, "add"),
        ("numpy", CheckGroup, "_answers"),
        ("fast", packing.Layout, "pack"),
        ("fast", Learned, "_enter"),
    ],
)
def test_a_bug_of_an_engine_is_an_internal_error(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, engine: str, where: type, name: str
) -> None:
    monkeypatch.setattr(where, name, _bug)
    result = invoke("--engine", engine, "--system", "mistakes:fine")
    assert result.exit_code == 4
    assert "internal error: KeyError" in result.stderr
    assert "mistake" not in result.stderr


def test_what_only_one_engine_sees_is_an_internal_error(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that gives a machine what it never returned is no mistake of the machine's."""
    monkeypatch.setattr(Learned, "state", lambda self, row: (None,))
    monkeypatch.setattr(fast, "find_spec", lambda name: None)
    result = invoke("--engine", "fast", "--system", "mistakes:fine")
    assert result.exit_code == 4
    assert "NotSeen" in result.stderr
    assert "actions(None) raised TypeError" in result.stderr


def test_a_mistake_in_rotas_own_system_is_an_internal_error(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_plan, "system", lambda *_, **__: mistakes.mistaken("test raises"))
    result = invoke("--engine", "reference", "--scope", "tiny", "--configuration", "core", "--no-cache")
    assert result.exit_code == 4
    assert "internal error: mistake in property small" in last_line(result)


def test_a_mistake_travels_between_processes() -> None:
    with pytest.raises(UserError) as error:
        reference.explore(mistakes.mistaken("step raises"))
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.start, again.path) == (
        str(error.value),
        error.value.start,
        error.value.path,
    )


def test_the_whole_traceback_is_there_for_who_wants_it(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_DEBUG", "1")
    result = invoke("--engine", "fast", "--system", "mistakes:mistaken", "--set", "name=test raises")
    assert "raise KeyError(value)  # HERE raising" in result.stderr


def test_what_an_engine_cannot_hold_is_no_internal_error(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise EngineLimit("a state has more than 9 successors")

    monkeypatch.setattr(Expansion, "expand", full)
    result = invoke("--system", "toys:ring", "--engine", "fast", "--no-cache")
    assert result.exit_code == 2
    assert last_line(result).startswith("rota: a state has more than 9 successors")


# ---- the run as a file

REPLAYED = ("test raises", "view a list", "actions none", "step raises")


@pytest.mark.parametrize("name", REPLAYED)
def test_the_run_to_a_mistake_is_a_trace(invoke: Invoke, name: str) -> None:
    arguments = ("--system", "mistakes:mistaken")
    result = invoke("--engine", "reference", *arguments, "--set", f"name={name}", "--out", "deep")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-2] == "trace:  deep/trace-mistake.jsonl (as text beside it: .txt)"
    shown = invoke("deep/trace-mistake.jsonl", verb="trace")
    assert (shown.exit_code, shown.stdout) == (0, Path("deep/trace-mistake.txt").read_text(encoding="utf-8"))
    assert result.stderr.startswith(shown.stdout)
    again = invoke("deep/trace-mistake.jsonl", "--replay", *arguments, verb="trace")
    wanted = mistakes.MISTAKES[name]
    steps = "1 step" if wanted.steps == 1 else f"{wanted.steps} steps"
    assert (again.exit_code, again.stdout) == (0, f"reproduced: {wanted.where} after {steps}\n")
    values = invoke("deep/trace-mistake.jsonl", "--show", "walker", *arguments, verb="trace")
    assert values.stdout.splitlines()[1].split() == ["start", "0"]


def test_a_mistake_that_was_corrected_is_not_reproduced(invoke: Invoke) -> None:
    arguments = ("--engine", "reference", "--system", "mistakes:mistaken", "--set", "name=test raises")
    assert invoke(*arguments).exit_code == 2
    file = Path("rota-out/trace-mistake.jsonl")
    told = file.read_text(encoding="utf-8")
    file.write_text(told.replace('"name":"test raises"', '"name":"view a list"'), encoding="utf-8")
    other = invoke(str(file), "--replay", "--system", "mistakes:mistaken", verb="trace")
    assert other.exit_code == 1
    assert other.stdout.startswith("differs: property small is not reproduced; step 2: ")


def test_a_run_that_cannot_be_written_is_named_beside_the_mistake(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "rota-out").mkdir()
    (tmp_path / "rota-out" / "trace-mistake.jsonl").mkdir()
    result = invoke("--engine", "reference", "--system", "mistakes:mistaken", "--set", "name=test raises")
    assert result.exit_code == 2
    assert "cannot write rota-out/trace-mistake.jsonl" in result.stderr
    assert last_line(result).startswith("rota: mistake in ")
