"""What each assignor promises, on random groups; and each promise finds a bug planted in the assignor's text.

The promises are stated without the assignors' code: ranges and circles are read off the result, the best
balance and the fewest moves are found by trying everything.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import rota.environment.assignors.common as common
import rota.environment.assignors.cooperative_sticky as cooperative_sticky
import rota.environment.assignors.fairest as fairest
import rota.environment.assignors.range as range_
import rota.environment.assignors.roundrobin as roundrobin
import rota.environment.assignors.sticky as sticky
from harness.thinned import but
from rota.environment.assignors import ASSIGNORS, Assignor, Parts, Subscription, TopicPartition

MODULES = (common, fairest, range_, roundrobin, sticky, cooperative_sticky)
DRAWN = settings(
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""To draw a group takes longer than to assign it: promises and planted bugs are tried on the same ones."""

TOPICS = ("t", "u", "v")


@dataclass(frozen=True)
class Case:
    """Partitions per topic and a group."""

    partitions: dict[str, int]
    members: tuple[Subscription, ...]


@st.composite
def cases(draw, equal=False, claims="none", fewest=1, most=4, deepest=4) -> Case:
    """A group of `fewest` to `most`, topics with up to `deepest` partitions; a wanted topic may not exist.

    claims: "none"; "sound", each partition by one subscriber at most, all of generation 1; "any", whatever
    a stale or confused member may say, of partitions that do not exist as well.
    """
    existing = draw(st.lists(st.sampled_from(TOPICS), unique=True, min_size=1))
    partitions = {topic: draw(st.integers(0, deepest)) for topic in existing}
    size = draw(st.integers(fewest, most))
    member_ids = draw(st.permutations([f"m{number}" for number in range(size)]))
    instances = draw(st.permutations([f"i{number}" for number in range(size)] + [None] * size))
    wish = st.lists(st.sampled_from(TOPICS), unique=True, min_size=int(equal)).map(tuple)
    same = draw(wish)
    members = [
        Subscription(member_id, same if equal else draw(wish), group_instance_id=instance)
        for member_id, instance in zip(member_ids, instances, strict=False)
    ]
    if claims == "any":
        anything = st.lists(
            st.tuples(st.sampled_from(TOPICS), st.integers(0, deepest)), unique=True, max_size=5
        ).map(tuple)
        members = [
            replace(member, owned_partitions=draw(anything), generation_id=draw(st.integers(-1, 2)))
            for member in members
        ]
    case = Case(partitions, tuple(members))
    if claims == "sound":
        owners = {
            partition: draw(st.sampled_from([None, *takers])) for partition, takers in wanted(case).items()
        }
        return claimed(
            case,
            {m.member_id: tuple(p for p, who in owners.items() if who == m.member_id) for m in members},
            1,
        )
    return case


def wanted(case: Case) -> dict[TopicPartition, list[str]]:
    """Each existing partition that has subscribers → these."""
    every = [(topic, number) for topic, count in case.partitions.items() for number in range(count)]
    takers = {one: [member.member_id for member in case.members if one[0] in member.topics] for one in every}
    return {one: who for one, who in takers.items() if who}


def claimed(case: Case, parts: Mapping[str, tuple[TopicPartition, ...]], generation_id: int) -> Case:
    """The group when all have taken up their parts and join again."""
    return replace(
        case,
        members=tuple(
            replace(member, owned_partitions=parts[member.member_id], generation_id=generation_id)
            for member in case.members
        ),
    )


def run(assign: Assignor, case: Case) -> Parts:
    return assign(case.partitions, case.members)


def settled(assign: Assignor, case: Case) -> Parts:
    """After two runs, the second with the parts of the first as claims."""
    return run(assign, claimed(case, run(assign, case), 7))


def owners(parts: Parts) -> dict[TopicPartition, str]:
    """Who has what; nothing has two owners."""
    given_out = Counter(partition for part in parts.values() for partition in part)
    assert [partition for partition, times in given_out.items() if times > 1] == []
    return {partition: member_id for member_id, part in parts.items() for partition in part}


def squares(parts: Mapping[str, tuple[TopicPartition, ...]]) -> int:
    return sum(len(part) ** 2 for part in parts.values())


def claims_on(case: Case, partition: TopicPartition) -> dict[str, int]:
    """Who claims it → of which generation."""
    return {m.member_id: m.generation_id for m in case.members if partition in m.owned_partitions}


