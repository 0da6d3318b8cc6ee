"""A dataclass that shares its name with one in the module `mistakes`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Token:
    """As `mistakes.Token`, in another module."""

    number: int


class Colour(Enum):
    """As `mistakes.Colour`, in another module."""

    RED = 1
