"""What becomes of a commit where nothing else is under way: taken, stored and answered, looked up at once.

What the offsets say to a batch might depend on what they are. So the spec is asked of it twice, where nothing
is committed and where something is for each of its partitions; where it says the same, that the batch's
offsets are committed and its answer is given, this is so as well of offsets at rest that are other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rota.kernel import FrozenMap, replace
from rota.linearise.parts import WHOEVER_ASKS, Outcome, Shared
from rota.linearise.shapes import Shape
from rota.linearise.steps import Rules, Steps
from rota.oracle.offsets_follow import Kept, Told, Waiting, completed, outcomes
from rota.spec import Group, Reply, Step
from rota.spec.offset_state import Committed, OffsetBatch, OffsetRecord, Offsets

Key = tuple[str, int]
"""Topic and partition."""

OTHER = Committed(1, 2, "told before", 3)
"""An offset that no shape has."""


@dataclass(frozen=True, eq=False)
class Passage:
    """A commit by its shape. outcome: for the group; answer: to whoever asks; stored: rules of the log's
    answer; offsets: what is committed, by the shape."""

    outcome: Outcome
    answer: Shared
    stored: Rules
    offsets: Mapping[Key, Committed]

    def committed(self, before: Offsets, shape: Shape) -> Offsets:
        """Offsets at rest with those of a commit. shape: of the commit."""
        new = {key: shape.value(one) for key, one in self.offsets.items()}
        return replace(before, committed=FrozenMap({**before.committed, **new}))


def at_rest(offsets: Offsets) -> bool:
    """Whether nothing of offsets is under way."""
    return not (offsets.pending or offsets.appended or offsets.leaving)


@dataclass(frozen=True)
class Passed:
    """What the spec says of a commit. begun, stored: the rules of either."""

    begun: Rules
    stored: Rules
    reply: Reply
    offsets: Mapping[Key, Committed]


def passed(steps: Steps, groups: tuple[Group | None, Group | None], step: Step) -> Passed | None:
    """What the spec says of a commit to offsets at rest; None where that is more, or rests on what they are.

    groups: before and after the commit; step: what the group says to it.
    """
    (batch,) = step.offsets
    assert isinstance(batch, OffsetBatch), "a commit stores offsets, or is answered at once"
    keys = {one.key for one in batch.records}
    before = (Offsets(), Offsets(FrozenMap(dict.fromkeys((*keys, ("", 0)), OTHER))))
    one, other = (_passed(steps, groups, step, batch, each) for each in before)
    return one if one == other else None


def _passed(
    steps: Steps, groups: tuple[Group | None, Group | None], step: Step, batch: OffsetBatch, before: Offsets
) -> Passed | None:
    begun = steps.told(lambda spec: outcomes(spec, Kept(before), groups[0], (step,)))
    if len(begun) != 1 or begun[0][0] != Told(
        step.group, begun[0][0].offsets, (Waiting(batch),), (), step.timers, begun[0][0].rules
    ):
        return None
    kept = Kept(begun[0][0].offsets, [Waiting(batch, answered=True)])
    stored = steps.told(lambda spec: tuple(one for one, _ in completed(spec, kept, groups[1])))
    if len(stored) != 1:
        return None
    ((told, rules),) = stored
    new = {one.key: one.value for one in batch.records if isinstance(one, OffsetRecord)}
    after = replace(before, committed=FrozenMap({**before.committed, **new}))
    if told != Told(groups[1], after, (), told.replies[:1], (), told.rules) or len(told.replies) != 1:
        return None
    if told.replies[0].to != str(WHOEVER_ASKS):
        return None
    return Passed(begun[0][1], rules if told.rules else (), told.replies[0], new)
