"""The verdict on a walk: what the judge says of its history, and what no history can show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rota.conformance.dialogues.prerequisites import rule_behind, rule_of_waiting
from rota.doubt import Suspect, suspects
from rota.generate.aftermath import Harm
from rota.generate.player import Played
from rota.linearise import Answered, History, Judgement, Limits, Sent, judge
from rota.linearise import Verdict as Judged
from rota.spec import Call, FindCoordinatorReply, FindCoordinatorRequest, classic
from rota.spec.messages import ReplyMessage

WIRE = "wire.answers"
"""The rule that every answer can be read, and says what some rule could say."""

OTHERS = "walks.others-go-on"
"""The rule that whoever is polite can still have the group."""

LIVES = "walks.target-lives"
"""The rule that a target outlives whatever it is asked."""

FIND = "hosting.find-coordinator"

NO_ORDER = "walks.some-order"
"""The rule that some order explains what was seen, where no rule of the spec is nearer than others."""

LIMITS = Limits(narrow=True)
"""On a busy machine much is under way at once; an order that explains it is enough, be it found among few."""

MOST_OTHERS = 2
"""Other walks that failed for the same cause and are looked at to tell which rule it is."""

MOST_LATE = 5.0
"""Seconds by which a machine that is busy may have something late or early."""

CONSUMER_RULES = "consumer."
"""What the names of rules of the consumer protocol begin with."""

_NAMED = re.compile(r"request (\d+) \((\w+) v\d+")
"""Number and API of the first request that a judge names."""


class Verdict(StrEnum):
    """What became of a walk."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Walked:
    """A walk and the verdict on it.

    rule: what is broken, the likeliest rule; why: in words; nearest: what was possible instead, nearest
    first; cause: what walks have in common that fail for the same reason; reached: pairs of a rule and a
    state; fault: the number in the plan of the request that was answered wrongly, -1 where none can be
    told; suspects: rules whose mistake would explain it, likeliest first, once it was `explained`.
    """

    played: Played
    verdict: Verdict
    rule: str = ""
    why: str = ""
    nearest: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    states: int = 0
    reached: frozenset[tuple[str, str]] = frozenset()
    fault: int = -1
    suspects: tuple[Suspect, ...] = ()

    @property
    def id(self) -> str:
        """What the plan is called by."""
        return self.played.plan.id


def judged(played: Played, harm: Harm | None = None) -> Walked:
    """The verdict on a walk. harm: what polite members after it could not do, if anything."""
    if played.odd:
        api, why = played.odd[0]
        return Walked(played, Verdict.FAIL, WIRE, f"{api}: {why}", cause=(WIRE, api, why.partition(":")[0]))
    if played.unsure:
        return Walked(played, Verdict.UNDECIDED, why=played.unsure)
    found = judge(played.history, LIMITS)
    walked = _of_judgement(played, found)
    if walked.verdict is Verdict.FAIL:
        return walked
    if astray := _astray(played.history):
        return replace(walked, verdict=Verdict.FAIL, rule=FIND, why=astray, cause=(FIND,))
    if harm is not None:
        return replace(walked, verdict=Verdict.FAIL, rule=OTHERS, why=harm.told, cause=(OTHERS, harm.where))
    return walked


def out_of_time(failed: Walked) -> bool:
    """Whether all that is wrong in a walk is that something came too early, or up to `MOST_LATE` too late.

    After what came too early nobody knows, and it is taken for granted; so it is where something was late
    and there are too many orders to say how it went on. It is judged anew for this.
    """
    history = failed.played.history
    if failed.played.odd or failed.cause[:1] in ((LIVES,), (OTHERS,), (FIND,)):
        return False
    found = judge(history, LIMITS)
    if found.verdict is not Judged.VIOLATED:
        return False
    if any(one.seconds < 0 for one in found.late):
        return True
    forgiven = judge(history, replace(LIMITS, forgives=MOST_LATE)).verdict
    late = bool(found.late) and all(one.seconds <= MOST_LATE for one in found.late)
    return forgiven is Judged.CONSISTENT or (late and forgiven is Judged.UNDECIDED)


