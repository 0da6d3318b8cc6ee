"""Scenes in virtual time, as `rota record` writes what clients said and as it is read."""

from __future__ import annotations

from harness import scenes
from rota.generate.plan import Plan
from rota.generate.player import Stage
from rota.generate.virtual import in_virtual_time
from rota.population.recorded import BEGAN, frames_of

__all__ = ["BEGAN", "frames_of", "recorded"]

NO_PLAN = Plan(0, 0, ())


def recorded(scene, profile="rota"):
    """The frames of a scene."""

    async def walk(coordinator):
        stage = Stage(coordinator, scene.__name__)
        await scene(scenes.Scene(stage))
        await stage.silence(0.5)
        stage.close()
        return stage.played(NO_PLAN)

    return frames_of(in_virtual_time(scenes.SETTINGS, walk, profile), f"{scene.__name__}.jsonl")
