"""One history: a group of a shape on a server of its own, sound or with a planted bug."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from random import Random

from rota.generate.plan import Plan
from rota.generate.player import Coordinator, Played, Stage
from rota.generate.shown import Shown, first_shown
from rota.generate.virtual import in_virtual_time
from rota.mutants.core import BESIDE_MEMBERS, CoreBug, core_bugs, planted
from rota.population.members import Member
from rota.population.shapes import Shape, shape_of
from rota.validate.terms import FORGIVEN

PROFILE = "kafka-4.x"

NO_PLAN = Plan(0, 0, ())

SOONER = 0.05
"""Seconds by which answers may come earlier than from a sound server, with what bytes take."""

AFTER = 1.0
"""Seconds after a group was seen to its end."""


@dataclass(frozen=True)
class Simulated:
    """A history. group; shape; played; bug: that the server has, None: it is sound; shown: how that shows in
    the answers, "" where it does not."""

    group: str
    shape: Shape
    played: Played
    bug: CoreBug | None = None
    shown: str = ""


def group_of(number: int, copy: int = 0) -> str:
    """What the group of a history is called, and of a copy of it; all names are of one length."""
    return f"group-{number:08}-{copy:02}"


def simulated(
    seed: int, number: int, bugs: float = 0.0, shapes: Callable[[str], Shape] | None = None
) -> Simulated:
    """A history by its number. bugs: the share of histories whose server has a bug, drawn evenly among those
    of members; shapes: draws a shape, None: `shape_of`; the same seed and number, the same history."""
    drawn = Random(f"{seed} {number} bug")
    group, shape = group_of(number), (shapes or shape_of)(f"{seed} {number}")
    sound = _played(group, shape, f"{seed} {number}")
    if drawn.random() >= bugs:
        return Simulated(group, shape, sound)
    bug = drawn.choice([*_plantable().values()])
    with planted(bug):
        played = _played(group, shape, f"{seed} {number}")
    shown = first_shown(sound.messages, played.messages)
    return Simulated(group, shape, played, bug, str(shown) if shown and is_told(shown) else "")


def is_told(shown: Shown) -> bool:
    """Whether what differs can be told from a broker that is merely late, as moments alone may differ, and
    answers that are missing when all ends."""
    return shown.kind == "answer" or not -SOONER < shown.seconds <= FORGIVEN


@cache
def _plantable() -> Mapping[str, CoreBug]:
    """Bugs that a group's members can meet."""
    return {
        name: bug
        for name, bug in core_bugs().items()
        if not bug.mended and not bug.rule.startswith(BESIDE_MEMBERS)
    }


def _played(group: str, shape: Shape, seed: str) -> Played:
    async def walk(coordinator: Coordinator) -> Played:
        stage, numbers = Stage(coordinator, group), count(1)
        loop = asyncio.get_running_loop()
        lives = [
            loop.create_task(Member(stage, numbers, line, shape, life, f"{seed} {line}").live())
            for line, life in enumerate(shape.lives)
        ]
        await asyncio.wait(lives, timeout=shape.seen + AFTER)
        for one in lives:
            one.cancel()
        for line in range(len(shape.lives)):
            stage.cut(line)  # other groups of a file are seen for longer: this one's clients end
        await stage.silence(0.0)
        stage.close()
        return stage.played(NO_PLAN)

    return in_virtual_time({}, walk, PROFILE)
