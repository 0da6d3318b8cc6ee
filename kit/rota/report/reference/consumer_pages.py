"""The index of the consumer protocol's rules: what each says, and which conformance cases are about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rota.conformance.catalogue import all_cases
from rota.conformance.out_of_reach import CONSUMER_OUT_OF_REACH
from rota.conformance.rules import CONSUMER
from rota.report.reference.markdown import codes, opening, table
from rota.spec.consumer.handlers import CONSUMER_RULES

ABOUT = """{rules} rules of the consumer protocol (KIP-848), in `model/rota/spec/consumer`, and the {cases}
conformance cases about {seen} of them. `rota conform --target TARGET consumer` plays these, and
`consumer.membership` or any other part of the table those about its rules. In the kit a rule is called
`consumer.` and its slug, since the classic protocol has some of these slugs too."""


def lines() -> Iterator[str]:
    """The page."""
    cases = [case for case in all_cases() if case.part == CONSUMER]
    seen = {case.rule for case in cases}
    about = ABOUT.format(rules=len(CONSUMER_RULES), cases=len(cases), seen=len(seen))
    yield from opening("Rules of the consumer protocol", about)
    for part, some in groupby(CONSUMER_RULES.values(), key=lambda rule: rule.part):
        yield from (f"## {part}", "")
        for rule in some:
            decides = "*Decides.* " if rule.decides else ""
            yield from (f"### {rule.slug}", "", f"{decides}{rule.title}", "", f"- source: {rule.source}")
            own = [case for case in cases if case.rule == f"{CONSUMER}.{rule.slug}"]
            if not own:
                yield from (f"- no case is about it: {CONSUMER_OUT_OF_REACH[rule.slug]}", "")
                continue
            yield ""
            yield from table(
                ("case", "level", "requires"), ((f"`{case.id}`", case.level, case.sentence) for case in own)
            )
            yield ""
            if older := [case for case in own if case.otherwise is not None]:
                yield f"Something else is right for brokers of 4.0: {codes(case.id for case in older)}."
                yield ""
