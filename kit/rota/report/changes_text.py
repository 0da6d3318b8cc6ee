"""What became of a target between two reports, as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rota.conformance.results import CaseResult
from rota.report.changes import MEANS, VERDICTS, Change, Changes, Kind
from rota.report.events import WholeRun
from rota.report.format import coloured, counted, emphasised, wrapped
from rota.report.markdown import ROOM, code, opened, row, within
from rota.report.text import in_full

SCHEMA = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""

COLOURED = {0: "holds", 1: "violated", 3: "undecided"}

IN_FULL = (Kind.NEW, Kind.UNJUDGED)
"""Kinds of changes that are told with everything that was seen."""


def as_text(changes: Changes) -> Iterator[str]:
    """What is new in full, the rest by name; the verdict last."""
    for name, run in (("before", changes.before), ("after", changes.after)):
        yield wrapped(f"{name:<7} ", described(run))
    for kind in Kind:
        if found := changes.those(kind):
            yield ""
            yield emphasised(f"{kind}: {counted(len(found), 'case')}, {MEANS[kind]}")
            for change in found:
                yield from _case(change)
    yield ""
    for kind in Kind:
        told = [f"{one.last.name} ({one.words})" for one in changes.causes if one.kind is kind]
        if told:
            yield wrapped(f"causes, {kind}: ", ", ".join(told))
    yield from _not_in_both(changes)
    verdict, colon, rest = verdict_line(changes).partition(":")
    yield f"{coloured(verdict, COLOURED[changes.exit_code])}{colon}{rest}"


def described(run: WholeRun) -> str:
    """A run in one line: the file, the target, what was said of it and by what."""
    started, finished = run.started, run.finished
    reached = f"{finished.reached.words} questions reached"
    judged = f"{started.target} against profile {started.profile}"
    return f"{run.path}: {finished.verdict}: {judged}, {reached}, sources {started.identity.short}"


def verdict_line(changes: Changes) -> str:
    """The verdict in one line."""
    told = ", ".join(changes.told())
    verdict = VERDICTS[changes.exit_code]
    judged = counted(changes.compared, "case")
    return f"{verdict}: {changes.after.path} beside {changes.before.path}: {told} ({judged} judged in both)"


def _case(change: Change) -> Iterator[str]:
    if change.kind not in IN_FULL:
        yield f"  {change.shown.case.id}  {change.words}"
    elif change.after is None:
        yield wrapped(f"  {change.shown.case.id}  {change.words}: ", "the run was interrupted before")
    else:
        yield from (f"  {line}" for line in _in_full(change, change.after))


def _in_full(change: Change, after: CaseResult) -> Iterator[str]:
    yield f"{after.case.id} ({after.case.level}): {change.words}"
    for name, text in (
        ("requirement", after.case.requirement),
        ("expected", after.expected),
        ("actual", after.actual),
        ("because", after.because),
    ):
        if text:
            yield wrapped(f"  {name:<12} ", text)


def _not_in_both(changes: Changes) -> Iterator[str]:
    for run, ids in zip((changes.before, changes.after), changes.not_in_both, strict=True):
        if ids:
            yield wrapped("not compared: ", f"{counted(len(ids), 'case')} in {run.path} alone: {_few(ids)}")


def _few(ids: list[str], most: int = 8) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more


def as_markdown(changes: Changes) -> str:
    """For a comment on a pull request: the verdict, tables of cases and causes, the new ones in full."""
    return within(ROOM, _sections(changes))


def _sections(changes: Changes) -> Iterator[tuple[str, str]]:
    yield "the verdict", f"# {VERDICTS[changes.exit_code]}\n\n{verdict_line(changes)}\n"
    for kind in (one for one in Kind if one is not Kind.STAYS):
        if found := changes.those(kind):
            lines = [row("case", "level", "before → after", "expected", "actual"), row(*["---"] * 5)]
            lines += [
                row(
                    code(one.shown.case.id),
                    one.shown.case.level.value,
                    one.words,
                    code(one.shown.expected),
                    code(one.shown.actual or one.shown.because),
                )
                for one in found
            ]
            yield f"what is {kind}", f"**{kind}** ({MEANS[kind]}):\n\n" + "\n".join(lines) + "\n"
    if changes.causes:
        lines = [row("cause", "", "cases before → after", "look at"), row(*["---"] * 4)]
        lines += [
            row(code(one.last.name), one.kind.value, one.words, code(one.last.first))
            for one in changes.causes
        ]
        yield "the causes", opened("causes", "\n".join(lines))
    for change in changes.those(Kind.NEW):
        text = "\n".join(f"    {line}" for line in in_full(change.shown, changes.after.started, 110))
        yield change.shown.case.id, opened(f"{change.shown.case.id}: {change.words}", text)
    if stays := changes.those(Kind.STAYS):
        ids = ", ".join(code(one.shown.case.id) for one in stays)
        yield "what stays", opened(f"stays: {counted(len(stays), 'case')}", ids)


def as_json(changes: Changes) -> str:
    """One object; of each case what it was and is."""
    whole = {
        "schema": SCHEMA,
        "verdict": VERDICTS[changes.exit_code],
        "before": _run(changes.before),
        "after": _run(changes.after),
        "judged_in_both": changes.compared,
        "counts": {kind.value: len(changes.those(kind)) for kind in Kind},
        "cases": [_object(change) for change in changes.cases],
        "causes": [
            {
                "rule": one.last.rule,
                "dies": one.last.dies,
                "change": one.kind.value,
                "before": len(one.before.cases) if one.before else 0,
                "after": len(one.after.cases) if one.after else 0,
                "first": one.last.first,
            }
            for one in changes.causes
        ],
        "only_before": changes.not_in_both[0],
        "only_after": changes.not_in_both[1],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _run(run: WholeRun) -> dict[str, Any]:
    return {
        "report": str(run.path),
        "target": run.started.target,
        "profile": run.started.profile,
        "verdict": run.finished.verdict,
        "sources": run.started.identity.sources,
    }


def _object(change: Change) -> dict[str, Any]:
    shown = change.shown
    return {
        "id": shown.case.id,
        "rule": shown.case.rule,
        "level": shown.case.level.value,
        "change": change.kind.value,
        "before": change.before.verdict.value if change.before else None,
        "after": change.after.verdict.value if change.after else None,
        "expected": shown.expected or None,
        "actual": shown.actual or None,
        "because": shown.because or None,
    }
