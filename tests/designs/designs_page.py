"""The runs that docs/designs.md shows; `python tests/designs/designs_page.py` puts them in."""

from __future__ import annotations

import re
from pathlib import Path

from rota.designs import suites
from rota.explore import engines
from rota.kernel import System, Transition

PAGE = Path(__file__).resolve().parents[2] / "docs" / "designs.md"
MARK = re.compile(r"<!-- trace: (\S+) (\S+) -->\n(?:\n(?:    .*\n)+)?")


def run(design: str, name: str) -> list[str]:
    """The steps of the shortest violation of a configuration, or to its first unwelcome strategy."""
    system = suites.system(design, suites.load(design).configuration(name).settings)
    violation = engines.choose("reference")(system).violation
    path = violation.path if violation is not None else _to_witness(system, "can_serve_against_a_wish")
    return [step.label for step in path]


def _to_witness(system: System, name: str) -> tuple[Transition, ...]:
    """A shortest path to a state that is a witness."""
    (prop,) = (one for one in system.properties if one.name.endswith(name))
    paths: dict[object, tuple[Transition, ...]] = dict.fromkeys(system.initial_states(), ())
    for state in (waiting := list(paths)):  # what is found is appended while it is gone through
        if system.holds(prop, state):  # type: ignore[arg-type]
            return paths[state]
        for step in system.successors(state):  # type: ignore[arg-type]
            if step.target not in paths:
                paths[step.target] = (*paths[state], step)
                waiting.append(step.target)
    raise ValueError(f"{name} is never reached")


def written(page: str) -> str:
    """The page with all its runs in it."""

    def block(found: re.Match[str]) -> str:
        steps = (f"    {number:>2}  {label}\n" for number, label in enumerate(run(found[1], found[2]), 1))
        return f"<!-- trace: {found[1]} {found[2]} -->\n\n{''.join(steps)}"

    return MARK.sub(block, page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
