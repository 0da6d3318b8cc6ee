"""krafka: the broker in memory that the Rust client krafka tests itself with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.targets.foreign import Foreign, Tool, build, lay_out, that_says_where
from rota.conformance.targets.process import Started

CARGO = Tool("cargo", "install Rust 1.95 or later and put cargo on PATH")


def _make(cargo: str, folder: Path) -> Path:
    lay_out("krafka", folder)
    made = "target/release/krafka"
    build((cargo, "build", "--release", "--locked", "--target-dir", "target"), folder, made, CARGO)
    kept = folder / "bin"
    kept.mkdir()
    (folder / made).rename(kept / "krafka")
    return kept


def _start(program: Path, _settings: Mapping[str, int]) -> Started:
    return that_says_where((str(program),))


KRAFKA = Foreign(
    name="krafka",
    version="0.28.1",
    about="the broker that krafka tests itself with; needs Rust",
    tool=CARGO,
    effort="some 30 MB and two minutes, once",
    make=_make,
    start=_start,
    parallel=48,
    known={INITIAL_DELAY: 0},
)
