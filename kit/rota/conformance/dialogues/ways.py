"""Ways in which the state that a case needs can be reached: where one of them fails, another may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_FORMING = ("join", "static", "sync")
"""Parts of the rules by which a group forms: what else fails is the same in every way."""

_ADMITTED = frozenset({"join.member-id-required", "join.pending-member", "join.new-member"})
"""Rules by which a newcomer becomes a member."""

_TOGETHER = frozenset({"join.barrier", "join.leader"})
"""Rules by which members come into one generation, in whatever version they ask."""


def _is_forming(rule: str) -> bool:
    return rule.split(".")[0] in _FORMING


def _is_of_an_answer(rule: str) -> bool:
    return _is_forming(rule) and rule not in _TOGETHER


def _is_of_several(rule: str) -> bool:
    return _is_forming(rule) and rule not in _ADMITTED


@dataclass(frozen=True)
class Way:
    """How members come into a group.

    `newest` is the newest version of an API that is spoken, as long as the dialogue and the target have such
    a version. `one_by_one`: a newcomer joins once those before it are Stable. So many members as `fewer` are
    done without, where the question can be asked of those that are left. `name` says so in words. `fits` says
    whether it may lead to where a set-up did not get to since a rule, by its slug, is broken.
    """

    name: str
    newest: Mapping[str, int] = field(default_factory=dict)
    one_by_one: bool = False
    fewer: int = 0
    fits: Callable[[str], bool] = field(default=_is_forming, compare=False)

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
    Way("with JoinGroup v3, which has no handshake", {"JoinGroup": 3}, fits=_ADMITTED.__contains__),
    Way("with JoinGroup v5 and SyncGroup v3", {"JoinGroup": 5, "SyncGroup": 3}, fits=_is_of_an_answer),
    Way("one member after the other", one_by_one=True, fits=_TOGETHER.__contains__),
    Way("with one member fewer", fewer=1, fits=_is_of_several),
    Way("with two members fewer", fewer=2, fits=_is_of_several),
)
"""What is tried, in this order, where the usual way does not lead to what a case is about."""
