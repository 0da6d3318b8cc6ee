"""All readers, in the order in which they are asked whether they know a source."""

from __future__ import annotations

from collections.abc import Sequence

from rota.logs.reader import Logs
from rota.reading.event_lines import EventLines
from rota.reading.offsets import OffsetsFiles, OffsetsOverTheWire
from rota.reading.parquet import Parquet
from rota.reading.reader import Reader
from rota.record.capture.reader import Captures

READERS: Sequence[Reader] = (
    EventLines(),
    Parquet(),
    Captures(),
    OffsetsFiles(),
    OffsetsOverTheWire(),
    Logs(),
)
"""Those that recognise by first bytes stand before those that guess by the look of lines."""
