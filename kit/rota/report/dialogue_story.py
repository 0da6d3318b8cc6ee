"""A dialogue with a coordinator as a story: who said what when, and what was required."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rota.conformance.dialogues.transcript import RESTARTED, Line, render, with_names
from rota.conformance.results import CaseResult, Verdict
from rota.kernel import Arrow, Lane
from rota.trace.sequence import chart
from rota.trace.story import Event, Light, Moment, Story

TARGET = "the target"
"""The lane of whatever answers. No member is called so: their names have no space."""

REQUEST, ANSWER, BROKEN = "→", "←", "×"
"""The marks of lines that go from one to another; what else happens is at a member, or a remark."""

LONG = 60
"""Letters on an arrow, where the first part of what is said is shorter; all of it stands below the event."""

OUTCOMES = {
    Verdict.PASS: Light.HOLDS,
    Verdict.UNSUPPORTED: Light.SILENT,
    Verdict.UNDECIDED: Light.SILENT,
    Verdict.SKIPPED: Light.SILENT,
}
"""What a verdict comes to; any other one says that something deviated."""


def told(result: CaseResult, target: str = TARGET, again: str = "") -> Story:
    """What is drawn of a case that was played.

    Parameters: result; target, what stands above its lane; again, the command that plays the case again.
    """
    story = replace(
        drawn(with_short_names(result), result.case.id, result.verdict.value, target),
        facts=tuple((name, text) for name, text in _facts(result, again) if text),
        outcome=OUTCOMES.get(result.verdict, Light.VIOLATED),
    )
    return replace(story, copies={"text": _text(result), "Mermaid": chart(story)})


def drawn(lines: Sequence[Line], title: str, verdict: str, target: str = TARGET) -> Story:
    """What is drawn of lines with short names: whoever speaks has a lane, and whoever answers."""
    members = tuple(dict.fromkeys(line.who for line in lines if line.who))
    return Story(
        title=title,
        verdict=verdict,
        lanes=(*(Lane(who, who, "member") for who in members), Lane(TARGET, target, "coordinator")),
        events=tuple(_event(number, line) for number, line in enumerate(lines, 1)),
        moments=tuple(Moment(bands=bands) for bands in _generations(lines)),
    )


def with_short_names(result: CaseResult) -> list[Line]:
    """The lines of the dialogue, short names instead of member ids."""
    return shortened(result.lines, result.names)


def shortened(lines: Sequence[Line], names: Mapping[str, str]) -> list[Line]:
    """Lines with short names. names: member id → its short name."""
    return [replace(line, text=with_names(line.text, names)) for line in lines]


def _text(result: CaseResult) -> str:
    """The dialogue as it is printed."""
    return "".join(f"{line}\n" for line in render(result.lines, result.names))


def _facts(result: CaseResult, again: str) -> Iterator[tuple[str, str]]:
    case = result.case
    yield "requirement", case.requirement
    yield "level", case.level.value
    yield "expected", result.expected
    yield "actual", result.actual
    yield "because", result.because
    yield "known", result.known.words if result.known is not None else ""
    yield "rule", case.rule
    yield "source", case.source
    for member_id, name in result.names.items():
        yield name, f"is {json.dumps(member_id)}"
    yield "again", again


def _event(number: int, line: Line) -> Event:
    return Event(
        index=number,
        label=f"{line.who} {line.mark} {_brief(line)}".strip(),
        machine=TARGET if line.mark in (ANSWER, RESTARTED) else line.who,
        at=f"{line.at_ms:.0f} ms",
        arrows=tuple(_arrows(line)),
        detail=tuple(_fields(line)),
    )


def _brief(line: Line) -> str:
    """What is said in a few words: which request, and how it is answered."""
    return " ".join(_fields(line)[: 2 if line.mark == ANSWER else 1])


def _arrows(line: Line) -> Iterator[Arrow]:
    if line.mark == REQUEST:
        yield Arrow(line.who, TARGET, _short(_fields(line)))
    elif line.mark == ANSWER:
        yield Arrow(TARGET, line.who, _short(_fields(line)))
    elif line.mark == BROKEN:
        yield Arrow(TARGET, line.who, _short(_fields(line)), lost=True)


def _fields(line: Line) -> Sequence[str]:
    """What a line says, part by part: two spaces are between them."""
    return line.text.split("  ")


def _short(fields: Sequence[str]) -> str:
    """As many of the first parts as there is room for, the first one in any case."""
    text = fields[0]
    for field in fields[1:]:
        if len(text) + len(field) > LONG:
            return f"{text}, …"
        text = f"{text}, {field}"
    return text


def _generations(lines: Sequence[Line]) -> Iterator[Mapping[str, str]]:
    """Before the first line and after each: the generation that each member was told last."""
    told: dict[str, str] = {}
    yield dict(told)
    for line in lines:
        kind, *fields = _fields(line)
        generation = next((field for field in fields if field.startswith("generation ")), "")
        if line.mark == ANSWER and kind == "JoinGroup" and "NONE" in fields and generation:
            told[line.who] = generation
        yield dict(told)
