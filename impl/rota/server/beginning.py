"""What a server begins with: topics that are there, and where its ids come from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID, uuid4

from rota.server.errors import Refusal
from rota.server.settings import SettingsError
from rota.server.topics import Topics, name_problem

EXAMPLE = "orders:3"


@dataclass(frozen=True)
class Beginning:
    """topics: names with numbers of partitions. seed: what ids are made of, None for others each time."""

    topics: tuple[tuple[str, int], ...] = ()
    seed: int | None = None

    def create(self, topics: Topics) -> None:
        """Makes the topics. Errors: SettingsError for one that cannot be."""
        for name, partitions in self.topics:
            try:
                topics.create(name, partitions)
            except Refusal as refusal:
                raise SettingsError(f"topic {name} cannot be made: {refusal}; give another one") from None


AT_RANDOM = Beginning()
"""No topics, and ids that are others each time."""


class Ids:
    """Ids of topics and members.

    With a seed, the nth of a name is the same in each run, whatever else is made before it.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        self._made: Counter[tuple[str, str]] = Counter()

    def next(self, kind: str, name: str) -> UUID:
        """One more for this name; it looks as a random one does."""
        if self._seed is None:
            return uuid4()
        self._made[kind, name] += 1
        text = f"{self._seed}\0{kind}\0{name}\0{self._made[kind, name]}"
        return UUID(bytes=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16], version=4)


def topics_of(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Topics from texts NAME:PARTITIONS, or NAME for one partition. Errors: SettingsError."""
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.rpartition(":") if ":" in text else (text, "", "1")
        if not (number.isascii() and number.isdigit() and int(number) > 0):
            raise SettingsError(f"cannot read topic {text!r}; write NAME:PARTITIONS, as {EXAMPLE}")
        if problem := name_problem(name):
            raise SettingsError(f"topic {text!r}: {problem}; write NAME:PARTITIONS, as {EXAMPLE}")
        if name in found:
            raise SettingsError(f"topic {name} is given twice; leave one out")
        found[name] = int(number)
    return tuple(found.items())
