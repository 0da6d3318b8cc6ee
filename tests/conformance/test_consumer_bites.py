"""Every case about the consumer protocol fails on a planted bug, and every bug is seen or has a reason."""

from __future__ import annotations

import pytest

from harness.consumer_bites import LOCKSTEP, PAGE, bites, bugs, cases, near, page, unbitten, verdicts
from harness.consumer_bugs import DEVIATES
from rota.mutants.core import consumer_bugs, planted


@pytest.mark.parametrize("key", bugs())
def test_every_bug_fits_the_coordinator(key: str) -> None:
    """What only long tests plant would else go stale unseen."""
    with planted(bugs()[key]):
        pass


def test_every_case_is_bitten_or_there_is_a_reason() -> None:
    assert sorted([*bites().by_case, *unbitten()["cases"]]) == sorted(cases())
    assert all(unbitten()["cases"].values())
    assert set(bites().by_case.values()) <= bugs().keys()


def test_every_bug_is_seen_or_there_is_a_reason() -> None:
    assert sorted([*bites().seen, *unbitten()["bugs"]]) == sorted(consumer_bugs())
    assert all(unbitten()["bugs"].values())
    for name, one in bites().seen.items():
        assert near(consumer_bugs()[name], cases()[one.case]) == one.near, one


def test_the_page_says_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/harness/consumer_bites.py --page"


def bitten(id: str) -> bool:
    """Whether a case fails on the bug that the table names; it may be played once more."""
    key = bites().by_case[id]
    return any(verdicts(key, [id])[id] in {one.value for one in DEVIATES} for _ in range(2))


def quick() -> list[str]:
    """Of each part of the protocol the case that is over first, of those with a bug of the lockstep."""
    ids = [id for id, key in bites().by_case.items() if key.startswith(LOCKSTEP)]
    ids.sort(key=lambda id: (cases()[id].seconds, id), reverse=True)
    return [*{cases()[id].rule.split(".")[1]: id for id in ids}.values()]


def test_a_case_of_each_part_is_bitten() -> None:
    assert len(quick()) > 5
    assert [id for id in quick() if not bitten(id)] == []


@pytest.mark.long
def test_every_case_is_bitten_by_the_bug_that_the_table_names() -> None:
    assert [id for id in bites().by_case if not bitten(id)] == []
