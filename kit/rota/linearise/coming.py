"""What is known of answers before they come: of a history that is over, all of them.

A state that gives an answer which is known to be another leads nowhere, long before that answer is due; and
where none will come it is all the same which it is. Both leave fewer states where much is under way at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rota.kernel import replace
from rota.linearise.answers import AnyAnswer, agreements
from rota.linearise.states import State
from rota.spec.admin_messages import ListGroupsReply
from rota.spec.messages import ReplyMessage

NEVER_SEEN = AnyAnswer()
"""An answer that never comes."""


def with_what_will_come(
    before: State,
    state: State,
    coming: Mapping[int, ReplyMessage],
    whole: bool,
    said: Callable[[int, ReplyMessage], ReplyMessage],
) -> State | None:
    """A state after a step; None where an answer that the step gives is known to be another.

    coming: number of a request → the answer to it, where it is known; whole: whether the others
    will have none; said: a request's answer as it is compared. A list of groups may yet change on its way
    (see `older_races`).
    """

    def _agree(number: int, message: ReplyMessage, seen: ReplyMessage) -> bool:
        return any(True for _ in agreements(said(number, message), said(number, seen), state.ids))

    given = [number for number in state.owed if number not in before.owed]
    for number in given:
        owed, seen = state.owed[number], coming.get(number)
        if seen is None:
            if whole:
                state = replace(state, owed=state.owed.set(number, replace(owed, message=NEVER_SEEN)))
        elif not isinstance(owed.message, ListGroupsReply) and not _agree(number, owed.message, seen):
            return None
    return state
