"""Failures grouped by their first causes: one rule each, and what else breaks because of it.

Of a case that deviates its evidence is how it deviated first: the target's last words, or which error was
required and which answer, or death, came to what sort of request. Cases with the same evidence have the same
cause, and its rule is that of the simplest of them. What could not be judged since a rule is broken in the
steps that lead to it belongs to that rule's cause. Nothing here depends on the order of the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.transcript import with_names
from rota.conformance.results import DEVIATION_VERDICT, CaseResult, Verdict
from rota.conformance.rules import BY_NAME
from rota.report.format import counted
from rota.wire.error_codes import ERROR_CODES

BROKEN = (Verdict.DIED, *DEVIATION_VERDICT.values())
"""Verdicts of cases that deviate, the worst first, whether or not a list knows of them."""

NOT_REACHED = (Verdict.SKIPPED, Verdict.UNDECIDED)
"""Verdicts of cases that may have been kept from their question by a failure."""

WORST = (Verdict.DIED, Verdict.FAIL, Verdict.LENIENT, Verdict.NOTED, Verdict.KNOWN, *NOT_REACHED)
"""Verdicts of the cases of a cause: its own is the first of these."""

NONE, SILENCE = "NONE", "no answer"

Evidence = tuple[str, ...]
"""How a case deviated first, in words that two cases have in common if they have the same cause."""

Key = tuple[str, bool]
"""The rule of a cause, and whether the target dies of it."""

_ERROR = re.compile(r"\b[A-Z][A-Z_]+(?= \(\d+\))|\bNONE\b")
_NAME = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_ANSWERED = re.compile(r"(?:no answer to )?([A-Z][A-Za-z]+)\b")
_MEMBER_ID = re.compile(r'member_id (""|")?')
_INSTANCE = re.compile(r'\binstance "|group_instance_id "')
_VARIES = re.compile(r"0x[0-9a-f]+|\d{4,}|(?<=goroutine )\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What is another each time in the last words of a process: addresses, ports, numbers of processes, ids."""

_LEVELS = list(Level)


@dataclass(frozen=True)
class Cause:
    """A rule that is broken, and everything that follows.

    `sentence` says the rule; `seen` what was required and what came in the case `first`, the simplest and the
    one to look at. `cases` are all that have this cause, those that deviate before those that could not be
    judged. `needed` is the error that was required and did not come, if that is what they have in common.
    `also_breaks` are the rules of its cases but its own; `waiting` is how many cases could not be judged.
    `dies`: the target does.
    """

    rule: str
    sentence: str
    verdict: Verdict
    cases: tuple[str, ...]
    first: str
    seen: str
    needed: str = ""
    also_breaks: tuple[str, ...] = ()
    waiting: int = 0
    dies: bool = False

    @property
    def name(self) -> str:
        """What tells it from other causes: of one rule there may be two, one of which kills the target."""
        return f"{self.rule} (dies)" if self.dies else self.rule

    @property
    def headline(self) -> str:
        """How many cases it concerns, and what they have in common, in a few words."""
        one = len(self.cases) == 1
        if self.dies:
            does = "kills the target" if one else "kill the target"
        elif self.needed:
            does = f"{'needs' if one else 'need'} {self.needed}"
        elif self.waiting == len(self.cases):
            does = f"{'waits' if one else 'wait'} for {self.rule}"
        else:
            does = f"{'breaks' if one else 'break'} {self.rule}"
        return f"{counted(len(self.cases), 'case')} {does}"


def causes(results: Sequence[CaseResult]) -> list[Cause]:
    """The causes of all deviations and of what could not be judged because of them.

    Those that fail a run are first, then what should not be, is merely noted, or known; of each the ones that
    concern most cases.
    """
    return _Grouping(results).causes()


def broken(results: Iterable[CaseResult]) -> list[CaseResult]:
    """The cases that deviate, known ones too."""
    return [one for one in results if one.deviation in BROKEN]


