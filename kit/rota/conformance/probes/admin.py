"""What DescribeGroups says of who may do what."""

from __future__ import annotations

from rota.conformance.dialogue import Dialogue
from rota.conformance.groups import stable
from rota.conformance.registry import probe
from rota.conformance.talk import describe


@probe(
    "admin.describe.authorized-operations",
    "Which operations are allowed, as bits, where there is no authoriser.",
    "KIP-430; KafkaApis#handleDescribeGroupsRequest",
    needs={"DescribeGroups": (3, 5)},
)
def authorized_operations(d: Dialogue) -> None:
    stable(d, d.member("a"))
    describe(d, include_authorized_operations=True)
