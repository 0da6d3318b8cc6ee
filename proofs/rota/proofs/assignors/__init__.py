"""Assignors: who gets which partition, for any number of members, topics and partitions.

Members and partitions are taken in the assignor's order, by their places from 0. Owners are counted as the
assignor goes along, so that "exactly one" is proved by induction over members or partitions.
"""

TOGETHER = {
    "assignors.range": "each partition of a wanted topic has exactly one owner, a subscriber; even per topic",
    "assignors.roundrobin": "each partition of a wanted topic has exactly one owner, a subscriber",
    "assignors.cooperative": "no partition is given to a member before another has given it up, if who holds "
    "it claims it and no other claim is as new",
}
"""What the obligations prove together, by group."""
