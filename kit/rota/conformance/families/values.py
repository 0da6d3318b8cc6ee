"""Values that are told apart: just below and just above what is right, and the ends of what can be sent."""

from __future__ import annotations

from rota.conformance.families.scene import Scene

LEAST, GREATEST = -(2**31), 2**31 - 1
"""The ends of a 32-bit number."""


def older_generations(scene: Scene) -> list[int]:
    """Generations before the group's: the one before, the first ones, none, and the least there is."""
    tried = (scene.generation - 1, 0, -1, LEAST)
    return list(dict.fromkeys(generation for generation in tried if LEAST <= generation < scene.generation))


def newer_generations(scene: Scene) -> list[int]:
    """Generations after the group's: the next one, one that is far off, and the greatest there is."""
    return [max(scene.generation, 0) + 1, max(scene.generation, 0) + 7, GREATEST]
