"""The kill matrix as text: a block per rule, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.mutants import Mutant
from rota.report.format import coloured, counted, emphasised, wrapped
from rota.report.matrix import Row, kills, lasting_kills, unguarded

ABOUT = """each rule; the mutants of the spec that replace it, the property that kills each and the
configuration where it dies first, and what else kills it in endless runs; coordinator bugs; cases"""

UNBROKEN = "\u00a0"
"""A blank at which no line is broken."""


def lines(rows: Sequence[Row], clients: Sequence[Mutant] = ()) -> Iterator[str]:
    """All of it, within the width of reports. clients: their mutants."""
    mutants = [*(mutant for row in rows for mutant in row.mutants), *clients]
    widths = (
        max((len(mutant.name) for mutant in mutants), default=0),
        max((len(mutant.killer) for mutant in mutants), default=0),
    )
    yield wrapped("", ABOUT)
    yield ""
    yield emphasised(_mutant_line("mutant", "killed by", "dies in", *widths))
    part = ""
    for row in rows:
        if row.part != part:
            part = row.part
            yield f"\n{emphasised(part)}"
        yield from _block(row, *widths)
    if clients:
        yield ""
        yield wrapped("", "clients, which are no rules: a kind of client, and mutants of it")
    for slug in dict.fromkeys(mutant.slug for mutant in clients):
        yield f"  {slug}"
        yield from (_line(mutant, *widths) for mutant in clients if mutant.slug == slug)
    yield ""
    yield from _numbers(rows, clients)


def _mutant_line(mutant: str, killer: str, where: str, name: int, killers: int) -> str:
    return wrapped(f"      {mutant:<{name}}  ", f"{killer:<{killers}}  {where}")


def _line(mutant: Mutant, name: int, killer: int) -> str:
    return _mutant_line(mutant.name, mutant.killer, mutant.configuration, name, killer)


def _block(row: Row, name: int, killer: int) -> Iterator[str]:
    mark = "" if row.guarded else f"   {coloured('NO KILLER', 'violated')}"
    yield f"  {row.rule.slug}{mark}"
    if row.odd:
        yield wrapped("      ", f"fires only on {row.odd}")
    for mutant in row.mutants:
        yield _line(mutant, name, killer)
        for one in row.lasting:
            if one.mutant == mutant.name:
                yield _mutant_line("", one.by, f"{one.configuration}, endless", name, killer)
    for mutant in row.by_dialogues:
        yield wrapped(f"      {mutant.name:<{name}}  ", f"{mutant.configuration}: {mutant.killer}")
    if row.bugs:
        yield wrapped("      bugs   ", ", ".join(bug.name for bug in row.bugs))
    if row.cases:
        words = [case.removeprefix(f"{row.rule.slug}.") for case in row.cases]
        yield wrapped("      cases  ", ", ".join(words))


def _numbers(rows: Sequence[Row], clients: Sequence[Mutant]) -> Iterator[str]:
    for what, counts in (
        ("mutants of the spec", [len(row.mutants) for row in rows]),
        ("found by dialogues", [len(row.by_dialogues) for row in rows]),
        ("coordinator bugs", [len(row.bugs) for row in rows]),
        ("conformance cases", [len(row.cases) for row in rows]),
    ):
        yield f"{what:<19}  {sum(counts):>3} for {sum(map(bool, counts)):>3} of {counted(len(rows), 'rule')}"
    if clients:
        yield f"{'mutants of clients':<19}  {len(clients):>3}"
    yield ""
    for title, words in (
        ("killed by, at first", [f"{name} {number}" for name, number in kills(rows, clients).items()]),
        ("killed by, in endless runs", [f"{name} {number}" for name, number in lasting_kills(rows).items()]),
        ("no polite client makes them fire; bugs of the coordinator and cases stand in", _odd(rows)),
        ("rules without a killer", unguarded(rows)),
    ):
        if not words:
            yield wrapped("", f"{title}: none")
            continue
        yield wrapped("", f"{title}:")
        joined = ", ".join(word.replace(" ", UNBROKEN) for word in words)
        yield wrapped("    ", joined).replace(UNBROKEN, " ")


def _odd(rows: Sequence[Row]) -> list[str]:
    return [row.rule.slug for row in rows if row.odd]
