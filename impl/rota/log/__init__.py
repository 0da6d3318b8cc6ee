"""A partition's log on disk: segments in Kafka's own format, recovery, compaction, fsync policies.

Whatever touches the file system goes through `Files`, so that a test can cut the power at any call.
"""

from rota.log.cleaner import Compacted
from rota.log.errors import DamagedLog, LogError, LogErrorCode
from rota.log.files import Disk, Files, OpenFile
from rota.log.options import Fsync, LogOptions
from rota.log.partition import PartitionFiles
from rota.log.recovery import Cut, Recovered

__all__ = [
    "Compacted",
    "Cut",
    "DamagedLog",
    "Disk",
    "Files",
    "Fsync",
    "LogError",
    "LogErrorCode",
    "LogOptions",
    "OpenFile",
    "PartitionFiles",
    "Recovered",
]
