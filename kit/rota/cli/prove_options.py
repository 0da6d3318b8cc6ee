"""What `rota prove` is asked: its options as one value, without what Z3 is needed for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

TACTICS = ("simple", "solve-eqs", "old-arith")
"""Those of `rota.proofs.TACTICS` with a name; a test compares."""


@dataclass(frozen=True)
class ProveOptions:
    """How obligations are asked and reported. timeout: seconds, for each question; None: not given."""

    verbose: bool = False
    cross_check: bool = False
    seed: int = 0
    tactic: str | None = None
    timeout: float = 60.0
    workers: int | None = None
    as_json: bool = False
    quiet: bool = False
    out: Path = Path("rota-out")


OPTIONS = (
    click.option("-v", "--verbose", is_flag=True,
                 help="Each by itself, with its sentence; in a list also what it assumes."),
    click.option("--cross-check", is_flag=True,
                 help="Ask everything again with another seed and tactic; answers must agree."),
    click.option("--seed", type=click.IntRange(min=0), metavar="K", default=0, help="For Z3."),
    click.option("--tactic", type=click.Choice(TACTICS), help="For Z3.  [default: what the claim names]"),
    click.option("--timeout", type=click.FloatRange(0.001), default=60.0,
                 metavar="SECONDS", help="For each question to Z3."),
    click.option("--workers", type=click.IntRange(min=1), metavar="N",
                 help="Processes.  [default: one for each core, 8 at most]"),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="Only the verdict, and no progress."),
    click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rota-out"),
                 help="Where the report goes."),
)  # fmt: skip
"""The options of `ProveOptions`."""