def explained(failed: Walked, others: Sequence[Walked] = ()) -> Walked:
    """A failure with the rules whose mistake would explain it; the first of them is told if it explains all.

    others: walks that have failed for the same cause, which are longer and say more.
    """
    if failed.cause[:1] in ((LIVES,), (OTHERS,), (FIND,)):
        return failed
    found = suspects(failed.played.history, [one.played.history for one in others[:MOST_OTHERS]])
    rule = found[0].rule if found and found[0].whole else failed.rule
    return replace(failed, rule=rule, suspects=found)


def _of_judgement(played: Played, found: Judgement) -> Walked:
    if found.verdict is Judged.CONSISTENT:
        pairs = found.reached | {(FIND, "any") for _ in _searches(played.history)}
        return Walked(played, Verdict.PASS, states=found.states, reached=pairs)
    if found.verdict is Judged.UNDECIDED:
        return Walked(played, Verdict.UNDECIDED, why=found.why, states=found.states)
    rule, nearest = rule_of(found), tuple(map(str, found.nearest))
    cause, reached = _cause(found, rule), found.reached
    fault = _fault(played, found)
    return Walked(played, Verdict.FAIL, rule, found.why, nearest, cause, found.states, reached, fault)


def _fault(played: Played, found: Judgement) -> int:
    """The number in the plan of the request that was answered wrongly or not at all, -1 for none."""
    named = _NAMED.search(found.why)
    number = found.at.number if isinstance(found.at, Answered) else int(named[1]) if named else -1
    return played.asked[number] if 0 <= number < len(played.asked) else -1


def rule_of(found: Judgement) -> str:
    """The rule that is nearest to what a judge has found."""
    if found.late:
        kind = found.late[0].kind
        return kind if kind.startswith("timer.") else f"walks.in-time.{kind}"
    named = _NAMED.search(found.why)
    api = named[2] if named else ""
    seen = _error(found.at.reply) if isinstance(found.at, Answered) else None
    if found.rules and found.rules[-1].startswith(CONSUMER_RULES):
        return found.rules[-1]
    if found.rules:
        refused = any(one[0] == "error_code" and one[1].name == "NONE" for one in found.nearest[0].differs)
        return rule_behind(api, "NONE", seen, found.rules[-1]) if refused else found.rules[-1]
    known = rule_of_waiting(api) if isinstance(found.at, Answered) else ""
    return rule_behind(api, "NONE", seen, known) or NO_ORDER


def _error(reply: ReplyMessage) -> str | None:
    """The name of the error that an answer tells, None if it has no place for one."""
    error = getattr(reply, "error_code", None)
    return None if error is None else error.name


def _cause(found: Judgement, rule: str) -> tuple[str, ...]:
    """The rule and the API, and the error that was due, or else which fields differ."""
    if found.late:
        return rule, "late" if found.late[0].seconds > 0 else "early"
    named = _NAMED.search(found.why)
    api = named[2] if named else ""
    differs = found.nearest[0].differs if found.nearest else ()
    errors = [wanted.name for name, wanted, _ in differs if name == "error_code"]
    return rule, api, *(errors or sorted(name for name, _, _ in differs))


def _searches(history: History) -> dict[int, Call]:
    return {
        event.number: event.call
        for event in history.events
        if isinstance(event, Sent) and isinstance(event.call.request, FindCoordinatorRequest)
    }


def _astray(history: History) -> str:
    """What is wrong with an answer to FindCoordinator, if anything: one broker coordinates all the time."""
    searches = _searches(history)
    spec = classic(history.config, profile=history.profile)
    for event in history.events:
        if isinstance(event, Answered) and event.number in searches:
            call = searches[event.number]
            wanted: ReplyMessage = spec.handle(None, call)[0].replies[0].message
            if call.leader is not None and isinstance(wanted, FindCoordinatorReply) and event.reply != wanted:
                return f"FindCoordinator v{call.version} is answered {event.reply}, not {wanted}"
    return ""
