"""Violations as rows of a table, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any

from rota.conformance.dialogues.transcript import Line
from rota.histories.runs import Row
from rota.histories.tables import COMPARED, VIOLATIONS, micros
from rota.validate.account import Violation
from rota.validate.crossing import Comparison
from rota.validate.said import Said


def violation_row(cluster: str, one: Violation) -> Row:
    """As a table has it."""
    return (
        cluster,
        one.history,
        one.rule,
        micros(one.at),
        one.line,
        one.why,
        one.source,
        one.asked,
        one.expected,
        one.came,
        one.states,
        list(one.lines),
        list(one.nearest),
        list(one.dialogue),
        _said(one.said),
    )


def violation_of(row: Row) -> Violation:
    """From a row, in the order of the table's columns; what was said without the bytes of frames."""
    told = dict(zip(VIOLATIONS.names, row, strict=True))
    at = told["at"]
    seconds = at / 1_000_000 if isinstance(at, int) else None if at is None else at.timestamp()
    texts = {
        name: told[name] for name in ("rule", "why", "line", "source", "asked", "expected", "came", "states")
    }
    return Violation(
        told["group"],
        lines=tuple(told["lines"]),
        nearest=tuple(told["nearest"]),
        at=seconds,
        said=_said_of(json.loads(told["said"])),
        **texts,
    )


def _said(said: Said) -> str:
    lines = [astuple(replace(line, data=b"")) for line in said.lines]
    told = {
        "lines": [[*line[:4], *line[5:]] for line in lines],
        "names": dict(said.names),
        "origins": said.origins,
        "crucial": sorted(said.crucial),
    }
    return json.dumps(told, ensure_ascii=False)


def _said_of(told: Mapping[str, Any]) -> Said:
    lines = [
        Line(at, who, mark, text, b"", size, early) for at, who, mark, text, size, early in told["lines"]
    ]
    return Said(tuple(lines), told["names"], tuple(told["origins"]), frozenset(told["crucial"]))


def comparison_of(row: Row) -> Comparison:
    """From a row of what is compared."""
    told = dict(zip(COMPARED.names, row, strict=True))
    violation = violation_of(json.loads(told["violation"])) if told["violation"] else None
    return Comparison(told["one"], told["other"], told["difference"], told["what"], violation)
