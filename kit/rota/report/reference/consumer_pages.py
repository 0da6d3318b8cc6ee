"""The index of the consumer protocol's rules: what each says, who checks it, its conformance cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rota.conformance.catalogue import all_cases
from rota.conformance.out_of_reach import CONSUMER_OUT_OF_REACH
from rota.conformance.rules import CONSUMER
from rota.report.matrix import rows_of_consumer
from rota.report.reference.claims import guarding
from rota.report.reference.markdown import codes, opening, table
from rota.report.reference.rule_pages import facts

ABOUT = """{rules} rules of the consumer protocol (KIP-848), in `model/rota/spec/consumer`, and the {cases}
conformance cases about {seen} of them. `rota conform --target TARGET consumer` plays these, and
`consumer.membership` or any other part of the table those about its rules. In the kit a rule is called
`consumer.` and its slug, since the classic protocol has some of these slugs too; `rota rules consumer` lists
them. Mutants are the rule with a mistake in it, each with the property that finds it first in a world of two
clients; bugs are mistakes planted in rota's coordinator, found by comparing it with the spec."""


PREFIX = f"{CONSUMER}."


def lines() -> Iterator[str]:
    """The page."""
    cases = [case for case in all_cases() if case.part == CONSUMER]
    seen = {case.rule for case in cases}
    rows = rows_of_consumer()
    about = ABOUT.format(rules=len(rows), cases=len(cases), seen=len(seen))
    yield from opening("Rules of the consumer protocol", about)
    for part, some in groupby(rows.values(), key=lambda row: row.part):
        yield from (f"## {part.removeprefix(PREFIX)}", "")
        for row in some:
            rule, slug = row.rule, row.rule.slug.removeprefix(PREFIX)
            decides = "*Decides.* " if rule.decides else ""
            yield from (f"### {slug}", "", f"{decides}{rule.title}", "")
            yield from facts(row, guarding().get(rule.slug, ()), "consumer-properties.md")
            own = [case for case in cases if case.rule == rule.slug]
            if not own:
                yield from (f"- no case is about it: {CONSUMER_OUT_OF_REACH[slug]}", "")
                continue
            yield ""
            yield from table(
                ("case", "level", "requires"), ((f"`{case.id}`", case.level, case.sentence) for case in own)
            )
            yield ""
            if older := [case for case in own if case.otherwise is not None]:
                yield f"Something else is right for brokers of 4.0: {codes(case.id for case in older)}."
                yield ""
