"""The table of mends has every mend and every weakness that is weighed, and the page is made from it."""

from __future__ import annotations

from pathlib import Path

from rota.conformance.catalogue import all_cases
from rota.conformance.comparison.known_differences import KNOWN_DIFFERENCES, DifferenceKind
from rota.conformance.comparison.mends import MENDED, NOT_MENDED
from rota.invariants import WEAKNESSES, known_weaknesses
from rota.report.beside import page
from rota.spec import MENDS

PAGE = Path(__file__).parents[2] / "docs" / "beside-kafka.md"


def test_each_mend_has_a_row_with_what_it_ends() -> None:
    assert sorted(one.switch for one in MENDED) == sorted(MENDS)
    assert {name for one in MENDED for name in one.ends} == {one.name for one in WEAKNESSES if one.is_mended}


def test_every_weakness_that_is_left_is_weighed() -> None:
    weighed = "".join(what for what, _ in NOT_MENDED)
    left = {one.name for one in known_weaknesses("rota")}
    assert {name for name in left if f"`{name}`" in weighed} == left
    assert weighed.count("`weakness.") == len(left)


def test_what_a_mend_changes_on_the_wire_is_a_known_difference() -> None:
    shown = {case.id for case in all_cases() if case.otherwise and case.otherwise.switch in MENDS}
    told = {one.id: one.why for one in KNOWN_DIFFERENCES if one.kind is DifferenceKind.DELIBERATE}
    assert told.keys() == shown
    for case in all_cases():
        if case.id in told and case.otherwise:
            assert f"`{case.otherwise.switch}`" in told[case.id]


def test_the_page_is_made_from_the_tables() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m rota.report.beside > docs/beside-kafka.md"
