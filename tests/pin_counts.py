"""Write the counts of a report of `rota check` into the scopes: `make pin`.

The counts are facts about the spec; a change of them is reviewed as a diff. Run it only when the change is
meant.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

SCOPES = Path(__file__).resolve().parent.parent / "model" / "rota" / "scopes"


def pinned(text: str, runs: dict[str, dict[str, object]]) -> str:
    """The scope file with an `expected` line in every configuration that the report has."""
    blocks = re.split(r"(?=^\[\[configuration\]\]$)", text, flags=re.MULTILINE)
    return "".join(_block(block, runs) for block in blocks)


def _block(block: str, runs: dict[str, dict[str, object]]) -> str:
    name = re.search(r'^name = "(.*)"$', block, flags=re.MULTILINE)
    if name is None or name[1] not in runs:
        return block
    run = runs[name[1]]
    keys = ("distinct", "generated", "depth", "digest")
    counts = ", ".join(f"{key} = {json.dumps(run[key])}" for key in keys)
    kept = re.sub(r"^expected = .*\n", "", block, flags=re.MULTILINE).rstrip("\n")
    gap = "\n" * (len(block) - len(block.rstrip("\n")))
    return f"{kept}\nexpected = {{ {counts} }}{gap}"


def main(report: str) -> None:
    """Read the report, rewrite the scope files."""
    runs = {run["configuration"]: run for run in json.loads(Path(report).read_text(encoding="utf-8"))["runs"]}
    for path in sorted(SCOPES.glob("*.toml")):
        path.write_text(pinned(path.read_text(encoding="utf-8"), runs), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
