"""The instances of KGROUP that are measured, and the counts that every tool must have on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """What a search has seen. generated: 1 + transitions; depth: edges to the last level, None: no levels."""

    distinct: int
    generated: int
    depth: int | None


@dataclass(frozen=True)
class Instance:
    """An instance; settings: N, G, L, C, E, ND; orbits: the counts under symmetry of the clients."""

    name: str
    settings: tuple[int, int, int, int, int, int]
    counts: Counts
    orbits: Counts | None = None

    @property
    def named(self) -> dict[str, int]:
        """The settings by their names."""
        return dict(zip(("N", "G", "L", "C", "E", "ND"), self.settings, strict=True))


SMALL = Instance("small", (2, 2, 2, 1, 1, 0), Counts(130_768, 471_322, 32))
M1 = Instance("M1", (2, 2, 3, 2, 1, 0), Counts(1_163_343, 4_822_093, 36))
M2 = Instance("M2", (3, 2, 2, 0, 1, 0), Counts(2_684_798, 11_246_698, 40))
M3 = Instance("M3", (3, 2, 3, 0, 1, 0), Counts(8_897_403, 37_470_937, 40))
M4 = Instance("M4", (3, 2, 4, 0, 1, 0), Counts(18_236_380, 76_155_896, 43))
MS = Instance("MS", (3, 2, 2, 0, 0, 1), Counts(1_419_858, 5_018_540, 41), Counts(238_223, 842_087, 41))

INSTANCES = {one.name: one for one in (SMALL, M1, M2, M3, M4, MS)}

TABLES = (SMALL, M2, M4, MS)
"""What is printed unless other instances are asked for; M4 is about seven times M2."""

CURVE = (SMALL, M1, M2, M3, M4)
"""What a plot shows."""
