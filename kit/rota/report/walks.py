"""What walks have come to: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rota.conformance.out_of_reach import CONSUMER_OUT_OF_REACH, OUT_OF_REACH
from rota.conformance.rules import BY_NAME
from rota.generate.bystander import HARMED
from rota.generate.plan import CLASSIC, CONSUMER
from rota.generate.run import MOST_UNDECIDED, Failure, Tally
from rota.generate.saved import failure_object
from rota.generate.shrink import RUNS
from rota.generate.told import dialogue
from rota.report.events import CONFORMS, INTERRUPTED, UNDECIDED, VIOLATED
from rota.report.format import coloured, counted, wrapped
from rota.report.identity import Identity
from rota.report.table import Column, Table, names
from rota.spec import RULES
from rota.spec.consumer.handlers import CONSUMER_RULES

SCHEMA = 1

COLOURS = {CONFORMS: "holds", VIOLATED: "violated", UNDECIDED: "undecided", INTERRUPTED: "undecided"}

RESTARTED = frozenset({"loading.load"})
"""Rules that walks come to where they restart the target."""

SET_OTHERWISE = frozenset({"loading.over-capacity"})
"""Rules that walks come to where they restart the target with other settings."""

EXPIRED = frozenset(slug for slug in RULES if slug.startswith("expiry."))
"""Rules that walks come to where the target looks often enough for what has expired."""

TRANSACTIONS = frozenset(slug for slug in RULES if slug.startswith("transactions."))
"""Rules that walks come to where the target serves transactions."""

TOLD = 3
"""Rules that are told which would explain a failure."""

IN_FULL = 5
"""How many causes are told with their dialogues, which fill a screen each."""

NOT_WALKED: Mapping[str, str] = {
    **OUT_OF_REACH,
    **dict.fromkeys(
        ("hosting.loading", "hosting.elsewhere", "loading.load", "loading.unload", "loading.over-capacity"),
        "a restart of the target",
    ),
    **dict.fromkeys(
        ("persistence.creation-stored", "timers.session-ignored"), "a change that the wire shows nothing of"
    ),
    **dict.fromkeys(sorted(EXPIRED), "a target that looks every few seconds for what has expired"),
    **dict.fromkeys(sorted(TRANSACTIONS), "a target that serves transactions"),
    "timers.new-member-expired": "five minutes in the first join phase",
}
"""Slug of a rule -> what it takes that walks do not do."""

_FOLLOWED = "what the judge follows by itself: who writes is answered when the log has it"

CONSUMERS_NOT_WALKED: Mapping[str, str] = {
    **CONSUMER_OUT_OF_REACH,
    "membership.static": "a target that refuses static members, as rota does",
    "membership.regular-expression": "a target that refuses regular expressions, as rota does",
    "persistence.written": _FOLLOWED,
    "timers.given-up": "a log that refuses a batch: else the timer is stopped when the member is led on",
}
"""Slug of a rule of the consumer protocol -> what it takes that walks do not do."""

CONSUMERS_IN_REACH = {f"{CONSUMER}.{slug}" for slug in CONSUMER_RULES.keys() - CONSUMERS_NOT_WALKED.keys()}


@dataclass(frozen=True)
class WalksSeen:
    """All that a run of walks has come to."""

    target: str
    profile: str
    seed: int
    tally: Tally
    failures: Sequence[Failure]
    seconds: float
    identity: Identity
    interrupted: bool = False

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.interrupted:
            return INTERRUPTED
        if self.failures or self.tally.died or (self.tally.rest and self.tally.rest.harm):
            return VIOLATED
        if self.tally.bystander is not None and self.tally.bystander.harm:
            return UNDECIDED  # no walk did it again
        if not self.tally.plans or self.tally.share_undecided > MOST_UNDECIDED:
            return UNDECIDED
        return CONFORMS

    @property
    def unreached(self) -> list[str]:
        """Rules that walks could have come to and did not."""
        return sorted(self.in_reach - self.tally.rules)

    @property
    def in_reach(self) -> set[str]:
        """Rules that walks can come to."""
        found = self._classic_in_reach if CLASSIC in self.tally.protocols else set[str]()
        return found | (CONSUMERS_IN_REACH if CONSUMER in self.tally.protocols else set())

    @property
    def _classic_in_reach(self) -> set[str]:
        restarted = set(RESTARTED if self.tally.restarts else ())
        restarted |= SET_OTHERWISE if self.tally.set_otherwise else set()
        restarted |= TRANSACTIONS - OUT_OF_REACH.keys() if self.tally.transactional else set()
        return (RULES.keys() - NOT_WALKED.keys()) | restarted | (EXPIRED if self.tally.looks else set())

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "target": self.target,
            "profile": self.profile,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "died": [death.as_json() for death in self.tally.died] or None,
            "bystander": None if self.tally.bystander is None else self.tally.bystander.as_json(),
            "rest": None if self.tally.rest is None else self.tally.rest.as_json(),
            "walks": {
                "plans": self.tally.plans,
                "requests": self.tally.requests,
                "undecided": len(self.tally.undecided),
                "reasons": [{"why": why, "walks": ids} for why, ids in _grouped(self.tally).items()],
                "restarts": self.tally.restarts,
                "avoiding": self.tally.avoiding,
                "unread": self.tally.unread,
                "reached": sorted([list(pair) for pair in self.tally.reached]),
                "unreached": self.unreached,
                "failures": [failure_object(each) for each in self.failures],
                "once": [failure_object(each) for each in self.tally.once],
                "unexplained": self.tally.unexplained,
            },
            "identity": self.identity.as_json(),
        }

    def lines(self) -> Iterator[str]:
        """For people: causes with their shortest dialogues, all in a table, what was reached, the verdict."""
        for failure in self.failures[:IN_FULL]:
            yield from told_failure(failure)
        yield from _table(self.failures)
        for text in self.tally.unexplained:
            yield wrapped("no rules: ", text)
        for death in self.tally.died:
            yield wrapped("died: ", death.told)
        yield from self._beside()
        for failure in self.tally.once:
            told = f"{failure.walked.why} (walk {_some(failure.met)}, {failure.told_runs})"
            yield wrapped("out of time: ", f"{told}; the machine may have been busy, so it is undecided")
        for why, ids in _grouped(self.tally).items():
            yield wrapped("undecided: ", f"{why} ({counted(len(ids), 'walk')}: {_some(ids)})")
        if self.tally.unread:
            told = ", ".join(f"{api} from v{first}" for api, first in sorted(self.tally.unread.items()))
            yield wrapped("left out: ", f"{told}: advertised, and not answered so that it can be read")
        if self.tally.plans and self.unreached:
            yield wrapped("not reached: ", ", ".join(self.unreached))
        if not (self.tally.plans or self.interrupted or self.tally.died):
            yield wrapped("nothing judged: ", "no walk ended in so few seconds; give more --seconds, as 60")
        of, reached = len(self.in_reach), len(self.tally.rules & self.in_reach)
        pairs = counted(len(self.tally.reached), "pair")
        yield f"reached: {reached} of {of} rules, {pairs} of a rule and the group's state"
        yield self.line()

    def _beside(self) -> Iterator[str]:
        """What became of others, and of the target afterwards, where anything did."""
        bystander, resting = self.tally.bystander, self.tally.rest
        if bystander is not None and bystander.harm:
            again = any(failure.walked.cause == HARMED for failure in self.failures)
            yield wrapped(
                "bystander: ", bystander.harm + ("" if again else "; no walk was seen to do it again")
            )
        if resting is not None and resting.harm:
            yield wrapped("not at rest: ", resting.harm)

    def line(self) -> str:
        """The verdict in one line."""
        tally = self.tally
        failed = sum(map(len, tally.failed.values()))
        avoiding = f" ({tally.avoiding} without what had gone wrong before)" if tally.avoiding else ""
        counts = (
            f"{counted(tally.plans, 'walk')}{avoiding}, {counted(tally.requests, 'request')}, {failed} failed"
        )
        causes = f" ({counted(len(self.failures), 'cause')})" if self.failures else ""
        undecided = f"{len(tally.undecided)} undecided ({tally.share_undecided:.1%})"
        word = coloured(self.verdict, COLOURS[self.verdict])
        restarts = f", {counted(tally.restarts, 'restart')}" if tally.restarts else ""
        died = f", died {counted(len(tally.died), 'time')}" if tally.died else ""
        return f"{word}: {self.target}: {counts}{causes}, {undecided}{restarts}{died}, {self.seconds:.0f} s"


def _table(failures: Sequence[Failure]) -> Iterator[str]:
    """A line for each cause; nothing where one alone was told in full."""
    if len(failures) < 2:
        return
    ids = names("replay", [one.walked.id for one in failures])
    rules = names("rule", [one.walked.rule for one in failures])
    table = Table([Column("met", 3), rules, Column("fails", 6), ids, Column("seen", words=True, gap=2)])
    yield table.head()
    for one in failures:
        fails = "" if one.runs is None else f"{one.runs} of {RUNS}"
        walked = one.walked
        cells = {"met": str(len(one.met)), "rule": walked.rule, "fails": fails, "replay": walked.id}
        yield table.row({**cells, "seen": walked.why})
    if len(failures) > IN_FULL:
        yield f"In full are the first {IN_FULL}, which were met most often; `--replay` shows another."
    yield ""


def told_failure(failure: Failure) -> Iterator[str]:
    """A cause: the rule, why, and the shortest dialogue."""
    walked = failure.walked
    yield f"{coloured('FAIL', 'violated')} {walked.rule}  walk {walked.id}, {failure.told_runs}"
    if walked.rule in BY_NAME:
        yield wrapped("     rule: ", BY_NAME[walked.rule].title)
    yield wrapped("     seen: ", walked.why)
    for number, one in enumerate(walked.suspects[:TOLD]):
        yield wrapped(
            "     or if: " if number else "     as if: ", str(one) + ("" if one.whole else ", in part")
        )
    for nearest in walked.nearest[1:3]:
        yield wrapped("     or: ", nearest)
    yield wrapped("     met in: ", _some(failure.met))
    for line in dialogue(walked.played.messages, walked.played.history.group_id):
        yield f"    {line}"
    yield ""


def _grouped(tally: Tally) -> dict[str, list[str]]:
    """Why walks are undecided, but for those that are told as out of time, and which."""
    found: dict[str, list[str]] = {}
    once = {walk for failure in tally.once for walk in failure.met}
    for walked in (walked for walked in tally.undecided if walked.id not in once):
        found.setdefault(walked.why, []).append(walked.id)
    return found


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
