"""The shortest violation of a plan, wherever in it, and how far the other explorations must go to find it."""

from __future__ import annotations

from rota.explore import Violation


class Shortest:
    """What was found so far, and what is of interest beside it; of equally short ones the first in the plan.

    The answer is the same in whatever order explorations end: each goes on up to the depth where it could
    still be the one with the shortest violation.

    Parameters: lasting, endless runs are judged, which are not found by their length: then it is the first
    in the plan that has one; keep_going, all explorations go to their ends.
    """

    def __init__(self, lasting: bool = False, keep_going: bool = False) -> None:
        self._lasting, self._keep_going = lasting, keep_going
        self._least: tuple[int, int] | None = None

    def add(self, number: int, violation: Violation) -> None:
        """The exploration with this number in the plan has found a violation."""
        one = (0 if self._lasting else violation.steps, number)
        self._least = one if self._least is None else min(self._least, one)

    def bound(self, number: int) -> int | None:
        """The most steps that a violation may have there to be of interest; None: any number of steps."""
        if self._least is None or self._keep_going:
            return None
        steps, first = self._least
        return steps if number <= first else steps - 1

    def needs(self, number: int) -> bool:
        """Whether anything that may be found there is of interest."""
        most = self.bound(number)
        return most is None or most >= 0
