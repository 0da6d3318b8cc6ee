"""What was seen of groups, from whatever source: one event a line, the same format for all of them.

`event` has the event and its kinds, `lines` the format, `pairs` puts requests and responses of frames
together. Readers of logs, captures and the offsets topic make events; judges and accounts of rebalances read
them.
"""

from rota.history.event import Event, Kind, Source
from rota.history.lines import SCHEMA, LineError, event_of, line_of
from rota.history.pairs import Exchange, conversations

__all__ = [
    "SCHEMA",
    "Event",
    "Exchange",
    "Kind",
    "LineError",
    "Source",
    "conversations",
    "event_of",
    "line_of",
]
