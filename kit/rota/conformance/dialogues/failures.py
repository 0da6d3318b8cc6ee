"""What ends a dialogue before its last line."""

from __future__ import annotations


class Deviation(Exception):
    """The target did something else than the rule says."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, got {actual}")
        self.expected = expected
        self.actual = actual


class SetupFailed(Exception):
    """The steps that lead to the rule did not work, so nothing can be said about the rule itself."""

    def __init__(self, wanted: str, expected: str, actual: str) -> None:
        super().__init__(f"could not reach {wanted}: expected {expected}, got {actual}")
        self.wanted = wanted
        self.expected = expected
        self.actual = actual


class Interrupted(Exception):
    """The run was interrupted while the case was being played."""


class Undecidable(Exception):
    """What the case judges cannot be seen, as where the target was not there."""


class Late(Undecidable):
    """The kit itself could not keep the times that the rule needs; another time it may."""
