"""What becomes of the answers that steps give, in a run of states that are taken apart."""

from __future__ import annotations

from rota.linearise.coming import NEVER_SEEN
from rota.linearise.learned import Learned
from rota.linearise.packing import Packing
from rota.linearise.parts import WHOEVER_ASKS, Core, Outcome, Packed, Shared
from rota.linearise.run import Run
from rota.linearise.steps import Rules
from rota.spec.admin_messages import ListGroupsReply
from rota.spec.messages import ReplyMessage


class OwedRun(Run):
    """A `Run` that knows what is owed after a step. Parameters: as of `Run`."""

    _learned: Learned
    _packing: Packing
    _replies: dict[tuple[ReplyMessage, int], Shared]
    _noted: dict[int, dict[Shared, tuple[Rules, str]]]

    def _owed(self, owed: Shared, one: Outcome, by: float, number: int) -> Shared:
        """The answers that are owed after a step, those that it gives with them."""
        lost, found = self._steps.lost, {each[0]: each for each in owed.value}
        for to, message in one.replies:
            asked = number if to == WHOEVER_ASKS else self._packing.names.number(to)
            if asked not in lost:
                found[asked] = (asked, message, by)
        return self._packing.shared(tuple(found[asked] for asked in sorted(found)))

    def _allowed(self, before: Packed, owed: Shared, rules: Rules, core: Core) -> Shared | None:
        """What is owed after a step, as `with_what_will_come` leaves it; the step's answers are noted."""
        had = {number for number, _, _ in before[5].value}
        given = [one for one in owed.value if one[0] not in had]
        for number, message, _ in given:
            self._note(number, message, rules, before[0].name)
        if not self.eager or not given:
            return owed
        if not all(self._will_come(number, message, core) for number, message, _ in given):
            return None
        if self.whole:
            never = self._learned.shared(NEVER_SEEN)
            left = {number for number, _, _ in given if number not in self._coming}
            changed = ((one[0], never, one[2]) if one[0] in left else one for one in owed.value)
            return self._packing.shared(tuple(changed))
        return owed

    def _will_come(self, number: int, message: Shared, core: Core) -> bool:
        """Whether an answer may be the one that is known to come, if one is."""
        if number not in self._coming or isinstance(message.value, ListGroupsReply):
            return True
        seen, version = self._heard(self._coming[number], number), self.sent[number].call.version
        return self._learned.agrees(message, version, seen, core.ids)

    def _note(self, number: int, message: Shared, rules: Rules, state: str) -> None:
        """An answer that the spec has given, and by which rules."""
        self._noted.setdefault(number, {}).setdefault(message, (rules, state))

    def given(self, number: int) -> dict[ReplyMessage, tuple[Rules, str]]:
        """As `Run.given`."""
        back, found = self._packing.names.back, dict(self.gave.get(number, {}))
        for message, told in self._noted.get(number, {}).items():
            found.setdefault(back(message.value), told)
        return found

    def _note_given(self) -> None:
        """What was given is kept under the names of the history, for those who still wait."""
        for number in filter(self.awaits, self._noted):
            self.gave[number] = self.given(number)
        self._noted = {}

    def _heard(self, reply: ReplyMessage, number: int) -> Shared:
        """An answer that came, as one that is owed."""
        version = self.sent[number].call.version
        known = self._replies.get((reply, version))
        if known is None:
            names, said = self._packing.names, self._steps.comparable(reply, version)
            names.member(getattr(said, "member_id", ""))
            known = self._replies[reply, version] = self._learned.shared(names.into(said))
        return known