class _Grouping:
    """The results with their evidence, and which case is the simplest of those that have the same."""

    def __init__(self, results: Sequence[CaseResult]) -> None:
        self._place = {case.id: number for number, case in enumerate(all_cases())}
        self._results = sorted(results, key=self._order)
        self._broken = sorted(broken(self._results), key=self._simplicity)
        self._evidence = {one.case.id: evidence(one) for one in self._broken}
        self._owners: dict[Evidence, CaseResult] = {}
        self._lacking: dict[Evidence, CaseResult] = {}
        for one in self._broken:
            self._owners.setdefault(self._evidence[one.case.id], one)
            self._lacking.setdefault(_lacking(one), one)

    def causes(self) -> list[Cause]:
        found: dict[Key, list[CaseResult]] = {}
        for one in self._broken:
            found.setdefault(self._key(one), []).append(one)
        cause_of = {one.case.rule: self._key(one) for one in reversed(self._broken)}
        for one in self._results:
            if one.deviation in NOT_REACHED and (rule := self._kept_by(one)):
                found.setdefault(cause_of.get(rule, (rule, False)), []).append(one)
        return sorted((self._cause(*key, cases) for key, cases in found.items()), key=self._rank)

    def _key(self, one: CaseResult) -> Key:
        return self._owners[self._evidence[one.case.id]].case.rule, one.deviation is Verdict.DIED

    def _kept_by(self, one: CaseResult) -> str:
        """The rule that is broken in the steps which lead to the case; empty where none is known."""
        if one.prerequisite or one.late:
            return one.prerequisite
        if not one.expected:
            return ""
        owner = self._owners.get(evidence(one)) or self._lacking.get(_lacking(one) or ("nothing",))
        return owner.case.rule if owner is not None else ""

    def _cause(self, rule: str, dies: bool, cases: Sequence[CaseResult]) -> Cause:
        deviating = [one for one in cases if one.deviation in BROKEN]
        own = [one for one in deviating if one.case.rule == rule]
        first = min(own or deviating or cases, key=self._simplicity)
        shown = sorted(cases, key=lambda one: (one.deviation not in BROKEN, self._order(one)))
        rules = dict.fromkeys(one.case.rule for one in shown)
        return Cause(
            rule=rule,
            sentence=_sentence(rule),
            verdict=min((one.verdict for one in cases), key=WORST.index),
            cases=tuple(one.case.id for one in shown),
            first=first.case.id,
            seen=f"expected {first.expected}, got {first.actual}" if first.expected else first.because,
            needed=_needed(deviating),
            also_breaks=tuple(slug for slug in rules if slug != rule),
            waiting=len(cases) - len(deviating),
            dies=dies,
        )

    def _rank(self, cause: Cause) -> tuple[int, int, int, str]:
        worst = max(WORST.index(cause.verdict), 1)  # that it dies is a failure like others
        return worst, -len(cause.cases), self._place.get(cause.first, len(self._place)), cause.rule

    def _order(self, one: CaseResult) -> tuple[int, str]:
        return self._place.get(one.case.id, len(self._place)), one.case.id

    def _simplicity(self, one: CaseResult) -> tuple[object, ...]:
        """What is easy to look at comes first: news, what clients rely on, few members, few requests."""
        known, level = one.verdict is Verdict.KNOWN, _LEVELS.index(one.case.level)
        members = len({line.who for line in one.lines if line.who})
        return known, level, bool(one.prerequisite), members, _requests(one), self._order(one)


def _requests(result: CaseResult) -> int:
    """Requests of a dialogue; how a group forms depends on whose request is first, and counts as one.

    So does what is asked again and again: how often depends on the time that each takes.
    """
    folded = {number for fold in result.folds for number in range(fold.first, fold.last)}
    sent = {
        (line.who, line.text)
        for number, line in enumerate(result.lines)
        if line.mark == "→" and number not in folded
    }
    return len(sent) + len(result.folds)


