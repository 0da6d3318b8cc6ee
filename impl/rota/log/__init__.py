"""A partition's log on disk: segments in Kafka's own format, recovery, compaction, fsync policies.

Whatever touches the file system goes through `Files`, so that a test can cut the power at any call.
"""

from rota.log.errors import DamagedLog, LogError
from rota.log.files import Disk, Files, OpenFile
from rota.log.options import Fsync, LogOptions
from rota.log.partition import PartitionFiles
from rota.log.recovery import Cut, Recovered

__all__ = [
    "Cut",
    "DamagedLog",
    "Disk",
    "Files",
    "Fsync",
    "LogError",
    "LogOptions",
    "OpenFile",
    "PartitionFiles",
    "Recovered",
]
