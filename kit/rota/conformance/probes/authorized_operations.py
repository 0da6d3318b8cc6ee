"""What DescribeGroups says of who may do what."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import probe
from rota.conformance.steps.administration import describe
from rota.conformance.steps.group_formation import stable


@probe(
    "admin.describe.authorized-operations",
    "Which operations are allowed, as bits, where there is no authoriser.",
    "KIP-430; KafkaApis#handleDescribeGroupsRequest",
    needs={"DescribeGroups": (3, 5)},
)
def authorized_operations(d: Dialogue) -> None:
    stable(d, d.member("a"))
    describe(d, include_authorized_operations=True)
