"""Table and picture of reconciliation are made from the lines of the spec, and show each of them."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from rota.report.reconciliation import PAGE, PICTURE, picture, ways, with_block
from rota.spec.consumer import TABLE, MemberState
from rota.spec.consumer.reconcile import Junction

DOCS = Path(__file__).parents[2] / "docs"


def test_page_and_picture_are_made_from_the_table() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert with_block(page) == page, "python -m rota.report.reconciliation docs"
    assert (DOCS / PICTURE).read_text(encoding="utf-8") == picture()
    changed = page.replace("| 13 | *next* |", "| 13 | *text* |")
    assert with_block(changed) == page != changed


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"consumer-protocol\.md lacks the marks"):
        with_block("# A page\n")


def test_every_line_that_leads_elsewhere_is_on_an_arrow() -> None:
    shown = [*map(int, " ".join(re.findall(r">([0-9, ]+)</text>", picture())).replace(",", " ").split())]
    assert sorted(shown) == sorted(number for numbers in ways().values() for number in numbers)
    stay = {line.name for number, line in enumerate(TABLE, 1) if number not in shown}
    assert stay == {"stable.settled", "unrevoked.waited-for", "unsubscribed.forget", "unsubscribed.nothing"}


def test_every_place_has_its_lines_together_and_the_last_one_fits_always() -> None:
    places = [(place, [*lines]) for place, lines in groupby(TABLE, lambda line: line.at)]
    assert sorted(place for place, _ in places) == sorted((*MemberState, *Junction))
    for _, lines in places:
        assert [not line.guards for line in lines] == [False] * (len(lines) - 1) + [True]
    assert len({line.name for line in TABLE}) == len(TABLE)
