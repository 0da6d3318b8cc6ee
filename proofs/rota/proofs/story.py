"""A counterexample in words: what happens, line by line, and the values that the solver chose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from rota.proofs.obligations import Formula

Figure = int | bool | str


@dataclass(frozen=True)
class Story:
    """What breaks a claim.

    Parameters: lines, for people; figures, name and value of what the solver chose or what follows from it.
    """

    lines: tuple[str, ...]
    figures: tuple[tuple[str, Figure], ...]

    def as_lines(self) -> Iterator[str]:
        """For people."""
        yield from self.lines

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return dict(self.figures)


def figures_of(model: Any, terms: Mapping[str, Formula]) -> dict[str, Any]:
    """The values of terms in a model, by name: a bool, or an int."""
    values = {name: model.eval(term, model_completion=True) for name, term in terms.items()}
    return {
        name: z3.is_true(value) if z3.is_bool(value) else value.as_long() for name, value in values.items()
    }


def story(figures: Mapping[str, Figure], *lines: str) -> Story:
    """A story of these lines, each a format that names figures."""
    return Story(tuple(line.format_map(figures) for line in lines), tuple(figures.items()))
