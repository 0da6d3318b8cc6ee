"""`rota check --profile`: what is explored under each, with which counts, and how counts are pinned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rota.cli.check_plan as under_test
from pin_counts import main as pin
from pin_counts import pinned
from rota.cli.check_plan import plan
from rota.cli.main import main
from rota.cli.options import Selection
from rota.invariants import known_weaknesses
from rota.scopes import Configuration, Scope, load
from rota.spec import PROFILES

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["check", *arguments])


def report(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path / "rota-out" / "check.json").read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_explores_what_says_something_there(profile: str) -> None:
    made = plan(Selection(profile=profile))
    there = [one for one in load("small").configurations if one.is_for(profile)]
    assert [job.name for job in made.jobs] == [one.name for one in there]
    assert ("no-handshake" in {job.name for job in made.jobs}) == PROFILES[profile].member_id_handshake
    assert made.known == {one.name for one in known_weaknesses(profile)}
    assert made.omitted == PROFILES[profile].omitted


@pytest.mark.parametrize("profile", PROFILES)
def test_clients_speak_what_the_brokers_serve(profile: str) -> None:
    _, newest = dict(PROFILES[profile].versions)["JoinGroup"]
    for one in load("endless").configurations:
        settings = one.settings_for(profile)
        assert settings["profile"] == profile
        assert max(settings.get("join_version", 9), *settings.get("join_versions", ()), 0) <= newest


def test_the_profiles_of_a_configuration_exist() -> None:
    for one in load("endless").configurations:
        assert set(one.profiles) <= set(PROFILES)
        assert set(one.expected_in) <= set(PROFILES) - {"kafka-4.x"}


def test_the_scope_for_endless_runs_has_one_of_each_name() -> None:
    names = [one.name for one in load("endless").configurations]
    assert len(names) == len(set(names))
    assert {one.compared_with for one in load("endless").configurations if one.compared_with} <= set(names)


def test_what_brokers_do_not_have_is_not_explored() -> None:
    """Static members came with 2.3, the size limit with 2.2; clients of several versions are all capped."""
    static = Configuration("static", "", "", None, {"instances": ("one", "")}, None)
    limited = Configuration("limited", "", "", None, {"max_size": 1}, None)
    several = Configuration("several", "", "", None, {"join_versions": (3, 9)}, None)
    assert [one.is_for("kafka-3.x") for one in (static, limited, several)] == [True, True, True]
    assert [one.is_for("kafka-2.1") for one in (static, limited, several)] == [False, False, True]
    assert several.settings_for("kafka-2.1")["join_versions"] == (3, 3)
    assert several.settings_for("kafka-4.x") == {"join_versions": (3, 9), "profile": "kafka-4.x"}


def test_a_configuration_of_other_profiles_is_refused(invoke: Invoke) -> None:
    result = invoke("--profile", "kafka-2.1", "--scope", "tiny", "--configuration", "no-handshake")
    assert (result.exit_code, result.stderr) == (
        2,
        "rota: configuration no-handshake is not for kafka-2.1; "
        "say --profile kafka-4.x or kafka-3.x or rota\n",
    )


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Plants a scope of `core` alone, with counts pinned under profiles."""

    def plant(expected: dict[str, Any] | None, **expected_in: dict[str, Any]) -> None:
        counts = {name.replace("_", "-").replace("-x", ".x"): one for name, one in expected_in.items()}
        one = Configuration("core", "Two clients.", "", None, {}, expected, counts)
        monkeypatch.setattr(under_test, "load", lambda name: Scope("tiny", "planted", (one,)))

    return plant


def test_counts_are_those_of_the_profile(invoke: Invoke, tmp_path: Path, core: Callable[..., None]) -> None:
    core({"distinct": 7}, kafka_3_x={"distinct": 8})
    for profile, pins in (("kafka-4.x", 7), ("kafka-3.x", 8), ("kafka-2.1", None)):
        result = invoke("--scope", "tiny", "--profile", profile)
        (run,) = report(tmp_path)["runs"]
        assert (run["expected"] or {}).get("distinct") == pins
        assert result.exit_code == (3 if pins is None else 1)  # one configuration does not judge everything
        assert report(tmp_path)["profile"] == profile


# ---- pinning


TEXT = """about = "Worlds."

[[configuration]]
name = "core"
about = "Two clients."
expected = { distinct = 1, generated = 2, depth = 3, digest = "old" }
expected_in."kafka-3.x" = { distinct = 4, generated = 5, depth = 6, digest = "old" }

[[configuration]]
name = "other"
about = "Three."
"""


def run(name: str, verdict: str = "holds", violation: object = None) -> dict[str, Any]:
    counts = {"distinct": 10, "generated": 20, "depth": 30, "digest": "new"}
    return {"configuration": name, "verdict": verdict, "violation": violation, **counts}


NEW = '{ distinct = 10, generated = 20, depth = 30, digest = "new" }'


def test_pinning_touches_the_profile_of_the_report_only() -> None:
    default = pinned(TEXT, "kafka-4.x", {"core": run("core")})
    assert default.count(f"expected = {NEW}\n") == 1
    assert 'expected_in."kafka-3.x" = { distinct = 4,' in default
    other = pinned(TEXT, "kafka-3.x", {"core": run("core"), "other": run("other")})
    assert other.count(f'expected_in."kafka-3.x" = {NEW}\n') == 2
    assert "expected = { distinct = 1," in other
    assert "old" in other
    assert pinned(TEXT, "kafka-4.x", {}) == TEXT


@pytest.mark.parametrize("unfinished", [run("core", "undecided"), run("core", "violated", {"property": "x"})])
def test_what_was_not_explored_to_its_end_is_not_pinned(unfinished: dict[str, Any]) -> None:
    assert pinned(TEXT, "kafka-4.x", {"core": unfinished}).count("expected = ") == 0


def test_pinned_scopes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two reports of two profiles go into one file, which is TOML as scopes are."""
    (tmp_path / "worlds.toml").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr("pin_counts.SCOPES", tmp_path)
    for profile in ("kafka-4.x", "kafka-2.1"):
        told = {"design": "classic", "profile": profile, "runs": [run("core"), run("other", "violated")]}
        (tmp_path / f"{profile}.json").write_text(json.dumps(told), encoding="utf-8")
    pin(*(str(tmp_path / f"{profile}.json") for profile in ("kafka-4.x", "kafka-2.1")))
    monkeypatch.setattr("rota.scopes.NAMES", ("worlds",))
    monkeypatch.setattr("rota.scopes.files", lambda name: tmp_path)
    one, other = load("worlds").configurations
    assert one.counts("kafka-4.x") == one.counts("kafka-2.1") == other.counts("kafka-4.x")
    assert (one.counts("kafka-3.x") or {})["distinct"] == 4
    assert other.counts("kafka-3.x") is None
