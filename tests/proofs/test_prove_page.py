"""docs/obligations.md and the table in docs/proofs.md are the catalogue's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.proofs import FAMILIES, Family, select
from rota.report.prove_page import summary, whole, with_summary

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_are_those_that_the_catalogue_gives() -> None:
    remedy = "out of date; run `python -m rota.report.prove_page`"
    assert (DOCS / "obligations.md").read_text(encoding="utf-8") == whole(), remedy
    page = (DOCS / "proofs.md").read_text(encoding="utf-8")
    assert page == with_summary(page), remedy


def test_a_page_shows_every_obligation_or_its_group() -> None:
    text = whole()
    for one in select():
        group = ".".join(one.name.split(".")[:2])
        assert f"| `{one.name}` | {one.statement}" in text or f"- `{group}`: " in text


def test_what_is_not_in_the_catalogue_shows() -> None:
    families = (*FAMILIES, Family("more", "what is new", (FAMILIES[0].parts[0],)))
    assert whole(families) != whole()
    assert summary(families) != summary()
    with pytest.raises(ValueError, match="in the page"):
        with_summary("a page without marks")
