"""Commits in a run of states that are taken apart.

What the group says to a commit is learned; what becomes of the offsets is asked of the spec each time,
without putting the state together.
"""

from __future__ import annotations

from typing import Any

from rota.linearise.learned import Commit
from rota.linearise.owed_answers import OwedRun
from rota.linearise.parts import How, Line, Next, Outcome, Packed, Shared
from rota.linearise.shapes import Shape, shape_of
from rota.linearise.steps import Rules
from rota.linearise.times import Span
from rota.oracle.offsets_follow import Kept, Told, Waiting, completed, outcomes
from rota.spec import Call, Reply
from rota.spec.offset_messages import OffsetCommitRequest
from rota.spec.offset_state import GroupForgotten, OffsetBatch, OffsetRead


class CommitRun(OwedRun):
    """An `OwedRun` that knows what comes of commits. Parameters: as of `Run`."""

    _shapes: dict[int, tuple[Call, Shape | None, Shared]]

    def _commits(self, state: Packed, number: int, moment: Span, how: How, found: list[Next]) -> bool:
        """A commit has its turn. Returns whether that is told here; else it is asked as others are."""
        if not isinstance(self.sent[number].call.request, OffsetCommitRequest):
            return False
        shape, request = self._shape(number)
        known = None if shape is None else self._learned.commit(state[0], request)
        if shape is None or known is None:
            return False
        left = self._packing.without(state[4], number)
        after: list[tuple[Packed, Outcome, Line]] = []
        for one in known:
            if one.batch is None:
                after.append((state, one.outcome, state[2]))
                continue
            begun = self._on_their_way(state, one, shape.filled(one.batch, number))
            if begun is None:
                return False
            for told, rules in begun:
                line = self._packing.line_with(state[2], [each.item for each in told.queued], moment)
                before = (state[0], self._packing.shared(told.offsets), *state[2:])
                after.append((before, one.by(rules), line))
        for before, outcome, line in after:
            self._add(before, outcome, (line, left, moment), how, found)
        return True

    def _shape(self, number: int) -> tuple[Shape | None, Shared]:
        call = self._call(number)
        known = self._shapes.get(number)
        if known is None or known[0] is not call:
            shape = shape_of(self._packing.names.call(call))
            request = self._learned.shared(None if shape is None else shape.call)
            known = self._shapes[number] = call, shape, request
        return known[1:]

    def _on_their_way(
        self, state: Packed, one: Commit, batch: OffsetBatch
    ) -> list[tuple[Told, Rules]] | None:
        """What the offsets say to a batch; None where they say more than that it is on its way."""
        step, kept = one.step(batch), Kept(state[1].value)
        found = self._steps.told(lambda spec: outcomes(spec, kept, state[0].group, (step,)))
        plain = all(told.group is step.group and not told.replies for told, _ in found)
        return found if plain else None

    def _stored(self, state: Packed, moment: Span, how: How, found: list[Next]) -> bool:
        """The log has the offsets that are first in line. Returns whether that is told here."""
        core, offsets, line, armed, pending, _, _, veiled = state
        items, since = line.value
        first, record = items[0]
        if not isinstance(first, OffsetBatch) or record is not None or _more_comes_of(items[1:]):
            return False
        kept = Kept(offsets.value, [Waiting(first, answered=True)])
        told = self._steps.told(lambda spec: tuple(one for one, _ in completed(spec, kept, core.group)))
        if not all(
            one.group is core.group and not (one.timers or one.records or one.queued) for one, _ in told
        ):
            return False
        left = self._packing.line(items[1:], since[2:])
        for one, used in told:
            rules = used if one.rules else ()
            owed = self._allowed(state, self._replied(state[5], one.replies, moment.latest), rules, core)
            if owed is not None:
                after = self._packing.shared(one.offsets)
                found.append(((core, after, left, armed, pending, owed, how[0], veiled), rules, *how))
        return True

    def _replied(self, owed: Shared, replies: tuple[Reply, ...], by: float) -> Shared:
        """What is owed with these answers."""
        lost, found = self._steps.lost, {each[0]: each for each in owed.value}
        for reply in replies:
            if (number := int(reply.to)) not in lost:
                said = self._learned.shared(self._packing.names.into(reply.message))
                found[number] = (number, said, by)
        return self._packing.shared(tuple(found[number] for number in sorted(found)))

    def _add(
        self, state: Packed, one: Outcome, given: tuple[Line, Shared, Span], how: How, found: list[Next]
    ) -> None:
        raise NotImplementedError


def _more_comes_of(rest: tuple[tuple[Any, Any], ...]) -> bool:
    """Whether what waits behind what is stored has a say, or its turn at once."""
    reads = bool(rest) and isinstance(rest[0][0], OffsetRead)
    return reads or any(isinstance(item, GroupForgotten) for item, _ in rest)
