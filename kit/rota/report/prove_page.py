"""Pages about proofs that are made from the catalogue: `python -m rota.report.prove_page [FOLDER]`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rota.proofs import FAMILIES, Family, Obligation
from rota.report.prove_text import group_of
from rota.report.reference.markdown import codes, paragraph, table

MADE = "<!-- Made by `python -m rota.report.prove_page`; do not edit. -->"
BEGIN, END = "<!-- proved: made by `python -m rota.report.prove_page` -->", "<!-- /proved -->"

MANY = 40
"""From so many obligations on a group is shown by its sentence alone: they differ by the rule only."""


def whole(families: Sequence[Family] = FAMILIES) -> str:
    """Every obligation in words."""
    return "\n".join(_whole(families)) + "\n"


def _whole(families: Sequence[Family]) -> Iterator[str]:
    yield from ("# Obligations", "", MADE, "")
    yield from paragraph(
        "What `rota prove` proves and refutes, by name. [proofs.md](proofs.md) says what that means, and "
        "what is assumed. A claim that is refuted is false, and `rota prove NAME` shows what breaks it."
    )
    for family in families:
        yield from (f"## {family.name}", "")
        yield from paragraph(f"About {family.about}.")
        folded = dict(_folded(family))
        for name, members in folded.items():
            yield f"- `{name}`: {_sentence(family, name, members)} ({_count(members)})"
        if folded:
            yield ""
        rest = [one for name, members in groups(family) if name not in folded for one in members]
        if rest:
            yield from table(("obligation", "in words", ""), (_row(one) for one in rest))
            yield ""


def _folded(family: Family) -> Iterator[tuple[str, list[Obligation]]]:
    """Groups that are shown by their sentence: of many members, or of several that only repeat it."""
    for name, members in groups(family):
        sentence = _sentence(family, name, members)
        if len(members) >= MANY or (len(members) > 1 and all(sentence in one.statement for one in members)):
            yield name, members


def _row(one: Obligation) -> tuple[str, str, str]:
    return f"`{one.name}`", one.statement, one.expect


def summary(families: Sequence[Family] = FAMILIES) -> str:
    """A row for each group, and what is false beside."""
    return "\n".join(_summary(families))


def _summary(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        yield from (f"**{family.name}**: {family.about}.", "")
        yield from table(("name", "what is proved", ""), _proved(family))
        many = [name for name, members in groups(family) if len(_expected(members, "refuted")) >= MANY]
        false = [one.name for one in family.obligations() if one.expect == "refuted"]
        false = [*many, *(name for name in false if group_of(name) not in many)]
        if false:
            yield ""
            yield from paragraph(f"Refuted: {codes(false)}.")
        else:
            yield ""


def _proved(family: Family) -> Iterator[tuple[str, str, str]]:
    """A row for each group of which something is proved, or for each obligation in it."""
    for name, members in groups(family):
        proved = _expected(members, "proved")
        if name in family.singly:
            yield from (_row(one) for one in proved)
        elif proved:
            yield f"`{name}`", _sentence(family, name, members), _count(proved)


def groups(family: Family) -> list[tuple[str, list[Obligation]]]:
    """Obligations by the first two parts of their names, in the order of the first of each."""
    found: dict[str, list[Obligation]] = {}
    for one in family.obligations():
        found.setdefault(group_of(one.name), []).append(one)
    return list(found.items())


def _sentence(family: Family, name: str, members: Sequence[Obligation]) -> str:
    return family.sentences().get(name) or members[0].statement


def _expected(members: Sequence[Obligation], expect: str) -> list[Obligation]:
    return [one for one in members if one.expect == expect]


def _count(members: Sequence[Obligation]) -> str:
    counts = Counter(one.expect for one in members)
    return ", ".join(f"{count} {expect}" for expect, count in sorted(counts.items()))


def with_summary(page: str) -> str:
    """The page with the part between the marks made anew. Errors: ValueError without marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} … {END} in the page")
    return f"{before}{BEGIN}\n{summary()}\n{END}{after}"


def main(folder: Path) -> None:
    """Write the list, and the table in the page that people write."""
    (folder / "obligations.md").write_text(whole(), encoding="utf-8")
    page = folder / "proofs.md"
    page.write_text(with_summary(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