def winner(claims: Mapping[str, int]) -> str | None:
    """The only one with the highest generation."""
    best = [who for who, generation in claims.items() if generation == max(claims.values())]
    return best[0] if len(best) == 1 else None


def in_turn(case: Case) -> list[Subscription]:
    """Static members by instance id, then the others by member id."""
    static = [member for member in case.members if member.group_instance_id is not None]
    others = [member for member in case.members if member.group_instance_id is None]
    return [
        *sorted(static, key=lambda member: str(member.group_instance_id)),
        *sorted(others, key=lambda member: member.member_id),
    ]


# The promises: each raises AssertionError where an assignor breaks it.


def every_partition_has_one_owner(assign: Assignor, case: Case) -> None:
    assert owners(run(assign, case)).keys() == wanted(case).keys()


def nobody_gets_what_it_did_not_ask_for(assign: Assignor, case: Case) -> None:
    parts = run(assign, case)
    for member in case.members:
        assert {topic for topic, _ in parts[member.member_id]} <= set(member.topics)


def everyone_has_a_part_and_all_is_in_order(assign: Assignor, case: Case) -> None:
    parts = run(assign, case)
    assert list(parts) == sorted(member.member_id for member in case.members)
    assert all(part == tuple(sorted(part)) for part in parts.values())


def the_order_of_the_input_is_nothing(assign: Assignor, case: Case) -> None:
    turned = Case(
        dict(reversed(case.partitions.items())),
        tuple(
            replace(member, topics=member.topics[::-1], owned_partitions=member.owned_partitions[::-1])
            for member in reversed(case.members)
        ),
    )
    assert run(assign, case) == run(assign, turned)


def a_static_member_keeps_its_place(assign: Assignor, case: Case) -> None:
    """All static members come back under new ids, which sort the other way round."""
    fresh = {
        member.member_id: f"new{9 - int(member.member_id[1])}"
        if member.group_instance_id
        else member.member_id
        for member in case.members
    }
    back = tuple(replace(member, member_id=fresh[member.member_id]) for member in case.members)
    before, after = run(assign, case), run(assign, replace(case, members=back))
    assert {fresh[member_id]: part for member_id, part in before.items()} == after


def topics_are_cut_into_ranges(assign: Assignor, case: Case) -> None:
    """Per topic: laid end to end in the members' order the parts are 0, 1, 2, ..., larger ones first."""
    parts = run(assign, case)
    for topic, count in case.partitions.items():
        takers = [member.member_id for member in in_turn(case) if topic in member.topics]
        pieces = [[number for name, number in parts[taker] if name == topic] for taker in takers]
        sizes = [len(piece) for piece in pieces]
        assert [*chain.from_iterable(pieces)] == (list(range(count)) if takers else [])
        assert sizes == sorted(sizes, reverse=True)
        assert not sizes or sizes[0] - sizes[-1] <= 1


def partitions_are_dealt_in_a_circle(assign: Assignor, case: Case) -> None:
    """Between the owner of one partition and that of the next no one on the circle wants the next."""
    who = owners(run(assign, case))
    circle = in_turn(case)
    place = {member.member_id: position for position, member in enumerate(circle)}
    before = -1
    for partition in sorted(wanted(case)):
        owner = place[who[partition]]
        steps = (owner - before - 1) % len(circle)
        passed_over = [circle[(before + 1 + step) % len(circle)] for step in range(steps)]
        assert all(partition[0] not in member.topics for member in passed_over)
        before = owner


def sizes_differ_by_one_at_most(assign: Assignor, case: Case) -> None:
    sizes = [len(part) for part in run(assign, case).values()]
    assert max(sizes) - min(sizes) <= 1


def no_single_transfer_helps(assign: Assignor, case: Case) -> None:
    """What upstream promises when subscriptions differ."""
    parts = run(assign, case)
    for partition, owner in owners(parts).items():
        for taker in wanted(case)[partition]:
            assert len(parts[owner]) - len(parts[taker]) <= 1 or taker == owner


def sizes_are_the_fairest_and_moves_the_fewest(assign: Assignor, case: Case) -> None:
    """Of all assignments there are."""
    takers = wanted(case)
    before = {partition: winner(claims_on(case, partition) or {"": 0}) for partition in takers}

    def worth(who: Mapping[TopicPartition, str]) -> tuple[int, int]:
        sizes = Counter(who.values())
        moved = sum(before[one] in takers[one] and owner != before[one] for one, owner in who.items())
        return sum(size**2 for size in sizes.values()), moved

    every = (dict(zip(takers, choice, strict=True)) for choice in product(*takers.values()))
    assert worth(owners(run(assign, case))) == min(map(worth, every))


