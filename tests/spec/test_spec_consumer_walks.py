"""What holds of a group of the consumer protocol in random walks, whatever its assignor names."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from harness.consumer_walk import compactions, walked
from rota.spec.consumer.records import NotLoaded, Written, load

SEEDS = range(40)


@pytest.mark.parametrize("interval", [0, 1000])
def test_a_group_is_what_any_compaction_of_its_log_says_and_comes_to_rest(interval: int) -> None:
    for seed in SEEDS:
        walk = walked(seed, interval=interval)
        for left in compactions(Random(seed), walk.log):
            assert load(left) == walk.group
        if not interval:
            walk.settles()


def test_a_log_that_misses_any_old_record_gives_the_same_group_or_cannot_be_loaded() -> None:
    """A record that a later one of its key replaces may be missing while another such is there: Kafka then
    refuses to take a member away before what it has, and the whole partition of the log with it.
    """
    loaded = refused = 0
    for seed in SEEDS:
        walk, random = walked(seed), Random(seed)
        every: Sequence[Written] = [one for batch in walk.log for one in batch]
        last = {one.key: place for place, one in enumerate(every)}
        left = [one for place, one in enumerate(every) if last[one.key] == place or random.randrange(2)]
        try:
            assert load(left) == walk.group
            loaded += 1
        except NotLoaded:
            refused += 1
    assert loaded
    assert refused
