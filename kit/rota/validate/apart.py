"""One history judged by itself, from its own events and what is for all: as it is among others.

A `Router` and `parts_of` say which groups an event is about. A history takes its events in the order of time,
and between them what is for all groups of its cluster (`is_for_all`); when frames begin and when all ends it
is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from rota.history import Event, Kind, Source
from rota.validate.account import Account
from rota.validate.audited_logs import Logs
from rota.validate.audited_offsets import Topic
from rota.validate.crossing import Comparison, Generations, may_tell_of_a_generation
from rota.validate.recordings import Frames, roster_of
from rota.validate.rosters import Roster
from rota.validate.routing import NOT_ASKED_FOR, Part, Router, Told
from rota.validate.terms import Terms
from rota.validate.transactions import Timeouts, word_of
from rota.validate.validation import is_asked_for, not_contradicted

OWN = (Part.ASKED, Part.ANSWERED, Part.ANSWERED_AGAIN)
"""What says that there is a group."""


def parts_of(router: Router, event: Event, now: float) -> Sequence[Told]:
    """What an event means for groups. router: of its connection; now: the time of its moment."""
    if event.source is not Source.FRAMES:
        return [Told(Part.BESIDE, event.group, 1)]
    told = router.take(event, now)
    if event.group and may_tell_of_a_generation(event):
        return [*told, Told(Part.COMPARED, event.group)]
    return told


def is_for_all(told: Told, event: Event) -> bool:
    """Whether every group is to be told: frames are missing nobody knows where, or a line of a log tells that
    a coordinator begins or ends."""
    return not told.group and (told.part is not Part.BESIDE or event.source is Source.BROKER_LOG)


class History:
    """Takes what is for one group, in the order of time; for the group "" what is for none.

    Parameters: cluster; group; terms; began: the time of the cluster's first frame. Attributes: group;
    account; comparisons, of what several sources tell of its generations.
    """

    def __init__(self, cluster: str, group: str, terms: Terms, began: float) -> None:
        self.group = group
        self.account = Account(cluster=cluster)
        self.comparisons: list[Comparison] = []
        self._terms, self._began = terms, began
        self._frames: Frames | None = None
        self._timeouts = Timeouts()
        self._roster: tuple[Roster, float] | None = None
        self._logs, self._topic = Logs(self.account), Topic(self.account)
        self._generations = Generations()

    def take(self, told: Told, event: Event, now: float) -> None:
        """The next event. now: the time of its moment."""
        if told.part is Part.TRANSACTED:
            self._timeouts.hear(word_of(told.cause))
        if told.part is Part.COMPARED:
            self.comparisons += self._generations.take(event)
        elif told.part is Part.BESIDE:
            self._beside(event, now)
        elif told.part in OWN:
            self._watched().take(told, event, now)
        elif self._frames is not None:
            self._frames.take(told, event, now)

    def end(self, now: float) -> bool:
        """Nothing more comes. now: the time of the last event of all.

        Returns whether more may be told when all ends later: something that waits for an answer is judged.
        """
        if self._frames is None:
            return False
        waits = self._frames.watched.waits
        self._frames.watched.close(now)
        return waits

    def _watched(self) -> Frames:
        if self._frames is None:
            self.account.of(self.group)
            self._frames = Frames(self.group, self._terms, self.account, self._began, self._timeouts)
            if self._roster is not None:
                self._frames.watched.told(*self._roster)
        return self._frames

    def _beside(self, event: Event, now: float) -> None:
        if event.group != self.group:
            if is_asked_for(event, self._terms):
                self._logs.announce(event)
            return
        if not is_asked_for(event, self._terms):
            self.account.leave(NOT_ASKED_FOR, event.source.value, 1)
            return
        if event.source is Source.BROKER_LOG:
            self._logs.take(event)
        elif event.source is Source.OFFSETS:
            self._topic.take(event)
            self._stored(event, now)
        else:
            self.account.leave(not_contradicted(event), event.source.value, 1)
        if may_tell_of_a_generation(event):
            self.comparisons += self._generations.take(event)

    def _stored(self, event: Event, now: float) -> None:
        if event.kind not in (Kind.GROUP_STORED, Kind.GROUP_REMOVED):
            return
        roster = roster_of(event)
        self._roster = (roster, event.at) if roster is not None and event.at is not None else None
        if self._frames is not None:
            self._frames.watched.told(roster, event.at or now)
