"""Where requests wait that are answered later: each is in one place, and leaves it once."""

from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

Token = Hashable
"""The address of a request's reply: whatever the caller of the core has given with the request."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class ParkedRequest(NamedTuple):
    """A request until its reply is there: the caller's token, and the version whose form the reply has.

    Most are answered in the step in which they arrive; the others wait in a purgatory or for the log.
    """

    token: Token
    version: int


class Purgatory(Generic[K, T]):
    """Parked operations by key, at most one for each.

    An operation leaves exactly once: by the `take` or `take_all` that ends its waiting, or by the `park` that
    replaces it. The caller completes it, or drops it for good. So nothing is
    completed twice, and how many wait is a length, not a counter that has to be kept right.

    Operations are any values but None. Keys are gone through in order of parking; a replacement keeps the
    place of what it replaced. Every method but `take_all` and the walk over keys takes constant time.
    """

    __slots__ = ("_parked",)

    def __init__(self) -> None:
        self._parked: dict[K, T] = {}

    def park(self, key: K, operation: T) -> T | None:
        """Let an operation wait under a key; returns the one that it replaces, None if there was none."""
        replaced = self._parked.get(key)
        self._parked[key] = operation
        return replaced

    def take(self, key: K) -> T | None:
        """End the wait under a key; returns its operation, None if none waits there."""
        return self._parked.pop(key, None)

    def take_all(self) -> dict[K, T]:
        """End all waits; returns all operations by key."""
        taken, self._parked = self._parked, {}
        return taken

    def __contains__(self, key: object) -> bool:
        return key in self._parked

    def __iter__(self) -> Iterator[K]:
        return iter(self._parked)

    def __len__(self) -> int:
        return len(self._parked)
