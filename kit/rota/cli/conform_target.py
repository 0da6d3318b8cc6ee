"""The targets of `rota conform`: what its options say, and a look whether they are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rota.cli.errors import UNDECIDED, UsageError
from rota.conformance.connections.security import PLAINTEXT, Security
from rota.conformance.targets.command_config import ConfigError, read_config
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.names import NAMES
from rota.conformance.targets.preflight import NoBroker, look
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.settings_read import read_settings
from rota.conformance.targets.target import DEFAULTS, Target
from rota.server import USUAL
from rota.spec import PROFILES, ROTA


def one_target(
    target: str | None,
    embedded: bool,
    settings: Sequence[str],
    config: Path | None = None,
    profile: str | None = None,
) -> Target:
    """What `--target`, `--embedded`, `--set`, `--command-config` and `--profile` say.

    Errors: UsageError, TargetError.
    """
    if embedded and target not in (None, "rota"):
        raise UsageError(f"--embedded and --target {target} name two targets; give one of them")
    if target is None and not embedded:
        raise UsageError("no target; give --target HOST:PORT, or --embedded for rota's own server")
    _can_be_judged(target or ROTA.name, profile)
    security = _security(config, (target or "rota",))
    return parse_target(target or "rota", dict(map(setting, settings)), profile or USUAL, security)


def _can_be_judged(target: str, profile: str | None) -> None:
    """Errors: UsageError for rota's own server and a line of brokers that the spec has no profile for."""
    if target == ROTA.name and profile not in (None, *PROFILES):
        cause = f"--profile {profile} judges brokers of that line, and rota's own server is none of them"
        raise UsageError(f"{cause}; leave --profile out, or give --target HOST:PORT")


def two_targets(
    diff: tuple[str, str],
    target: str | None,
    embedded: bool,
    settings: Sequence[str],
    config: Path | None = None,
) -> tuple[Target, Target]:
    """What `--diff`, `--set` and `--command-config` say. Errors: UsageError, TargetError."""
    if target is not None or embedded:
        raise UsageError("--diff names its two targets itself; leave --target and --embedded out")
    known = dict(map(setting, settings))
    security = _security(config, diff)
    return parse_target(diff[0], known, security=security), parse_target(diff[1], known, security=security)


def _security(config: Path | None, targets: Sequence[str]) -> Security:
    """How listeners at HOST:PORT are spoken to. Errors: UsageError."""
    if config is None:
        return PLAINTEXT
    if all(one in NAMES or one.startswith("cmd:") for one in targets):
        cause = f"--command-config is for a listener at HOST:PORT, and {' and '.join(targets)} names none"
        raise UsageError(f"{cause}; leave it out, or give --target HOST:PORT")
    try:
        return read_config(config)
    except ConfigError as error:
        raise UsageError(f"--command-config {error}") from error


def setting(text: str, known: Iterable[str] = DEFAULTS) -> tuple[str, int]:
    """A setting of a broker as it is given. known: those that there are. Errors: UsageError."""
    key, _, value = text.partition("=")
    if key not in known or not value.isdigit():
        raise UsageError(f"cannot read the setting {text!r}; write KEY=NUMBER with KEY {', '.join(known)}")
    return key, int(value)


def see_what_is_there(target: Target, patience: float) -> Target:
    """The target, with the settings that it names; an answer may take `patience` seconds.

    One line instead of hundreds of cases where nothing can be judged: UsageError.
    """
    try:
        running = target.start({})
    except NotStarted as error:
        cause = f"target {target.name} does not start: {error}"
        raise UsageError(f"{cause}; {error.remedy}", UNDECIDED) from error
    try:
        look(running.address, patience)
        return target if target.settable else replace(target, read=read_settings(running.address, patience))
    except NoBroker as error:
        raise UsageError(str(error), UNDECIDED) from error
    finally:
        running.stop()
