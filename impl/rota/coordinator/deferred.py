"""Events that wait for the log: in the order of each of its partitions, and not for what is in others."""

from collections import deque
from collections.abc import Callable, Iterable

from rota.coordinator.ledger import DeferredEvent


class Deferred:
    """Lines of events, one for each partition of the log. An event is in several lines at once, if need be.

    One that is in all of them stands at the beginning of a line that forms behind it, too.
    """

    def __init__(self) -> None:
        self._lines: dict[int, deque[DeferredEvent]] = {}
        self._everywhere: list[DeferredEvent] = []

    def __bool__(self) -> bool:
        return bool(self._lines)

    def waits(self, partitions: Iterable[int]) -> bool:
        """Whether anything waits in one of these."""
        return bool(self._everywhere) or any(each in self._lines for each in partitions)

    def add(self, event: DeferredEvent) -> None:
        """To the end of its lines."""
        if event.partitions is None:
            self._line(0)
            self._everywhere.append(event)
            for line in self._lines.values():
                line.append(event)
        else:
            for partition in event.partitions:
                self._line(partition).append(event)

    def next_answered(self) -> DeferredEvent | None:
        """Takes out an event that the log has answered, and before which nothing waits, if there is one."""
        return self._take(lambda event: event.error_code is not None)

    def next_event(self) -> DeferredEvent | None:
        """Takes out an event before which nothing waits, answered or not, if there is one."""
        return self._take(lambda event: True)

    def _line(self, partition: int) -> deque[DeferredEvent]:
        line = self._lines.get(partition)
        if line is None:
            line = self._lines[partition] = deque(self._everywhere)
        return line

    def _take(self, wanted: Callable[[DeferredEvent], bool]) -> DeferredEvent | None:
        for line in self._lines.values():
            if wanted(line[0]) and self._is_first(line[0]):
                return self._taken(line[0])
        return None

    def _is_first(self, event: DeferredEvent) -> bool:
        """Whether it is at the beginning of all of its lines."""
        partitions = self._lines if event.partitions is None else event.partitions
        return all(self._lines[each][0] is event for each in partitions)

    def _taken(self, event: DeferredEvent) -> DeferredEvent:
        if event.partitions is None:
            self._everywhere.remove(event)
        for partition in tuple(self._lines) if event.partitions is None else event.partitions:
            line = self._lines[partition]
            line.popleft()
            if not line:
                del self._lines[partition]
        return event
