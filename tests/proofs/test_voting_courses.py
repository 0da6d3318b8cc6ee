"""Counterexamples of guard and counters, replayed in plain Python; rules for a tie, against Python's max."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations, product

import pytest
import z3

from rota.proofs import prove, select
from rota.proofs.vote.encoding import votes
from rota.proofs.vote.groups import CAST, Course, Snapshot
from rota.proofs.vote.ties import BEST, bucket, by_bucket_alone, first_maximum

ANY = [set(chosen) for size in (1, 2, 3) for chosen in combinations(CAST.protocols, size)]


def given(name: str) -> Course:
    example = prove(select([name])[0]).counterexample
    assert isinstance(example, Course)
    return example


def sets(snapshot: Snapshot) -> dict[str, set[str]]:
    return {member: set(listed) for member, listed in snapshot.lists}


def in_final(*members: str) -> Callable[[Course], list[set[str]]]:
    return lambda course: [sets(course.snapshots[-1])[member] for member in members]


def before_and_after(*members: str) -> Callable[[Course], list[set[str]]]:
    """Lists of the last snapshot, then alice's of the first."""
    return lambda course: [*in_final(*members)(course), sets(course.snapshots[0])["alice"]]


GUARD: dict[str, tuple[Callable[[Course], list[set[str]]], Callable[..., object]]] = {
    "none": (in_final("alice", "bob"), lambda a, b: not a & b),
    "none-for-members": (before_and_after("alice", "bob"), lambda new, b, old: old & b and not new & b),
    "each": (in_final("alice", "bob", "carol"), lambda a, b, c: a & b and b & c and a & c and not a & b & c),
    "at-first-request": (in_final("bob", "carol"), lambda b, c: not b & c),
    "put-back": (
        lambda course: [*in_final("alice", "bob")(course), sets(course.snapshots[1])["alice"]],
        lambda old, b, new: old & new and new & b and not old & b,
    ),
    "member-exact": (before_and_after("alice"), lambda new, old: not new & old),
    "same-after-fail-over": (
        lambda course: [sets(course.snapshots[0])["alice"], sets(course.snapshots[-1])["bob"]],
        lambda a, b: "range" in a and a & b and "range" not in b,
    ),
}
"""Claim → the lists that a counterexample is about, and what they break."""


@pytest.mark.parametrize("name", GUARD)
def test_a_course_breaks_its_claim_and_no_shorter_lists_do(name: str) -> None:
    course = given(f"voting.guard.{name}")
    pick, breaks = GUARD[name]
    lists = pick(course)
    assert breaks(*lists)
    if name not in ("member-exact", "same-after-fail-over"):
        assert course.snapshots[-1].common == ()
    entries = sum(map(len, lists))
    fewer = (chosen for chosen in product(ANY, repeat=len(lists)) if sum(map(len, chosen)) < entries)
    assert not [chosen for chosen in fewer if breaks(*chosen)]


class Broker:
    """The counters of a broker: by entry, each on its own; a member's list is what came last."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.counters: Counter[str] = Counter()
        self.members: dict[str, tuple[str, ...]] = {}
        for member, listed in snapshot.lists:
            self.add(member, listed)

    def add(self, member: str, listed: tuple[str, ...]) -> None:
        self.members[member] = listed
        self.counters.update(listed)

    def remove(self, member: str) -> None:
        self.counters.subtract(self.members.pop(member))


def mistaken(snapshot: Snapshot) -> list[str]:
    """Protocols of which the counter says something else than the lists."""
    return [p for p, count in snapshot.counters if (count == len(snapshot.lists)) != (p in snapshot.common)]


def test_a_name_that_is_listed_twice_is_no_candidate() -> None:
    before, after = given("voting.senders.named-twice").snapshots
    assert after.lists == (("bob", ("range", "range")),)
    broker = Broker(before)
    broker.add("bob", dict(after.lists)["bob"])
    assert {p: broker.counters[p] for p in CAST.protocols} == dict(after.counters)
    assert mistaken(after) == ["range"]


@pytest.mark.parametrize("name", ["added-twice", "other-type"])
def test_who_is_added_wrongly_counts(name: str) -> None:
    before, after = given(f"voting.senders.{name}").snapshots
    broker = Broker(before)
    added = "alice" if name == "added-twice" else "bob"
    broker.add(added, dict(after.lists)[added])
    assert {p: broker.counters[p] for p in CAST.protocols} == dict(after.counters)
    # of another type a protocol is not the same, whatever it is called
    assert mistaken(after) == (["range"] if name == "added-twice" else [])


@pytest.mark.parametrize("name", ["other-list", "no-member"])
def test_counters_that_have_drifted(name: str) -> None:
    before, after = given(f"voting.senders.{name}").snapshots
    assert dict(before.counters) == {p: Broker(before).counters[p] for p in CAST.protocols}
    assert mistaken(before) == []
    assert mistaken(after)
    assert dict(after.counters) != {p: Broker(after).counters[p] for p in CAST.protocols}


def test_a_counter_at_zero_stays() -> None:
    before, after = given("voting.senders.names-kept").snapshots
    broker = Broker(before)
    broker.remove("alice")
    broker.add("alice", dict(after.lists)["alice"])
    assert [p for p, count in broker.counters.items() if not count] == ["roundrobin"]


def test_a_course_reads_in_names() -> None:
    assert list(given("voting.senders.named-twice").as_lines()) == [
        "before: nobody",
        "  counters: range 0, roundrobin 0, sticky 0; members: 0",
        "bob joins: bob lists range, range",
        "  counters: range 2, roundrobin 0, sticky 0; members: 1",
        "in common: range",
        "what every member lists is no candidate, since one list names it twice: nobody can vote or join",
    ]


@pytest.mark.parametrize("order", list(permutations(CAST.protocols)), ids=" ".join)
def test_the_first_maximum_is_that_of_max(order: tuple[str, ...]) -> None:
    """Python's max keeps the first of equals, as a broker does."""
    best = first_maximum(lambda p: z3.BoolVal(True), BEST, by_bucket_alone)
    for counts in product(range(3), repeat=3):
        tally = dict(zip(CAST.protocols, counts, strict=True))
        solver = z3.SimpleSolver()
        solver.add(z3.Distinct([CAST.protocol(name) for name in CAST.protocols]))
        for name in CAST.protocols:
            solver.add(
                votes(CAST.protocol(name)) == tally[name], bucket(CAST.protocol(name)) == order.index(name)
            )
        elected = CAST.protocol(max(order, key=tally.__getitem__))
        solver.add(z3.Or([one == BEST for one in map(CAST.protocol, CAST.protocols)]), CAST.ground(best))
        assert solver.check(elected == BEST) == z3.sat
        assert solver.check(elected != BEST) == z3.unsat
