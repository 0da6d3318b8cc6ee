"""Tied votes: which of the protocols a coordinator takes. Nothing promises it; it is a recorded fact."""

from __future__ import annotations

from collections.abc import Callable

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import probe
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.group_formation import join_together

TIES = (
    ("range", "roundrobin"),
    ("range", "sticky"),
    ("range", "cooperative-sticky"),
    ("roundrobin", "sticky"),
)
"""Pairs of assignors that a consumer group may well have to choose between."""


def _tie(one: str, other: str) -> Callable[[Dialogue], None]:
    def play(d: Dialogue) -> None:
        first = d.member("a", protocols=[(one, subscription()), (other, subscription())])
        second = d.member("b", protocols=[(other, subscription()), (one, subscription())])
        join_together(d, first, second)

    return play


for _one, _other in TIES:
    probe(
        f"voting.tie.{_one}-or-{_other}",
        f"One vote for {_one} and one for {_other}: which is elected.",
        "ClassicGroup#selectProtocol",
    )(_tie(_one, _other))
