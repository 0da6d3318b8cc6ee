"""What two plays on one coordinator may differ in is taken out of a dialogue, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.conformance.comparison.normalisation import cast, normalised
from rota.conformance.dialogues.transcript import Fold, Line
from rota.conformance.results import DialogueResult, Ending

ID = "a-01234567-89ab-cdef-0123-456789abcdef"


def heard(*texts: str, **fields: object) -> DialogueResult:
    """A dialogue from lines written as `who mark text`."""
    lines = tuple(Line(7.0 * n, *text.split(" ", 2)) for n, text in enumerate(texts))
    return DialogueResult(ending=Ending.FINISHED, lines=lines, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("→ Heartbeat v4  generation 3  member_id @a", "→ Heartbeat v4  generation G  member_id @leader"),
        ("← JoinGroup  NONE  generation 4", "← JoinGroup  NONE  generation G+1"),
        ("→ Heartbeat v4  generation 2", "→ Heartbeat v4  generation G-1"),
        ("→ Heartbeat v4  generation 0", "→ Heartbeat v4  generation 0"),
        ("→ Heartbeat v4  generation 2147483647", "→ Heartbeat v4  generation 2147483647"),
        ("… no answer to SyncGroup in -0.29 s, as it should be", "… no answer to SyncGroup"),
        ("← JoinGroup  MEMBER_ID_REQUIRED  generation -1", "← JoinGroup  MEMBER_ID_REQUIRED  generation -1"),
        ("← JoinGroup  members [@c, @b, @a]", "← JoinGroup  members [@c, @follower, @leader]"),
        (
            "← LeaveGroup  members [@b: NONE, @a: NONE]",
            "← LeaveGroup  members [@follower: NONE, @leader: NONE]",
        ),
        ("← SyncGroup  assignment 'for b'", "← SyncGroup  assignment 'for follower'"),
        ("… no answer to SyncGroup in 0.83 s, as it should be", "… no answer to SyncGroup"),
        ("→ JoinGroup v9  protocols [range(18 B #647)]", "→ JoinGroup v9  protocols [range]"),
        ("× closed: Connection reset by peer", "× closed"),
        (f'← JoinGroup  member_id "{ID}"', "← JoinGroup  member_id @leader"),
        (f'← JoinGroup  member_id "{ID.replace("a-0", "b-0")}"', '← JoinGroup  member_id "b-UUID"'),
        ("← DescribeGroups  group_id rota-7-x-other", "← DescribeGroups  group_id GROUP-other"),
        (
            '← FindCoordinator  NONE  node_id 1  host "127.0.0.1"  port 22977',
            "← FindCoordinator  NONE  node_id 1  host its  port own",
        ),
        ("→ TxnOffsetCommit v4  producer_id 17", "→ TxnOffsetCommit v4  producer_id its own"),
        ('← DescribeGroups  client_host "/127.0.0.1"', '← DescribeGroups  client_host "/127.0.0.1"'),
        ("← JoinGroup  member_id @a2", "← JoinGroup  member_id @leader2"),
    ],
)
def test_a_line(text: str, wanted: str) -> None:
    told = {"names": {ID: "@a"}, "roles": {"a": "leader", "b": "follower"}, "generation": 3}
    assert normalised(heard(f"a {text}", group_id="rota-7-x", **told)) == (f"leader {wanted}",)


def test_without_a_group_generations_are_as_they_were() -> None:
    assert normalised(heard("a → Heartbeat v4  generation 3")) == ("a → Heartbeat v4  generation 3",)


def test_what_came_too_early_is_left_out() -> None:
    early = replace(heard("a → Heartbeat v4").lines[0], early=True)
    whole = heard("a → Heartbeat v4", "a ← Heartbeat  REBALANCE_IN_PROGRESS")
    assert normalised(replace(whole, lines=(early, *whole.lines))) == normalised(whole)


def test_who_leads_is_known_by_the_roles_or_as_it_is_told() -> None:
    told = ("b → JoinGroup  leader @c", "b ← JoinGroup  NONE  leader @a", "a ← JoinGroup  NONE  leader @b")
    assert cast(heard(*told)) == {"a": "leader"}
    assert cast(heard(*told, roles={"b": "leader"})) == {"b": "leader"}
    assert cast(heard(told[0])) == {}


def test_what_led_to_it_is_one_line() -> None:
    whole = heard("a → one", "a → two", "a → three")
    fold = Fold(0, 2, (Line(0, "", "·", "reached a group"),))
    assert normalised(replace(whole, folds=(fold,))) == ("· reached a group", "a → three")


def test_times_are_dropped_and_rounds_stand_once() -> None:
    told = heard(
        "a → ask", "a ← no", " · 0.9 s pass", "a → ask", "a ← no", " · 0.9 s pass", "a → ask", "a ← yes"
    )
    assert normalised(told) == ("a → ask", "a ← no", "a → ask", "a ← yes")


@pytest.mark.parametrize(
    ("ending", "wanted"),
    [
        (Ending.DEVIATED, "· expected this, got that"),
        (Ending.DIED, "· the target died: that"),
        (Ending.SETUP_FAILED, "· why"),
        (Ending.UNSUPPORTED, "· why"),
    ],
)
def test_the_end_is_a_line_where_it_is_not_the_usual_one(ending: Ending, wanted: str) -> None:
    result = replace(heard("a → ask"), ending=ending, expected="this", actual="that", because="why")
    assert normalised(result) == ("a → ask", wanted)
