"""docs/obligations.md and the table in docs/proofs.md are the catalogue's; the tutorial is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli.main import main
from rota.proofs import FAMILIES, Family, select
from rota.report.prove_page import summary, whole, with_summary

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "proofs.md").read_text(encoding="utf-8").partition("## Tutorial")[2]


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


def blocks() -> list[tuple[str, list[str]]]:
    """(command, lines of its output) of the tutorial, `…` for what is left out."""
    found: list[tuple[str, list[str]]] = []
    shown: list[str] = []
    for line in TUTORIAL.splitlines():
        if line.startswith("    $ rota prove"):
            shown = []
            found.append((line.removeprefix("    $ rota prove "), shown))
        elif line.startswith("    "):
            shown.append(line.removeprefix("    ").rstrip())
        elif line:
            shown = []
    return found


def untimed(text: str) -> str:
    return re.sub(r" +\d+\.\d+ s", " # s", text)


@pytest.mark.parametrize(
    ("command", "shown"), blocks(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_tutorial_is_what_happens(
    command: str, shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [one.strip("'") for one in re.findall(r"'[^']*'|\S+", command)]
    said = iter(untimed(CliRunner().invoke(main, ["prove", *arguments]).output).splitlines())
    assert shown
    missing = [line for line in shown if line != "…" and untimed(line) not in said]
    assert missing == [], "the tutorial is out of date"
