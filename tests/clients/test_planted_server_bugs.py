"""A server with a bug, planted by a proxy, fails a scenario, and the failure says what is wrong."""

from operator import attrgetter

import pytest

from harness.clients.meddler import BUGS
from harness.clients.planted import Planted
from harness.thinned import some

# kafka-python reads its schemas in a way that the standard library gives up.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")

PLANTED = {
    Planted("newcomer_continues", "librdkafka", bug="records come with another offset"):
        "sees .*@1 where offset 0 is next",
    Planted("pair_joins_and_parts", "kafka-python", bug="records come with another offset"):
        "sees .*@1 where offset 0 is next",
    Planted("newcomer_continues", "librdkafka", bug="commits are forgotten"):
        "sees .*@0 where offset 3 is next",
    Planted("pair_joins_and_parts", "kafka-python", bug="commits are forgotten"):
        "sees .*@0, which .* has seen and not lost",
    Planted("newcomer_continues", "mixed", bug="another offset is committed"):
        "sees .*@2, which .* has seen and not lost",
    Planted("frozen_too_long", "librdkafka", bug="a commit that is refused looks accepted"):
        "could commit .* without holding the partition",
    Planted("pair_joins_and_parts", "mixed", bug="all members get one member's assignment"):
        "is given .*, which .* still holds",
    Planted("pair_joins_and_parts", "kafka-python", bug="all members get one member's assignment"):
        "belongs to .* in generation",
    Planted("subscriptions_differ", "librdkafka", bug="the assignments of two members are swapped"):
        "whose topic it has not subscribed to",
    Planted("pair_joins_and_parts", "librdkafka", bug="members beyond the first get no assignment"):
        "waited .* share 4 partitions in one generation",
}  # fmt: skip
"""What is played, by whom, on a server with which bug → what the failure says."""


@pytest.mark.parametrize("case", some(PLANTED, kind=attrgetter("bug"), name=str), ids=str)
def test_the_bug_is_found(case, played):
    assert played.failure is not None, "all went well"
    with pytest.raises(AssertionError, match=PLANTED[case]):
        raise played.failure


def test_every_bug_is_planted():
    assert {case.bug for case in PLANTED} == set(BUGS)
