"""Scopes: suites of small configurations, each turning on one feature or a pair of them.

A scope is a TOML file beside this module: scopes that it includes, configurations with their settings (see
`rota.environment.world.DEFAULTS`) and the counts that every engine must reproduce.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


class ScopeError(ValueError):
    """No scope or configuration has that name."""


@dataclass(frozen=True)
class Configuration:
    """A small world. compared_with: the configuration that it adds `feature` to; expected: its counts."""

    name: str
    about: str
    feature: str
    compared_with: str | None
    settings: Mapping[str, Any]
    expected: Mapping[str, Any] | None


@dataclass(frozen=True)
class Scope:
    """A suite of configurations."""

    name: str
    about: str
    configurations: tuple[Configuration, ...]

    def configuration(self, name: str) -> Configuration:
        """The configuration of that name. Errors: ScopeError with the names there are."""
        for one in self.configurations:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.configurations)
        raise ScopeError(f"scope {self.name} has no configuration {name}; it has {known}")


NAMES = ("tiny", "small")


def names() -> tuple[str, ...]:
    """The scopes, smallest first."""
    return NAMES


def load(name: str) -> Scope:
    """Read a scope. Errors: ScopeError with the names there are."""
    if name not in NAMES:
        raise ScopeError(f"there is no scope {name}; there are {', '.join(NAMES)}")
    raw = tomllib.loads(files("rota.scopes").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    included = [one for other in raw.get("includes", ()) for one in load(other).configurations]
    own = [_configuration(one) for one in raw["configuration"]]
    return Scope(name, raw["about"], (*included, *own))


def _configuration(raw: dict[str, Any]) -> Configuration:
    return Configuration(
        name=raw["name"],
        about=raw["about"],
        feature=raw.get("feature", ""),
        compared_with=raw.get("compared_with"),
        settings=_settings(raw.get("settings", {})),
        expected=raw.get("expected"),
    )


def _settings(raw: dict[str, Any]) -> dict[str, Any]:
    """Lists become tuples and the budget pairs, so that settings are hashable and travel to workers."""
    out = {key: _tuples(value) for key, value in raw.items()}
    if isinstance(raw.get("budget"), dict):
        out["budget"] = tuple(sorted(raw["budget"].items()))
    return out


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
