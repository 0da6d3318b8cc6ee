"""The offsets of the group on a stage: what the group's rules tell them, and what waits with them for the
log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rota.spec import Spec
from rota.spec.effects import ForOffsets
from rota.spec.offset_state import (
    Expire,
    GroupForgotten,
    GroupForgottenAnswer,
    OffsetBatch,
    OffsetRead,
    Offsets,
    OffsetStep,
    TransactionEnd,
)
from rota.spec.vocabulary import AppendError


@dataclass(eq=False)
class Ledger:
    """The offsets, kept as the spec says. spec: asks for the rules; leaving: of a group that is removed."""

    spec: Callable[[], Spec]
    offsets: Offsets = field(default_factory=Offsets)
    leaving: GroupForgotten | None = None

    def tell(self, word: ForOffsets, *, queue: bool) -> OffsetStep:
        """A rule of the group has said something. queue: whether anything waits for the log already."""
        if isinstance(word, OffsetRead) and word.waits and queue:
            return OffsetStep(self.offsets, line=(word,))
        return self._take(self._outcome(word))

    def answered(
        self, first: OffsetBatch | OffsetRead | TransactionEnd, error: AppendError | None
    ) -> OffsetStep:
        """What waited longest has its turn."""
        if isinstance(first, OffsetBatch):
            return self._take(self.spec().offsets_appended(self.offsets, first, error)[0])
        return self._take(self._outcome(first))

    def _take(self, step: OffsetStep) -> OffsetStep:
        self.offsets = step.offsets
        return step

    def _outcome(self, word: ForOffsets) -> OffsetStep:
        spec = self.spec()
        if isinstance(word, OffsetBatch):
            return spec.offsets_begin(self.offsets, word)[0]
        if isinstance(word, OffsetRead):
            return spec.offsets_read(self.offsets, word)[0]
        if isinstance(word, Expire):
            return spec.offsets_expire(self.offsets, word)[0]
        if isinstance(word, TransactionEnd):
            return spec.transaction_ended(self.offsets, word)[0]
        if isinstance(word, GroupForgotten):
            self.leaving = word
            return spec.offsets_forget(self.offsets, word)[0]
        assert isinstance(word, GroupForgottenAnswer)
        assert self.leaving is not None, "no group was removed"
        return spec.offsets_forgotten(self.offsets, self.leaving, word.stored)[0]
