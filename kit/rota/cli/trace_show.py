"""Values along a trace, as a table: a line per state, what changed marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.cli.errors import UsageError
from rota.report.format import width, wrapped
from rota.trace import ExpressionError, Run, Trace
from rota.trace.along import Column, along
from rota.trace.text import printable

STEP = 5
"""Columns of a step's number."""

ROOM = 20
"""Columns that a step's label has at least, if it is shown."""


def columns(run: Run, texts: Sequence[str]) -> list[Column]:
    """The columns of several expressions. Errors: UsageError for one that is none about this system."""
    try:
        return [column for text in texts for column in along(run, text)]
    except ExpressionError as error:
        raise UsageError(f"--show {error}") from None


def lines(trace: Trace, shown: Sequence[Column]) -> Iterator[str]:
    """The table; one below the other where they do not fit side by side."""
    told = (printable(line) for line in _tables(trace, shown))
    yield from (line.rstrip() for line in told)
    yield ""
    yield "a value that is not what it was one step before is marked *"
    for missing in dict.fromkeys(one for column in shown for one in column.missing):
        yield f"{missing} is nowhere along this trace"


def _tables(trace: Trace, shown: Sequence[Column]) -> Iterator[str]:
    for number, table in enumerate(_packed(shown)):
        if number:
            yield ""
        if _used(table) <= width():
            yield from _side_by_side(trace, table)
        else:
            yield from _alone(trace, *table)


def _packed(shown: Sequence[Column]) -> Iterator[list[Column]]:
    """As many columns in each table as a line has room for, one at least."""
    table: list[Column] = []
    for column in shown:
        if table and _used([*table, column]) > width():
            yield table
            table = []
        table.append(column)
    yield table


def _used(table: Sequence[Column]) -> int:
    return STEP + sum(map(_wide, table))


def _wide(column: Column) -> int:
    """Columns of a line that it takes, with the mark and blanks before it."""
    return 4 + max(len(column.title), *map(len, column.values))


def _side_by_side(trace: Trace, table: Sequence[Column]) -> Iterator[str]:
    room = width() - _used(table) - 3
    titles = (f"    {column.title:<{_wide(column) - 4}}" for column in table)
    yield f"{'step':>{STEP}}" + "".join(titles)
    for at in range(len(trace.steps) + 1):
        yield from _repeats(trace, at)
        cells = (f"  {_cell(column, at):<{_wide(column) - 2}}" for column in table)
        yield _number(at) + "".join(cells) + "   " + _label(trace, at, room)


def _alone(trace: Trace, column: Column) -> Iterator[str]:
    """A column with values that are too long for a line."""
    yield column.title
    for at, value in enumerate(column.values):
        yield from _repeats(trace, at)
        yield from wrapped(f"{_number(at)}  {_cell(column, at)[:2]}", value).splitlines()


def _cell(column: Column, at: int) -> str:
    return f"{'*' if column.changed(at) else ' '} {column.values[at]}"


def _number(at: int) -> str:
    return f"{at or 'start':>{STEP}}"


def _label(trace: Trace, at: int, room: int) -> str:
    """What happened, as far as there is room for it."""
    label = trace.steps[at - 1].label if at else ""
    if room < ROOM:
        return ""
    return label if len(label) <= room else f"{label[: room - 1]}…"


def _repeats(trace: Trace, at: int) -> Iterator[str]:
    """Where an endless run comes back to."""
    if trace.cycle and at == len(trace.steps) - trace.cycle + 1:
        yield f"{'':>{STEP}}  from here it repeats"
