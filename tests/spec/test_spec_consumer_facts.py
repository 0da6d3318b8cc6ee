"""Single facts of the consumer protocol that no dialogue with a broker shows."""

from __future__ import annotations

import pytest

from harness.consumer_facts import FACTS
from rota.spec.consumer.handlers import CONSUMER_RULES


@pytest.mark.parametrize("fact", FACTS)
def test_the_spec_has_it(fact: str) -> None:
    FACTS[fact](CONSUMER_RULES)
