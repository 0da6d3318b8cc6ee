"""Reads what was seen of groups from whatever people have: logs, recordings, captures, the offsets topic.

`read` finds out what each path is, opens it, lets its reader make events of it and merges them by time. A
reader is a class with the members of `Reader`; `readers` has them all.
"""

from rota.reading.errors import ReadingError
from rota.reading.merging import read, read_by_cluster
from rota.reading.options import ReadOptions, time_zone
from rota.reading.reader import FolderReader, Reader
from rota.reading.source import OpenSource
from rota.reading.tally import Tally

__all__ = [
    "FolderReader",
    "OpenSource",
    "ReadOptions",
    "Reader",
    "ReadingError",
    "Tally",
    "read",
    "read_by_cluster",
    "time_zone",
]
