"""A page for every rule, with its neighbours, its cases, its mutants, its proof; and one for every part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Case
from rota.conformance.out_of_reach import OUT_OF_REACH
from rota.invariants import WEAKNESSES
from rota.mutants import Mutant
from rota.mutants.mutant import CHECKLIST, SCENARIOS
from rota.proofs import FAMILIES
from rota.report.matrix import Row, rows_of_the_spec
from rota.report.prove_page import groups
from rota.report.reference.claims import claims, guarding
from rota.report.reference.markdown import codes, table
from rota.report.reference.rule_pages import about
from rota.report.reference.version_pages import read_by
from rota.report.site.neighbours import asked_by, asks, places
from rota.report.site.writing import listed, place_of, plain, property_link, prose, rule_link, toctree
from rota.spec import PROFILES

DIALOGUES = (CHECKLIST, SCENARIOS)


def pages() -> Iterator[tuple[str, str]]:
    """(path below the reference, text) of each rule and of each part."""
    rows = rows_of_the_spec().values()
    for part, some in groupby(rows, key=lambda row: row.rule.part):
        here = list(some)
        yield f"rule/{part}.md", "\n".join(_part(part, here))
        for row in here:
            yield f"rule/{row.rule.slug}.md", "\n".join(_rule(row))
    parts = dict.fromkeys(row.rule.part for row in rows)
    yield "rule/index.md", "\n".join(_index(list(parts)))


def _index(parts: Sequence[str]) -> Iterator[str]:
    yield from ("# Every rule", "", "A page for each rule of the spec, part by part.", "")
    yield from toctree(parts, maxdepth="1")


def _part(part: str, rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"# {part}", "", plain(about(rows)), "")
    yield from table(("rule", "says"), ((rule_link(row.rule.slug), plain(row.rule.title)) for row in rows))
    yield ""
    yield from toctree((row.rule.slug for row in rows), hidden="")


def _rule(row: Row) -> Iterator[str]:
    rule = row.rule
    yield from (f"# {rule.slug}", "")
    yield from prose(rule.text)
    read = [switch for switch, slugs in read_by().items() if rule.slug in slugs]
    yield from listed(
        {
            "part": f"[{rule.part}](/reference/rule/{rule.part}.md)",
            "since": rule.since,
            "written in": plain(rule.source),
            "kind": "decides: other rules ask it" if rule.decides else "acts: a step of the coordinator",
            "fires only on": row.odd,
            "in the spec": f"`{place_of(rule.function)}`",
            "in the coordinator": codes(dict.fromkeys(bug.function for bug in row.bugs)),
            "brokers differ in": "; ".join(map(_switch, read)),
        }
    )
    yield from _neighbours(rule.slug)
    yield from _guards(rule.slug)
    yield from _mutants(row)
    yield from _bugs(row)
    yield from _cases(rule.slug)
    yield from _proofs(rule.slug)


def _switch(name: str) -> str:
    values = ", ".join(f"{one.name} {_value(getattr(one, name))}" for one in PROFILES.values())
    return f"`{name}` ({values})"


def _value(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else plain(str(value))


def _neighbours(slug: str) -> Iterator[str]:
    tried = [
        (
            f"`{one.handler}`, {one.number} of {one.of}",
            rule_link(one.before) if one.before else "none",
            rule_link(one.after) if one.after else "none",
        )
        for one in places(slug)
    ]
    yield from ("## Neighbours", "")
    if tried:
        yield "A handler tries its rules in order; the first whose guard holds acts."
        yield ""
        yield from table(("handler", "tried before it", "tried after it"), tried)
        yield ""
    asked, asking = asks()[slug], asked_by(slug)
    if asked:
        yield f"- It asks or goes on with {', '.join(map(rule_link, asked))}."
    if asking:
        yield f"- It is asked, or gone on with, by {', '.join(map(rule_link, asking))}."
    yield ""


def _guards(slug: str) -> Iterator[str]:
    weak = {one.name: one for one in WEAKNESSES}
    names = guarding().get(slug, ())
    yield from ("## Properties that guard it", "")
    strong = [
        (property_link(name, claims()), plain(claims()[name].meaning)) for name in names if name not in weak
    ]
    if strong:
        yield from table(("property", "says"), strong)
    else:
        yield "No property names it: dialogues, counts and the lockstep walk judge it."
    yield ""
    known = [
        (property_link(name, claims()), plain(claims()[name].meaning), ", ".join(weak[name].profiles))
        for name in names
        if name in weak
    ]
    if known:
        yield from ("Known weaknesses that it has part in:", "")
        yield from table(("weakness", "what one would wish", "broken by"), known)
        yield ""


def _mutants(row: Row) -> Iterator[str]:
    yield from ("## Mutants of the spec", "")
    if not (row.mutants or row.by_dialogues):
        yield from ("None replaces it.", "")
        return
    yield from table(("mutant", "mistake", "found by"), map(_mutant, (*row.mutants, *row.by_dialogues)))
    yield ""
    first = next(iter(row.mutants), None)
    if first:
        command = f"rota check --mutant {first.name} --configuration {first.configuration}   # exit 1"
        yield from ("```sh quick", command, "```", "")


def _mutant(one: Mutant) -> tuple[str, str, str]:
    found = property_link(one.killer, claims())
    where = f"{one.configuration}: {one.killer}" if one.configuration in DIALOGUES else ""
    return f"`{one.name}`", plain(one.meaning), where or f"{found} in `{one.configuration}`"


def _bugs(row: Row) -> Iterator[str]:
    if not row.bugs:
        return
    yield from ("## Bugs planted in the coordinator", "")
    yield "Found by the walk in lockstep with the spec, or by the dialogue that is named; see "
    yield from ("[planted bugs](/planted-bugs.md).", "")
    yield from table(
        ("bug", "mistake", "in"),
        ((f"`{bug.name}`", plain(bug.meaning), _where(bug.function, bug.dialogue)) for bug in row.bugs),
    )
    yield ""


def _where(function: str, dialogue: str) -> str:
    return f"`{function}`" + (f", found by `{dialogue}`" if dialogue else "")


@cache
def cases() -> Mapping[str, tuple[Case, ...]]:
    """Rule -> the cases about it."""
    by_rule = sorted(all_cases(), key=lambda case: case.rule)
    return {slug: tuple(some) for slug, some in groupby(by_rule, key=lambda case: case.rule)}


def _cases(slug: str) -> Iterator[str]:
    yield from ("## Conformance cases", "")
    some = cases().get(slug, ())
    numbers = Counter(one.family or one.id for one in some)
    first = {one.family or one.id: one for one in reversed(some)}
    if some:
        yield from table(
            ("case, or family", "cases", "level", "requires"),
            (
                (f"`{name}`", str(number), first[name].level, plain(first[name].sentence))
                for name, number in numbers.items()
            ),
        )
    elif slug in OUT_OF_REACH:
        yield f"None: it takes {OUT_OF_REACH[slug]}."
    else:
        yield "None is about it alone."
    yield ""


@cache
def obligations() -> Mapping[str, tuple[tuple[str, str, str, int, int], ...]]:
    """Rule -> (family, name of a group, sentence, proved, refuted) of the obligations that name it."""
    found: dict[str, list[tuple[str, str, str, int, int]]] = {slug: [] for slug in rows_of_the_spec()}
    for family in FAMILIES:
        sentences = family.sentences()
        for name, members in groups(family):
            for slug, some in found.items():
                about = [one for one in members if _names(one.name, slug)]
                if about:
                    proved = sum(one.expect == "proved" for one in about)
                    sentence = sentences.get(name) or about[0].statement
                    some.append((family.name, name, sentence, proved, len(about) - proved))
    return {slug: tuple(some) for slug, some in found.items()}


def _names(obligation: str, slug: str) -> bool:
    return f".{slug}." in f".{obligation}."


def _proofs(slug: str) -> Iterator[str]:
    yield from ("## Proofs", "")
    rows = obligations()[slug]
    if not rows:
        yield from ("No obligation names it; what is only explored is in [proofs](/proofs.md).", "")
        return
    yield "For any number of members: what it keeps, decided by Z3 (`rota prove NAME`). What is refuted is"
    yield from ("false and shown with a counterexample.", "")
    yield from table(
        ("obligations", "sentence", "proved", "refuted"),
        (
            (f"[{name}](/obligations.md#{family})", plain(words), str(proved), str(refuted or ""))
            for family, name, words, proved, refuted in rows
        ),
    )
    yield ""