def its_own_result_stays(assign: Assignor, case: Case) -> None:
    assert settled(assign, case) == run(assign, case)


def when_one_leaves_only_its_partitions_move(assign: Assignor, case: Case) -> None:
    before = settled(assign, case)
    for leaver in case.members:
        stay = tuple(member for member in case.members if member != leaver)
        after = run(assign, claimed(replace(case, members=stay), before, 8))
        assert all(set(before[member.member_id]) <= set(after[member.member_id]) for member in stay)
        assert owners(after).keys() == wanted(case).keys()


def when_one_joins_no_more_move_than_it_needs(assign: Assignor, case: Case) -> None:
    """Two runs, so that a cooperative group has revoked in between."""
    *rest, newcomer = case.members
    group = replace(case, members=tuple(rest))
    before = settled(assign, group)
    joined = replace(case, members=(*claimed(group, before, 8).members, newcomer))
    after = settled(assign, joined)
    moved = [partition for partition, owner in owners(before).items() if owners(after)[partition] != owner]
    assert len(moved) == len(after[newcomer.member_id]) == len(wanted(case)) // len(case.members)


def the_highest_claim_counts_alone(assign: Assignor, case: Case) -> None:
    """Claims that are not the only ones of the highest generation might as well not be there."""
    counting = tuple(
        replace(
            member,
            owned_partitions=tuple(
                partition
                for partition in member.owned_partitions
                if winner(claims_on(case, partition)) == member.member_id
            ),
        )
        for member in case.members
    )
    assert run(assign, case) == run(assign, replace(case, members=counting))


def what_another_claims_is_revoked_first(assign: Assignor, case: Case) -> None:
    """Who gets a partition is the only one that claims it, or claims it of a higher generation."""
    for partition, owner in owners(run(assign, case)).items():
        claims = claims_on(case, partition)
        assert not claims or winner(claims) == owner


def only_what_is_claimed_is_held_back(assign: Assignor, case: Case) -> None:
    missing = wanted(case).keys() - owners(run(assign, case)).keys()
    assert all(claims_on(case, partition) for partition in missing)


def the_second_run_completes_it(assign: Assignor, case: Case) -> None:
    first, second = run(assign, case), settled(assign, case)
    assert all(set(first[member_id]) <= set(second[member_id]) for member_id in first)
    assert owners(second).keys() == wanted(case).keys()
    assert squares(second) == squares(run(ASSIGNORS["sticky"], case))
    assert run(assign, claimed(case, second, 8)) == second


Promise = Callable[[Assignor, Case], None]

MIXED = cases(claims="any") | cases(claims="any", equal=True)
NEW = cases()
SETTLED = cases(claims="sound", equal=True, fewest=2)
FOUR = tuple(ASSIGNORS)
STICKY = ("sticky", "cooperative-sticky")
PROMISES: dict[Promise, tuple[st.SearchStrategy[Case], tuple[str, ...]]] = {
    every_partition_has_one_owner: (MIXED, FOUR[:3]),
    nobody_gets_what_it_did_not_ask_for: (MIXED, FOUR),
    everyone_has_a_part_and_all_is_in_order: (MIXED, FOUR),
    the_order_of_the_input_is_nothing: (MIXED, FOUR),
    a_static_member_keeps_its_place: (NEW, FOUR[:2]),
    topics_are_cut_into_ranges: (NEW, FOUR[:1]),
    partitions_are_dealt_in_a_circle: (NEW, FOUR[1:2]),
    sizes_differ_by_one_at_most: (cases(claims="any", equal=True), ("roundrobin", "sticky")),
    no_single_transfer_helps: (MIXED, ("sticky",)),
    sizes_are_the_fairest_and_moves_the_fewest: (
        cases(claims="sound", most=3, deepest=2) | cases(claims="any", equal=True, most=3, deepest=2),
        ("sticky",),
    ),
    its_own_result_stays: (MIXED, FOUR[:3]),
    when_one_leaves_only_its_partitions_move: (SETTLED, STICKY),
    when_one_joins_no_more_move_than_it_needs: (SETTLED, STICKY),
    the_highest_claim_counts_alone: (MIXED, ("sticky",)),
    what_another_claims_is_revoked_first: (MIXED, ("cooperative-sticky",)),
    only_what_is_claimed_is_held_back: (MIXED, ("cooperative-sticky",)),
    the_second_run_completes_it: (MIXED, ("cooperative-sticky",)),
}
"""Promise → the groups on which it is tried, the assignors that make it."""

