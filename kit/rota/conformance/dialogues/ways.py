"""Ways in which the state that a case needs can be reached: where one of them fails, another may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Way:
    """How members come into a group.

    `newest` is the newest version of an API that is spoken, as long as the dialogue and the target have such
    a version. `one_by_one`: a newcomer joins once those before it are Stable. So many members as `fewer` are
    done without, where the question can be asked of those that are left. `name` says so in words.
    """

    name: str
    newest: Mapping[str, int] = field(default_factory=dict)
    one_by_one: bool = False
    fewer: int = 0

    def version(self, api: str, common: Sequence[int]) -> int:
        """The one to speak of the versions, in order, that dialogue and target have in common."""
        fitting = [version for version in common if version <= self.newest.get(api, version)]
        return fitting[-1] if fitting else common[-1]

    def differs(self, needs: Mapping[str, tuple[int, int]], versions: Mapping[str, int], spare: int) -> bool:
        """Whether it is another way than the usual one for a dialogue that was played in these versions.

        needs: those in which what it is about can be seen; spare: the members it can do without; both as in
        `Script`.
        """
        if self.fewer:
            return self.fewer <= spare
        return self.one_by_one or any(
            versions.get(api, 0) > last >= needs.get(api, (0, last))[0] for api, last in self.newest.items()
        )


USUAL = Way("all at once")

OTHERS = (
    Way("with JoinGroup v3, which has no handshake", {"JoinGroup": 3}),
    Way("with JoinGroup v5 and SyncGroup v3", {"JoinGroup": 5, "SyncGroup": 3}),
    Way("one member after the other", one_by_one=True),
    Way("with one member fewer", fewer=1),
    Way("with two members fewer", fewer=2),
)
"""What is tried, in this order, where the usual way does not lead to what a case is about."""
