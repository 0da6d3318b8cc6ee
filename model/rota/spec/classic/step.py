"""What a rule of the classic protocol returns: the next group and its effects."""

from __future__ import annotations

from dataclasses import field

from rota.kernel import frozen, replace
from rota.spec.classic.records import GroupRecord
from rota.spec.classic.state import Group
from rota.spec.effects import Effects


@frozen
class Step(Effects):
    """One allowed outcome of a rule: the next group, None where there is none, and the effects."""

    group: Group | None
    records: tuple[GroupRecord, ...] = field(default=(), kw_only=True)

    @property
    def live(self) -> Group:
        """The group, which this step knows to exist."""
        if self.group is None:
            raise AssertionError("a step on a missing group must not touch it")
        return self.group

    def to(self, group: Group) -> Step:
        """With another group."""
        return replace(self, group=group)


Steps = tuple[Step, ...]
