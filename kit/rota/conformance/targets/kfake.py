"""kfake: the broker in memory that the Go client franz-go tests itself with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rota.conformance.dialogues.broker_settings import (
    INITIAL_DELAY,
    MAX_SIZE,
    MIN_SESSION,
    RETENTION,
    RETENTION_CHECK,
)
from rota.conformance.targets.foreign import Foreign, Tool, build, lay_out, that_says_where
from rota.conformance.targets.process import Started

GO = Tool("go", "install Go 1.26 or later and put go on PATH")


def _make(go: str, folder: Path) -> Path:
    lay_out("kfake", folder)
    build((go, "build", "-mod=readonly", "-trimpath", "-o", "bin/kfake", "."), folder, "bin/kfake", GO)
    return folder / "bin"


def _start(program: Path, settings: Mapping[str, int]) -> Started:
    return that_says_where((str(program), *(f"{name}={value}" for name, value in settings.items())))


KFAKE = Foreign(
    name="kfake",
    version="0.0.0-20260918054303",
    about="the broker that franz-go tests itself with; needs Go",
    tool=GO,
    effort="some 20 MB and half a minute, once",
    make=_make,
    start=_start,
    parallel=48,
    known={INITIAL_DELAY: 0},
    heeds=frozenset({MIN_SESSION, MAX_SIZE, RETENTION, RETENTION_CHECK}),
)
