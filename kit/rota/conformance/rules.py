"""The rules that cases are about, by the names that they have here, of both protocols.

The consumer protocol (KIP-848) has a table of its own, in which slugs stand that the classic one has too. So
here its rules are called `consumer.` and their slug, and all of its cases are the part `consumer`.
"""

from __future__ import annotations

from rota.kernel import Rule
from rota.spec import RULES
from rota.spec.consumer.handlers import CONSUMER_RULES

CONSUMER = "consumer"
"""The part of the cases about the consumer protocol, and what the names of its rules begin with."""

BY_NAME: dict[str, Rule] = {**RULES, **{f"{CONSUMER}.{slug}": rule for slug, rule in CONSUMER_RULES.items()}}
"""Name of a rule → the rule, in the order of the tables."""


def slug_of_consumer(id: str) -> str:
    """The name of the consumer protocol's rule that an id continues; empty where it continues none."""
    names = (f"{CONSUMER}.{slug}" for slug in CONSUMER_RULES)
    return max((name for name in names if id.startswith(f"{name}.")), key=len, default="")


def part_of_consumer(rule: str) -> str:
    """`consumer.membership` of a rule such as `consumer.membership.full`; empty for other rules."""
    first, _, rest = rule.partition(".")
    return f"{CONSUMER}.{rest.partition('.')[0]}" if first == CONSUMER else ""
