"""Transcripts made comparable: what differs between two plays on the same coordinator is taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import DialogueResult, Ending

LONGEST_REPETITION = 6
"""Up to so many lines that are repeated at once are kept once: how often depends on the machine."""

FAR_OFF = 2**30
"""A generation that is only asked for."""

_TIME_PASSES = re.compile(r"[\d.]+ s pass")
_SHORT_NAME = re.compile(r"@([a-z][a-z-]*)")
_LEADER = re.compile(r"leader @([a-z][a-z-]*)")
_SHARE = re.compile(r"'for ([a-z][a-z-]*)'")
_GENERATION = re.compile(r"(generation(?:_id_or_member_epoch)?) (\d+)\b")
_MEMBERS = re.compile(r"(members \[)([^\[\]():]+)(\])")
_ASSIGNMENTS = re.compile(r"(assignments \{)([^{}]*)(\})")

_LEFT_OUT = (
    (re.compile(r" in -?[\d.e+]+ s\b(?:, as it should be)?"), ""),  # how long a silence was observed
    (re.compile(r"\(\d+ B #\d+\)"), ""),  # metadata in requests, which are ours
    (re.compile(r"closed(?: the connection)?(?:: .*| \(.*\))"), "closed"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\bproducer_id \d+"), "producer_id its own"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "its address"),
    (re.compile(r'(?<!_)\bhost "[^"]+"(,? +)port \d+'), r"host its\1port own"),
)


def normalised(result: DialogueResult) -> tuple[str, ...]:
    """The lines of a dialogue without times, members by their roles, generations counted from the first.

    What only led to the subject is one line; sets are in order; what was repeated at once stands once; what
    was asked too early, and again, is left out.
    """
    lines: list[str] = []
    for line in _unfolded(result):
        if line.early or (line.mark == "·" and _TIME_PASSES.fullmatch(line.text)):
            continue
        who = result.roles.get(line.who, line.who)
        lines.append(f"{who} {line.mark} {_comparable(line.text, result)}".strip())
        _drop_repetition(lines)
    return (*lines, *(_comparable(text, result) for text in _end(result)))


def cast(result: DialogueResult) -> Mapping[str, str]:
    """What each member is in the first group that forms, by name; else the leader that is told of first."""
    if result.roles:
        return result.roles
    told = (_LEADER.search(_comparable(line.text, result)) for line in result.lines if line.mark == "←")
    return next(({found[1]: "leader"} for found in told if found), {})


def _unfolded(result: DialogueResult) -> Iterator[Line]:
    at = 0
    for fold in result.folds:
        yield from result.lines[at : fold.first]
        yield from fold.lines
        at = fold.last
    yield from result.lines[at:]


def _end(result: DialogueResult) -> Iterator[str]:
    """What the transcript does not say of how it ended."""
    if result.ending in (Ending.DEVIATED, Ending.MALFORMED):
        yield f"· expected {result.expected}, got {result.actual}"
    elif result.ending is Ending.DIED:
        yield f"· the target died: {result.actual}"
    elif result.ending is not Ending.FINISHED:
        yield f"· {result.because}"


def _comparable(text: str, result: DialogueResult) -> str:
    for member_id, name in result.names.items():  # an id may be said before its owner learns it
        text = text.replace(json.dumps(member_id), name)
    if result.group_id:
        text = text.replace(result.group_id, "GROUP")
    for pattern, instead in _LEFT_OUT:
        text = pattern.sub(instead, text)
    text = _SHORT_NAME.sub(lambda found: f"@{_role(found[1], result.roles)}", text)
    text = _SHARE.sub(lambda found: f"'for {_role(found[1], result.roles)}'", text)
    if (first := result.generation) is not None:
        text = _GENERATION.sub(lambda found: f"{found[1]} {_counted(int(found[2]), first)}", text)
    return _ASSIGNMENTS.sub(_sorted, _MEMBERS.sub(_sorted, text))


def _role(name: str, roles: Mapping[str, str]) -> str:
    return roles.get(name, name)


def _counted(generation: int, first: int) -> str:
    """A generation counts from the first; one that no group has, such as the greatest, is itself."""
    if not 0 < generation < FAR_OFF:
        return str(generation)
    return f"G{generation - first:+d}" if generation != first else "G"


def _sorted(found: re.Match[str]) -> str:
    return found[1] + ", ".join(sorted(found[2].split(", "))) + found[3]


def _drop_repetition(lines: list[str]) -> None:
    for size in range(1, LONGEST_REPETITION + 1):
        if len(lines) >= 2 * size and lines[-size:] == lines[-2 * size : -size]:
            del lines[-size:]
            return
