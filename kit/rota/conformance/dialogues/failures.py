"""What ends a dialogue before its last line."""

from __future__ import annotations

import traceback
from pathlib import Path

_WRITTEN_IN = ("cases", "families", "steps", "probes")
"""Folders in which dialogues are written."""


class Deviation(Exception):
    """The target did something else than the rule says.

    `rule` is the slug of the rule that says so, where a step knows that; else it is the rule of the case.
    `late`: it did what the rule says, but too late, which on a busy machine means little.
    """

    def __init__(self, expected: str, actual: str, rule: str = "", late: bool = False) -> None:
        super().__init__(f"expected {expected}, got {actual}")
        self.expected = expected
        self.actual = actual
        self.rule = rule
        self.late = late


class SetupFailed(Exception):
    """The steps that lead to the rule did not work, so nothing can be said about the rule itself.

    `rule` is the slug of the rule that was broken in them; empty where that is not known. `late`: as of
    `Deviation`.
    """

    def __init__(self, wanted: str, expected: str, actual: str, rule: str = "", late: bool = False) -> None:
        super().__init__(f"could not reach {wanted}: expected {expected}, got {actual}")
        self.wanted = wanted
        self.expected = expected
        self.actual = actual
        self.rule = rule
        self.late = late


class Interrupted(Exception):
    """The run was interrupted while the case was being played."""


class Unsupported(Exception):
    """The target does not have what the dialogue needs."""


class Undecidable(Exception):
    """What the case judges cannot be seen, as where the target was not there."""


class Late(Undecidable):
    """The times that the rule needs could not be kept; another time they may be.

    `rule` is the slug of the rule that is broken where it was the target that took so long; else empty.
    """

    def __init__(self, why: str, rule: str = "") -> None:
        super().__init__(why)
        self.rule = rule


def fault_of_ours(error: Exception) -> str:
    """What an exception says that no dialogue should raise, and the line of the dialogue that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent.name in _WRITTEN_IN]
    where = (own or frames)[-1]
    place = "/".join(Path(where.filename).parts[-2:])
    return f"a fault of the kit's own: {type(error).__name__}: {error} ({place}, line {where.lineno})"
