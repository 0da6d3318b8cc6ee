"""Bugs of consumer groups that were met upstream, each planted as the code was before it was mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.mutants.consumer import BUGS
from rota.mutants.mutant import Mutant

KAFKA = "https://github.com/apache/kafka/pull/"
LIBRDKAFKA = "https://github.com/confluentinc/librdkafka/pull/4634"


@dataclass(frozen=True)
class Upstream:
    """A bug that was met.

    number: by which it is known; mended: where that is public; mutant: its name; harm: what it harms;
    sentence: the one that it breaks, judged alone; configuration: where; steps: of the shortest run that
    breaks it, one that is endless up to the end of its first round.
    """

    number: str
    mended: str
    mutant: str
    harm: str
    sentence: str
    configuration: str
    steps: int

    @property
    def planted(self) -> Mutant:
        """The mutant. Errors: KeyError."""
        return BUGS[self.mutant]


OWNERS, USE, HALTS, LOADING, COMMITS, EPOCHS = (
    "who owns what",
    "who uses what",
    "that it goes on",
    "loading",
    "commits",
    "epochs",
)

UPSTREAM: Sequence[Upstream] = (
    Upstream(
        *("KAFKA-16147", f"{KAFKA}15212", "given-back-and-forgotten", OWNERS),
        *("consumer.one-owner", "late", 17),
    ),
    Upstream(
        *("KAFKA-19431", f"{KAFKA}20055", "subscriptions-are-not-looked-at", OWNERS),
        *("consumer.assigned-is-subscribed", "change", 9),
    ),
    Upstream(
        *("robot-head/crabka 521", "https://github.com/robot-head/crabka/issues/521", "told-the-target", USE),
        *("consumer.used-is-held", "pair", 7),
    ),
    Upstream(
        *("KAFKA-16251", f"{KAFKA}15392", "fenced-and-heartbeats", USE),
        *("consumer.joins-with-nothing", "late", 9),
    ),
    Upstream(
        *("KAFKA-16198", f"{KAFKA}15271", "a-part-for-all", USE),
        *("consumer.uses-what-it-was-told", "names", 8),
    ),
    Upstream(
        *("KAFKA-16249", f"{KAFKA}15364", "newer-target-ends-the-waiting", HALTS),
        *("deadlock", "grows", 19),
    ),
    Upstream(
        *("KAFKA-16185", f"{KAFKA}15511", "same-is-no-news", HALTS),
        *("deadlock", "grows", 13),
    ),
    Upstream(
        *("KAFKA-19233", f"{KAFKA}21305", "fenced-for-ever", HALTS),
        *("consumer.settles", "alone", 13),
    ),
    Upstream(
        *("librdkafka 4634", LIBRDKAFKA, "fenced-while-it-applies", HALTS),
        *("deadlock", "late", 20),
    ),
    Upstream(
        *("KAFKA-17306", f"{KAFKA}16898", "nothing-to-take-away", LOADING),
        *("consumer.log-loads", "log", 6),
    ),
    Upstream(
        *("KAFKA-19862", f"{KAFKA}20907", "somebody-else-owns-it", LOADING),
        *("consumer.log-loads", "log", 16),
    ),
    Upstream(
        *("KAFKA-20066", f"{KAFKA}21558", "only-the-newest-epoch-commits", COMMITS),
        *("consumer.commit-of-its-own", "commits", 11),
    ),
    Upstream(
        *("KAFKA-19974", f"{KAFKA}21107", "led-on-to-give-up-more", EPOCHS),
        *("consumer.told-to-give-up-keeps-its-epoch", "late", 17),
    ),
    Upstream(
        *("KAFKA-20442", f"{KAFKA}22045", "target-stays-behind", EPOCHS),
        *("consumer.empty-at-its-target", "leave", 6),
    ),
    Upstream(
        *("KAFKA-19335", f"{KAFKA}19818", "joins-at-the-epoch-of-a-leave", EPOCHS),
        *("consumer.joins-with-nothing", "back", 8),
    ),
    Upstream(
        *("KAFKA-19449", f"{KAFKA}20781", "waits-for-itself", HALTS),
        *("consumer.waits-for-others", "change", 14),
    ),
)
"""By what they harm."""
