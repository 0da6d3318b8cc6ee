"""Values of which every request, and every member in a rebalance, makes some."""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """A dataclass that is compared and hashed by its fields, and that nobody changes.

    The type checker holds the last of it. A dataclass that is frozen as it runs takes three to four times as
    long to make, since its own fields go through `object.__setattr__` too.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
