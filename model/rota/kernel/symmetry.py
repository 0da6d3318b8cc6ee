"""Machines that may change places: a claim about a system that spares engines most of its states."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

Places = tuple[int, ...]
"""A permutation: places[i] is where the i-th interchangeable machine goes."""


@dataclass(frozen=True)
class Symmetry:
    """Which machines are interchangeable, and what that means for values.

    Parameters: machines, their names; renamed(role, value, places), the value of any machine after they have
    changed places; seen(role, value, i), what the i-th of them is in a value (its own, or that of a machine
    which is not interchangeable), the same for all when they change places.
    Claimed: for every permutation, renamed states have the renamed transitions, initial states stay initial,
    and a property that holds in a state holds in the renamed one. What `seen` leaves out costs time, never
    correctness.
    """

    machines: tuple[str, ...]
    renamed: Callable[[str, Any, Places], Any]
    seen: Callable[[str, Any, int], Hashable]
