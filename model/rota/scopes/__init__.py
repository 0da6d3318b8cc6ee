"""Scopes: suites of small configurations, each turning on one feature or a pair of them.

A scope is a TOML file beside this module: scopes that it includes, configurations with their settings (see
`rota.environment.world.DEFAULTS`), the profiles that they are for, and the counts that every engine must
reproduce: `expected` for the profile that is the default, `expected_in."kafka-3.x"` for another. Every
property must find something to judge in a scope, but for those that it says it does not claim.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from rota.environment.world import DEFAULTS
from rota.invariants.weaknesses import WITH_SIZE_LIMIT, WITH_STATIC_MEMBERS
from rota.spec import PROFILES


class ScopeError(ValueError):
    """No scope or configuration has that name."""


@dataclass(frozen=True)
class Configuration:
    """A small world.

    compared_with: the configuration that it adds `feature` to; expected: its counts; expected_in: those under
    other profiles than the default; profiles: those under which it says something that no other configuration
    says, empty for all; seconds: how long it took once, see docs/scopes.md.
    """

    name: str
    about: str
    feature: str
    compared_with: str | None
    settings: Mapping[str, Any]
    expected: Mapping[str, Any] | None
    expected_in: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    profiles: tuple[str, ...] = ()
    seconds: float | None = None

    def is_for(self, profile: str) -> bool:
        """Whether it is explored under a profile, whose brokers must have what it is about."""
        if any(self.settings.get("instances", ())) and profile not in WITH_STATIC_MEMBERS:
            return False
        if self.settings.get("max_size") is not None and profile not in WITH_SIZE_LIMIT:
            return False
        return not self.profiles or profile in self.profiles

    @property
    def size(self) -> int | None:
        """How many distinct states it has; None if nobody knows."""
        return None if self.expected is None else int(self.expected["distinct"])

    def counts(self, profile: str) -> Mapping[str, Any] | None:
        """The pinned counts under a profile, None where there are none."""
        return self.expected if profile == DEFAULTS["profile"] else self.expected_in.get(profile)

    def settings_for(self, profile: str) -> dict[str, Any]:
        """The settings under a profile: clients speak no newer version than its brokers."""
        newest = _newest_join(profile)
        chosen = {**DEFAULTS, **self.settings}
        capped = {
            "join_version": min(chosen["join_version"], newest),
            "join_versions": tuple(min(version, newest) for version in chosen["join_versions"]),
        }
        changed = {name: value for name, value in capped.items() if value != chosen[name]}
        return {**self.settings, "profile": profile, **changed}


def _newest_join(profile: str) -> int:
    """The newest version of JoinGroup that a profile's brokers serve."""
    return dict(PROFILES[profile].versions)["JoinGroup"][1]


@dataclass(frozen=True)
class NotClaimed:
    """Properties that a scope gives nothing to judge, and why; profiles: under which, empty for all."""

    properties: tuple[str, ...]
    because: str
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """A suite of configurations. not_claimed: of itself, and not of the scopes that it includes."""

    name: str
    about: str
    configurations: tuple[Configuration, ...]
    not_claimed: tuple[NotClaimed, ...] = ()

    def unclaimed(self, profile: str) -> dict[str, str]:
        """The properties that it need not judge under a profile, by name why not."""
        some = (one for one in self.not_claimed if not one.profiles or profile in one.profiles)
        return {name: one.because for one in some for name in one.properties}

    def configuration(self, name: str) -> Configuration:
        """The configuration of that name. Errors: ScopeError with the names there are."""
        for one in self.configurations:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.configurations)
        raise ScopeError(f"scope {self.name} has no configuration {name}; it has {known}")


NAMES = ("tiny", "small", "standard", "nightly", "endless")

OF_CONSUMER = ("small", "standard", "nightly")
"""Those that there are of the consumer protocol, in files of their own."""


def names() -> tuple[str, ...]:
    """The scopes: those of states, smallest first, then that of endless runs."""
    return NAMES


def load(name: str) -> Scope:
    """Read a scope. Errors: ScopeError with the names there are."""
    if name not in NAMES:
        raise ScopeError(f"there is no scope {name}; there are {', '.join(NAMES)}")
    return _read(name)


def consumer(name: str = "small") -> Scope:
    """Read a scope of the consumer protocol, whose settings are those of `rota.environment.consumer.world`.

    Errors: ScopeError with the names there are.
    """
    if name not in OF_CONSUMER:
        raise ScopeError(f"the consumer protocol has no scope {name}; there are {', '.join(OF_CONSUMER)}")
    return _read(name, of="consumer_")


def _read(name: str, of: str = "") -> Scope:
    raw = tomllib.loads(files("rota.scopes").joinpath(f"{of}{name}.toml").read_text(encoding="utf-8"))
    included = [one for other in raw.get("includes", ()) for one in load(other).configurations]
    own = [_configuration(one) for one in raw["configuration"]]
    return Scope(name, raw["about"], (*included, *own), tuple(map(_not_claimed, raw.get("not_claimed", ()))))


def _not_claimed(raw: Mapping[str, Any]) -> NotClaimed:
    return NotClaimed(tuple(raw["properties"]), raw["because"], tuple(raw.get("profiles", ())))


def _configuration(raw: dict[str, Any]) -> Configuration:
    return Configuration(
        name=raw["name"],
        about=raw["about"],
        feature=raw.get("feature", ""),
        compared_with=raw.get("compared_with"),
        settings=_settings(raw.get("settings", {})),
        expected=raw.get("expected"),
        expected_in=raw.get("expected_in", {}),
        profiles=tuple(raw.get("profiles", ())),
        seconds=raw.get("seconds"),
    )


def _settings(raw: dict[str, Any]) -> dict[str, Any]:
    """Lists become tuples and the budget pairs, so that settings are hashable and travel to workers."""
    out = {key: _tuples(value) for key, value in raw.items()}
    if isinstance(raw.get("budget"), dict):
        out["budget"] = tuple(sorted(raw["budget"].items()))
    return out


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
