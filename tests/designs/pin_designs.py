"""Write what comes out of the older designs into their suites: `python tests/designs/pin_designs.py`.

Verdicts, steps and counts are facts about the models; a change of them is reviewed as a diff.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from rota.designs import suites
from rota.explore import Result, engines

FOLDER = Path(__file__).resolve().parents[2] / "model" / "rota" / "designs"
COUNTS = ("distinct", "generated", "depth", "digest")


def found(result: Result) -> dict[str, object]:
    """What a suite pins of a result."""
    told: dict[str, object] = {"verdict": result.verdict.value}
    if result.violation is not None:
        told |= {"property": result.violation.name, "steps": result.violation.steps}
    return told | {name: getattr(result, name) for name in COUNTS}


def pinned(text: str, results: dict[str, dict[str, object]]) -> str:
    """A suite with the results in it, by name of the configuration."""
    blocks = re.split(r"(?=^\[\[configuration\]\]$)", text, flags=re.MULTILINE)
    return "\n".join(_block(block, results).rstrip("\n") + "\n" for block in blocks)


def _block(block: str, results: dict[str, dict[str, object]]) -> str:
    name = re.search(r'^name = "(.*)"$', block, flags=re.MULTILINE)
    if name is None:
        return block
    kept = re.sub(r"^expected = .*\n", "", block, flags=re.MULTILINE).rstrip("\n")
    line = ", ".join(f"{key} = {json.dumps(value)}" for key, value in results[name[1]].items())
    return f"{kept}\nexpected = {{ {line} }}\n"


def main() -> None:
    """Explore all configurations and rewrite the files."""
    explore = engines.choose("auto")
    for design in suites.DESIGNS.values():
        suite = suites.load(design.name)
        results = {
            one.name: found(explore(suites.system(design.name, one.settings))) for one in suite.configurations
        }
        path = FOLDER / design.file
        path.write_text(pinned(path.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
