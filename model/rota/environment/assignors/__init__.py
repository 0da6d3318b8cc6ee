"""Who reads which partition: the four assignors of Kafka's consumer, as pure functions of plain values.

`ASSIGNORS` maps the name that travels as the protocol in a JoinGroup to the function that the leader runs.
Each takes the number of partitions per topic and the members' subscriptions and returns a part, possibly
empty, for every member. Racks are left out everywhere: they choose among results without weakening what is
promised of balance, see each module. So is the wire form of claims, on which clients have to agree and
assignors do not.
"""

from collections.abc import Mapping
from types import MappingProxyType

from rota.environment.assignors.common import Assignor, Parts, Subscription, TopicPartition
from rota.environment.assignors.cooperative_sticky import assign_cooperative_sticky
from rota.environment.assignors.range import assign_range
from rota.environment.assignors.roundrobin import assign_roundrobin
from rota.environment.assignors.sticky import assign_sticky

__all__ = ["ASSIGNORS", "Assignor", "Parts", "Subscription", "TopicPartition"]

ASSIGNORS: Mapping[str, Assignor] = MappingProxyType(
    {
        "range": assign_range,
        "roundrobin": assign_roundrobin,
        "sticky": assign_sticky,
        "cooperative-sticky": assign_cooperative_sticky,
    }
)
"""Protocol name → assignor."""
