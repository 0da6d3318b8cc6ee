"""The lockstep with offsets, transactions of offsets, administration and expiry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rota import coordinator as core
from rota.oracle.lockstep import GROUP_ID, About, Cleaned, Ended, Input, Lockstep, Logged, Picks
from rota.oracle.offsets_shadow import OffsetsShadow
from rota.oracle.offsets_translate import Question
from rota.oracle.shadow import Make

METADATA_MAX = 8
"""The most of an offset's metadata here, in UTF-16 code units."""


class OffsetsLockstep(Lockstep):
    """Core and spec, of one group with all that it has. Parameters: as of `Lockstep`."""

    def __init__(
        self, config: core.CoordinatorConfig | None = None, make: Make = core.GroupCoordinator
    ) -> None:
        given = config or core.CoordinatorConfig()
        super().__init__(replace(given, offset_metadata_max_bytes=METADATA_MAX), make)
        self._picks = Picks(lambda: self.now)
        self.offsets = OffsetsShadow(self.config, self._picks, make, lambda: self.now)
        self.shadow = self.offsets

    def tell(self, request: Question, version: int) -> None:
        """A request about offsets or of the administration."""
        ahead = 0
        if isinstance(request, core.OffsetCommit | core.TxnOffsetCommit):
            given = _generation_of(request)
            ahead = given - self._current() if given >= 0 else 0
        self.do(About(request, version, ahead))

    def _current(self) -> int:
        return 0 if self.group is None else self.group.generation_id

    def _action(self, one: Input) -> Callable[[], core.Effects] | None:
        if isinstance(one, About):
            return lambda: self.offsets.ask(self._now(one), one.version, object())
        if isinstance(one, Ended):
            return lambda: self.offsets.end(one.producer_id, one.committed, GROUP_ID)
        if isinstance(one, Cleaned):
            return lambda: self._clean(one)
        if isinstance(one, Logged) and one.error and self.offsets.read_behind_a_tombstone(GROUP_ID):
            return None  # what such a fetch finds when the group comes back is left open
        return super()._action(one)

    def _now(self, one: About) -> Question:
        """The request with the generation that is meant."""
        request = one.request
        if isinstance(request, core.OffsetCommit) and request.generation_id_or_member_epoch >= 0:
            return replace(request, generation_id_or_member_epoch=self._current() + one.ahead)
        if isinstance(request, core.TxnOffsetCommit) and request.generation_id >= 0:
            return replace(request, generation_id=self._current() + one.ahead)
        return request

    def _clean(self, one: Cleaned) -> core.Effects:
        self.now += one.after_ms
        return self.offsets.clean_group(GROUP_ID)


def _generation_of(request: core.OffsetCommit | core.TxnOffsetCommit) -> int:
    if isinstance(request, core.OffsetCommit):
        return request.generation_id_or_member_epoch
    return request.generation_id