USUAL = 100
EXAMPLES = {
    every_partition_has_one_owner: 250,
    sizes_differ_by_one_at_most: 200,
    sizes_are_the_fairest_and_moves_the_fewest: 300,
    its_own_result_stays: 250,
    the_highest_claim_counts_alone: 150,
    the_second_run_completes_it: 150,
}
"""How many groups a promise is tried on, where its planted bugs need more than usual."""

MANY_TIMES = 3
"""As many groups are tried where that is asked for (-m long)."""


@cache
def drawn(groups: st.SearchStrategy[Case], times: int) -> list[Case]:
    """As many groups of a kind as any promise about them is tried on, so many times."""
    cases: list[Case] = []

    most = max(EXAMPLES.get(promise, USUAL) for promise, (kind, _) in PROMISES.items() if kind is groups)

    @settings(DRAWN, max_examples=times * most)
    @given(groups)
    def note(case: Case) -> None:
        cases.append(case)

    note()
    return cases


def tried(promise: Promise, assign: Assignor, times: int = 1) -> None:
    """The promise on many groups."""
    groups = drawn(PROMISES[promise][0], times)[: times * EXAMPLES.get(promise, USUAL)]
    assert len(groups) >= USUAL
    for case in groups:
        promise(assign, case)


@pytest.mark.parametrize("times", but([str(MANY_TIMES)], [1, MANY_TIMES]))
@pytest.mark.parametrize(
    ("promise", "name"),
    [(promise, name) for promise, (_, names) in PROMISES.items() for name in names],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_promise(promise: Promise, name: str, times: int) -> None:
    tried(promise, ASSIGNORS[name], times)


BUGS: dict[Promise, tuple[tuple[str, ModuleType, str, str], ...]] = {
    every_partition_has_one_owner: (
        ("range", range_, "+ (position < extra)", ""),
        ("roundrobin", roundrobin, "append(partition)", "extend([partition] * 2)"),
        ("sticky", sticky, "if partition in kept:", "if partition in kept | owner.keys():"),
        ("sticky", fairest, "given[taker].append(what)", "pass"),
    ),
    nobody_gets_what_it_did_not_ask_for: (
        ("range", range_, " if topic in member.topics]", "]"),
        ("roundrobin", roundrobin, "circle[following] not in takers", "False"),
        ("sticky", common, "in members if topic in member.topics", "in members"),
        ("cooperative-sticky", sticky, "}) == 1:", "}) >= 1:"),
    ),
    everyone_has_a_part_and_all_is_in_order: (
        ("range", common, "in sorted(given)", "in given"),
        ("roundrobin", common, "in sorted(given)", "in given"),
        ("sticky", common, "tuple(sorted(given[member_id]))", "tuple(given[member_id])"),
        ("cooperative-sticky", sticky, "nothing | ", ""),
    ),
    the_order_of_the_input_is_nothing: (
        ("range", common, "sorted(members, key=lambda member: member.member_id)", "list(members)"),
        ("roundrobin", common, "in sorted(partitions)", "in partitions"),
        ("sticky", common, "sorted(members, key=lambda member: member.member_id)", "list(members)"),
        (
            "cooperative-sticky",
            common,
            "sorted(members, key=lambda member: member.member_id)",
            "list(members)",
        ),
    ),
    a_static_member_keeps_its_place: (
        ("range", common, "is None, member.group_instance_id or ", "is None, "),
        ("roundrobin", common, "is None, member.group_instance_id or ", "is None, "),
    ),
    topics_are_cut_into_ranges: (
        ("range", range_, "position < extra", "position >= len(takers) - extra"),
        ("range", range_, "range(start, end)", "range(position, count, len(takers))"),
        ("range", common, "member.group_instance_id is None, ", "member.group_instance_id is not None, "),
    ),
    partitions_are_dealt_in_a_circle: (
        ("roundrobin", roundrobin, "    following = 0\n", "    following = len(circle) - 1\n"),
        ("roundrobin", common, "member.group_instance_id is None, ", ""),
    ),
    sizes_differ_by_one_at_most: (
        (
            "roundrobin",
            roundrobin,
            ".append(partition)\n        following = (following + 1)",
            ".append(partition)\n        following = following",
        ),
        ("sticky", sticky, "len(mine) > low and full < extra", "len(mine) > low"),
        ("sticky", sticky, "(short or ready)", "(ready or short)"),
    ),
    no_single_transfer_helps: (("sticky", fairest, "weight = len(wanted) + 1", "weight = 0"),),
    sizes_are_the_fairest_and_moves_the_fewest: (
        ("sticky", fairest, "    changed = True\n    while", "    changed = False\n    while"),
        ("sticky", fairest, "int(owner.get(what, member_id) != member_id)", "0"),
        ("sticky", sticky, "mine[: low + keeps_extra]", "mine[:low]"),
    ),
    its_own_result_stays: (
        (
            "range",
            range_,
            "static_first(members)",
            "sorted(members, key=lambda member: member.owned_partitions)",
        ),
        (
            "roundrobin",
            roundrobin,
            "static_first(members)",
            "sorted(members, key=lambda member: member.owned_partitions)",
        ),
        ("sticky", sticky, "mine[: low + keeps_extra]", "mine[:low]"),
        ("sticky", fairest, "int(owner.get(what, member_id) != member_id)", "0"),
    ),
    when_one_leaves_only_its_partitions_move: (
        ("sticky", sticky, "mine[: low + keeps_extra]", "[]"),
        ("cooperative-sticky", sticky, "mine[: low + keeps_extra]", "[]"),
    ),
    when_one_joins_no_more_move_than_it_needs: (
        ("sticky", sticky, "mine[: low + keeps_extra]", "mine[:low]"),
        ("cooperative-sticky", sticky, "mine[: low + keeps_extra]", "mine[:low]"),
    ),
    the_highest_claim_counts_alone: (
        ("sticky", sticky, "newest = max(", "newest = min("),
        ("sticky", sticky, "(member.generation_id, member", "(-1, member"),
        ("sticky", sticky, "if len(claimants) == 1:", "if claimants:"),
    ),
    what_another_claims_is_revoked_first: (
        ("cooperative-sticky", cooperative_sticky, "or partition not in claimed", "or True"),
        (
            "cooperative-sticky",
            cooperative_sticky,
            "for partition in member.owned_partitions",
            "for partition in counting",
        ),
        (
            "cooperative-sticky",
            cooperative_sticky,
            "counting.get(partition) == member_id",
            "partition in counting",
        ),
    ),
    only_what_is_claimed_is_held_back: (
        ("cooperative-sticky", cooperative_sticky, "or partition not in claimed", ""),
    ),
    the_second_run_completes_it: (
        ("cooperative-sticky", cooperative_sticky, "counting.get(partition) == member_id or ", ""),
        ("cooperative-sticky", fairest, "int(owner.get(what, member_id) != member_id)", "0"),
    ),
}
"""Promise → bugs that break it: the assignor, the module, a place in its text, what stands there instead."""


def planted(monkeypatch: pytest.MonkeyPatch, name: str, where: ModuleType, old: str, new: str) -> Assignor:
    """The assignor with the bug in it, whichever module the bug is in."""
    path = Path(str(where.__file__))
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    wrong: dict[str, object] = {"__name__": where.__name__}
    exec(compile(text.replace(old, new), str(path), "exec"), wrong)
    for module in MODULES:
        for function, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value.__module__ == where.__name__:
                monkeypatch.setattr(module, function, wrong[function])
    right = ASSIGNORS[name]
    return getattr(sys.modules[right.__module__], right.__name__)


@pytest.mark.parametrize(
    ("promise", "name", "where", "old", "new"),
    [(promise, *bug) for promise, bugs in BUGS.items() for bug in bugs],
    ids=[f"{promise.__name__}-{bug[0]}" for promise, bugs in BUGS.items() for bug in bugs],
)
def test_a_planted_bug_breaks_the_promise(monkeypatch, promise, name, where, old, new) -> None:
    mutant = planted(monkeypatch, name, where, old, new)
    with pytest.raises(AssertionError):
        tried(promise, mutant)


def test_each_promise_has_a_planted_bug_for_each_assignor() -> None:
    made = {(promise, name) for promise, (_, names) in PROMISES.items() for name in names}
    assert {(promise, bug[0]) for promise, bugs in BUGS.items() for bug in bugs} == made


# Worked examples.


def group(**topics: str) -> list[Subscription]:
    return [Subscription(member_id, tuple(wish)) for member_id, wish in topics.items()]


def short(parts: Parts) -> dict[str, str]:
    """Parts as text: `t0 t1`."""
    return {who: " ".join(f"{topic}{number}" for topic, number in part) for who, part in parts.items()}


def test_range_gives_the_first_member_more_in_every_topic() -> None:
    assert short(ASSIGNORS["range"]({"t": 3, "u": 3}, group(a="tu", b="tu"))) == {
        "a": "t0 t1 u0 u1",
        "b": "t2 u2",
    }


def test_roundrobin_goes_on_from_topic_to_topic() -> None:
    assert short(ASSIGNORS["roundrobin"]({"t": 3, "u": 3}, group(a="tu", b="tu"))) == {
        "a": "t0 t2 u1",
        "b": "t1 u0 u2",
    }


def test_sticky_is_fairer_than_roundrobin_when_subscriptions_differ() -> None:
    topics, members = {"t": 1, "u": 2, "v": 3}, group(a="t", b="tu", c="tuv")
    assert short(ASSIGNORS["roundrobin"](topics, members)) == {"a": "t0", "b": "u0", "c": "u1 v0 v1 v2"}
    assert short(ASSIGNORS["sticky"](topics, members)) == {"a": "t0", "b": "u0 u1", "c": "v0 v1 v2"}


def test_a_partition_goes_around_by_a_third_member_where_no_single_move_helps() -> None:
    """a can pass nothing on to c, but something to b, and b to c."""
    members = [
        Subscription("a", ("t",), (("t", 0), ("t", 1), ("t", 2)), 1),
        Subscription("b", ("t", "u"), (("u", 0), ("u", 1)), 1),
        Subscription("c", ("u",), (("u", 2),), 1),
    ]
    assert {who: len(part) for who, part in ASSIGNORS["sticky"]({"t": 3, "u": 3}, members).items()} == {
        "a": 2,
        "b": 2,
        "c": 2,
    }


def test_claims_on_partitions_that_do_not_exist_count_for_nothing() -> None:
    members = [
        Subscription("a", ("t", "u"), (("t", 5), ("u", 0)), 1),
        Subscription("b", ("t", "u"), (("t", 0), ("u", 1)), 1),
    ]
    assert short(ASSIGNORS["sticky"]({"t": 2, "u": 2}, members)) == {"a": "t1 u0", "b": "t0 u1"}


def test_an_older_claim_does_not_get_what_the_newer_claimant_still_has() -> None:
    """Balance gives t0 to b, whose claim is older than a's; it has to wait for a to let go."""
    assign = ASSIGNORS["cooperative-sticky"]
    newer = Subscription("a", ("t", "u"), (("t", 0), ("u", 0), ("u", 1)), 2)
    older = Subscription("b", ("t",), (("t", 0),), 1)
    assert short(assign({"t": 1, "u": 2}, [newer, older])) == {"a": "u0 u1", "b": ""}
    newer = replace(newer, owned_partitions=(("u", 0), ("u", 1)), generation_id=3)
    older = replace(older, owned_partitions=(), generation_id=3)
    assert short(assign({"t": 1, "u": 2}, [newer, older])) == {"a": "u0 u1", "b": "t0"}


def test_cooperative_sticky_takes_two_runs_for_a_newcomer() -> None:
    assign = ASSIGNORS["cooperative-sticky"]
    old = Subscription("a", ("t",), (("t", 0), ("t", 1)), 1)
    assert short(assign({"t": 2}, [old, Subscription("b", ("t",))])) == {"a": "t0", "b": ""}
    old = replace(old, owned_partitions=(("t", 0),), generation_id=2)
    assert short(assign({"t": 2}, [old, Subscription("b", ("t",), (), 2)])) == {"a": "t0", "b": "t1"}


def test_two_claims_of_one_generation_give_the_partition_to_nobody_for_one_run() -> None:
    members = [Subscription(who, ("t",), (("t", 0),), 4) for who in "ab"]
    assert short(ASSIGNORS["cooperative-sticky"]({"t": 1}, members)) == {"a": "", "b": ""}


@pytest.mark.parametrize("name", ASSIGNORS)
def test_a_group_of_nobody_and_a_topic_that_nobody_wants(name: str) -> None:
    assert ASSIGNORS[name]({"t": 2}, []) == {}
    assert ASSIGNORS[name]({"t": 2}, group(a="u")) == {"a": ()}


@pytest.mark.parametrize("name", ASSIGNORS)
def test_a_member_with_two_subscriptions_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="member 'a' has two subscriptions; give each member one"):
        ASSIGNORS[name]({"t": 2}, [*group(a="t"), *group(a="u")])