def _sentence(rule: str) -> str:
    """What a rule says; those of the wire, which the spec does not have, say it in their case."""
    if rule in BY_NAME:
        return BY_NAME[rule].title
    return next((case.requirement for case in all_cases() if case.rule == rule), rule)


def _needed(deviating: Sequence[CaseResult]) -> str:
    """The error that all of them required; empty where they required different ones, or none."""
    wanted = {error for one in deviating for error in _ERROR.findall(one.expected)[:1]}
    return wanted.pop() if len(wanted) == 1 and NONE not in wanted else ""


def evidence(result: CaseResult) -> Evidence:
    """How a case deviated first.

    For a death the last words; but where a request was to be refused, that request: what becomes of a target
    that takes what it should not may depend on what its memory holds. Where one error was required and
    another one came the API does not matter: a broker has one place that says so. What is required in vain of
    a request is told apart by its API and by who asks: somebody without an id, with a strange one, or a
    member. That an answer without an error does not come, or comes when it should not, says little, so there
    the steps before must be the same too. All else speaks for the case's own rule alone.
    """
    wanted, got = _outcome(result.expected), _outcome(result.actual)
    api, asked = _asked(result)
    if result.deviation is Verdict.DIED:
        error = _to_be_refused_with(result)
        return ("died", error, api, asked) if error else ("died", _VARIES.sub("#", result.actual))
    if not wanted or not got or wanted == got:
        return "rule", result.case.rule
    if NONE not in (wanted, got) and SILENCE not in (wanted, got):
        return wanted, got, asked
    if {wanted, got} == {NONE, SILENCE}:
        return api, asked, wanted, got, *_steps(result)
    return api, asked, wanted, got


def _to_be_refused_with(result: CaseResult) -> str:
    """The error that was required of a target that died, else that of the case's rule; empty where none is.

    Where it dies before the answer is due, what was required of it was any answer.
    """
    wanted = _outcome(result.expected)
    found = [wanted, *_NAME.findall(result.case.requirement)]
    return next((error for error in found if error in ERROR_CODES and error != NONE), "")


def _lacking(result: CaseResult) -> Evidence:
    """The error that was required in vain, of which API and by whom, whatever came instead; else nothing."""
    wanted = _outcome(result.expected)
    return () if wanted in ("", NONE, SILENCE) else (wanted, *_asked(result))


def _outcome(text: str) -> str:
    """An error, NONE, or that there is no answer; empty where a text names none of these."""
    if text.startswith(SILENCE):
        return SILENCE
    found = _ERROR.search(text)
    return found[0] if found else ""


def _asked(result: CaseResult) -> tuple[str, str]:
    """The API whose answer was not the right one, and who asked."""
    sent = [with_names(line.text, result.names) for line in result.lines if line.mark == "→"]
    found = _ANSWERED.match(result.expected)
    named = found[1] if found else ""
    of_it = [text for text in sent if text.startswith(f"{named} v")]
    request = (of_it or sent or [""])[-1]
    api = request.partition(" ")[0]
    sort = _MEMBER_ID.search(request)
    who = "" if sort is None else {'""': "newcomer", '"': "stranger", None: "member"}[sort[1]]
    return api, f"static {who}" if _INSTANCE.search(request) else who


def _steps(result: CaseResult) -> Evidence:
    """What led to it: what was reached, and the requests since, whoever sent them."""
    start = max((fold.last for fold in result.folds), default=0)
    reached = [line.text for fold in result.folds[-1:] for line in fold.lines if line.mark == "·"]
    sent = [line.text.partition(" ")[0] for line in result.lines[start:] if line.mark == "→"]
    return (*reached, *sent)


def by_id(results: Iterable[CaseResult]) -> Mapping[str, CaseResult]:
    """Id of a case -> its result."""
    return {one.case.id: one for one in results}
