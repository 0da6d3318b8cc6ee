"""What was seen of groups, from whatever source: one event a line, the same format for all of them.

`event` has the event and its kinds, `lines` the format. Readers of logs, captures and the offsets topic make
events; judges and accounts of rebalances read them.
"""

from rota.history.event import Event, Kind, Source
from rota.history.lines import SCHEMA, LineError, event_of, line_of

__all__ = ["SCHEMA", "Event", "Kind", "LineError", "Source", "event_of", "line_of"]
