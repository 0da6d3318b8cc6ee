"""`__consumer_offsets` as events, from segment files, folders and over the wire.

`partition` turns the batches of one partition into events, by the codec of the coordinator's log; `segments`,
`folders` and `wire` bring the batches. What is no record of a classic group or of an offset is told and
counts for nothing: records of newer kinds of groups, of transactions that were given up, damaged bytes.
"""

from rota.offsets_topic.folders import partition_folders, read_data_folder, read_partition_folder
from rota.offsets_topic.partition import TOPIC, PartitionEvents
from rota.offsets_topic.segments import read_segment
from rota.offsets_topic.wire import TopicUnreadable, Wanted, read_topic

__all__ = [
    "TOPIC",
    "PartitionEvents",
    "TopicUnreadable",
    "Wanted",
    "partition_folders",
    "read_data_folder",
    "read_partition_folder",
    "read_segment",
    "read_topic",
]
