"""Values as lines, and what changed in them."""

from __future__ import annotations

import pytest

from rota.pages.values import changed, lines

GROUP = (
    "Group(state=Stable, leader=c2-1, members={c2-1: Member(timeout=3000, "
    "protocols=[Metadata(range, 'c2, c(')]), c1-1: Member(timeout=3000)}, pending={})"
)


def test_a_long_value_is_broken_at_its_brackets() -> None:
    assert lines(GROUP) == (
        "Group(",
        "  state=Stable,",
        "  leader=c2-1,",
        "  members={",
        "    c2-1: Member(",
        "      timeout=3000,",
        "      protocols=[Metadata(range, 'c2, c(')]",
        "    ),",
        "    c1-1: Member(timeout=3000)",
        "  },",
        "  pending={}",
        ")",
    )


def test_nothing_gets_lost() -> None:
    together = "".join(line.strip() for line in lines(GROUP))
    assert together.replace(",", "").replace(" ", "") == GROUP.replace(",", "").replace(" ", "")


@pytest.mark.parametrize(
    "odd", ["short", "(" * 100, "a) b(" * 20, "'" * 99, "[" * 40 + "]" * 40, "x" * 30_000]
)
def test_what_has_no_brackets_that_match_is_one_line(odd: str) -> None:
    assert lines(odd) == (odd,)


def test_changed_lines_are_those_that_were_not_there() -> None:
    new = GROUP.replace("state=Stable", "state=Empty").replace(
        "c1-1: Member(timeout=3000)", "c1-1: Member(timeout=1)"
    )
    assert [lines(new)[number] for number in changed(lines(GROUP), lines(new))] == [
        "  state=Empty,",
        "    c1-1: Member(timeout=1)",
    ]
    assert changed(lines(GROUP), lines(GROUP)) == ()
    assert changed(("a", ")"), ("a", "),")) == ()
