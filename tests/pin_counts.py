"""Write the counts of reports of `rota check`, one per profile, into the scopes: `make pin`.

The counts are facts about the spec; a change of them is reviewed as a diff. Run it only when the change is
meant. A configuration that was not explored to its end keeps no counts under that profile.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCOPES = Path(__file__).resolve().parent.parent / "model" / "rota" / "scopes"
DEFAULT = "kafka-4.x"
KEYS = ("distinct", "generated", "depth", "digest")

Runs = Mapping[str, Mapping[str, Any]]
"""Configuration -> its run in a report."""


def pinned(text: str, profile: str, runs: Runs) -> str:
    """The scope file with the counts under a profile in every configuration that its report has."""
    blocks = re.split(r"(?=^\[\[configuration\]\]$)", text, flags=re.MULTILINE)
    return "".join(_block(block, profile, runs) for block in blocks)


def _block(block: str, profile: str, runs: Runs) -> str:
    name = re.search(r'^name = "(.*)"$', block, flags=re.MULTILINE)
    if name is None or name[1] not in runs:
        return block
    run, key = runs[name[1]], _key(profile)
    gap = "\n" * (len(block) - len(block.rstrip("\n")))
    kept = re.sub(rf"^{re.escape(key)} = .*\n", "", block.rstrip("\n") + "\n", flags=re.MULTILINE).rstrip(
        "\n"
    )
    if run["violation"] or run["verdict"] == "undecided":
        return kept + gap
    counts = ", ".join(f"{count} = {json.dumps(run[count])}" for count in KEYS)
    return f"{kept}\n{key} = {{ {counts} }}{gap}"


def _key(profile: str) -> str:
    return "expected" if profile == DEFAULT else f'expected_in."{profile}"'


def scopes(protocol: str) -> list[Path]:
    """The files of a protocol."""
    return [
        path
        for path in sorted(SCOPES.glob("*.toml"))
        if path.stem.startswith("consumer_") == (protocol == "consumer")
    ]


def main(*reports: str) -> None:
    """Read the reports, rewrite the scope files."""
    for report in reports:
        told = json.loads(Path(report).read_text(encoding="utf-8"))
        runs = {run["configuration"]: run for run in told["runs"]}
        for path in scopes(told["design"]):
            text = pinned(path.read_text(encoding="utf-8"), told["profile"], runs)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
