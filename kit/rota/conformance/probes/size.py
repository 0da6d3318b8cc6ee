"""The limit on a group's size, `group.max.size`, here 2."""

from __future__ import annotations

from collections.abc import Mapping

from rota.conformance.dialogue import Dialogue, Member, Waiting
from rota.conformance.groups import stable
from rota.conformance.model import MAX_SIZE
from rota.conformance.registry import probe
from rota.conformance.talk import STATIC, handed_out, lead_stable, static

_SOURCE = "KIP-389; GroupMetadataManager#acceptJoiningMember"
_TWO: Mapping[str, int] = {MAX_SIZE: 2}


@probe(
    "size.full.dynamic",
    "A full group refuses a newcomer at its first step already, with an empty member id.",
    _SOURCE,
    settings=_TWO,
)
def full_dynamic(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), d.member("b"))
    d.member("c").join("")


@probe(
    "size.full.static",
    "A full group refuses a static newcomer.",
    f"{_SOURCE}; KIP-345",
    needs=STATIC,
    settings=_TWO,
)
def full_static(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), d.member("b"))
    static(d, "c", "three").join("")


@probe(
    "size.full.static-restart",
    "A full group refuses even a static member of its own that restarts.",
    f"{_SOURCE}; KIP-345",
    needs=STATIC,
    settings=_TWO,
)
def full_static_restart(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), static(d, "b", "two"))
    static(d, "again", "two").join("")


@probe(
    "size.full.member-rejoins",
    "A full group lets its own members join again.",
    _SOURCE,
    settings=_TWO,
)
def member_rejoins(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead_stable(d, a, b)
    b.join()


@probe(
    "size.pending.not-counted",
    "Ids that were handed out do not count.",
    _SOURCE,
    needs={"JoinGroup": (4, 9)},
    settings=_TWO,
)
def pending_not_counted(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    for name in "bcd":
        handed_out(d, name)
    d.member("e").join("")


@probe(
    "size.preparing.pushed-out",
    "While the members join, only those who wait count: a newcomer can push out a member that comes later.",
    _SOURCE,
    settings=_TWO,
)
def pushed_out(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    _crowded(d, a, b)
    b.join()
    b.heartbeat()


@probe(
    "size.preparing.last-missing",
    "When the last member that is missing is refused for size, the join phase goes on to its timeout.",
    f"{_SOURCE}; GroupMetadataManager#classicGroupJoin",
    settings=_TWO,
    seconds=5.0,
)
def last_missing(d: Dialogue) -> None:
    a, b = (d.member(name, rebalance_timeout_ms=3000) for name in "ab")
    again, newcomer = _crowded(d, a, b)
    b.join()
    again.timed()
    newcomer.answer()


def _crowded(d: Dialogue, a: Member, b: Member) -> tuple[Waiting, Waiting]:
    """Of two members one has joined again, and so has a newcomer; both wait."""
    lead_stable(d, a, b)
    with d.reaching("a join phase in which a and a newcomer wait"):
        again = a.send_join()
        again.silent(0.2)
        newcomer = d.member("c", rebalance_timeout_ms=3000).enter()
        newcomer.silent(0.2)
    return again, newcomer
