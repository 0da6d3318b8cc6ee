"""Whether planted bugs of the coordinator are found in recordings in whose answers they show.

    python tests/harness/recording_hunt.py [--seeds 1,2,3] [--lines FILE] [--processes N] [BUG ...]

plays walks of each seed with each bug in virtual time until it has shown in the answers of enough of them,
those with transactions where it shows in no other, and judges what `rota record` would have written of these.
It writes a line for each bug and seed to FILE as
it goes: what stands there already is not looked for again. Without a BUG it looks for all that a client can
see, and in the end it writes tests/validate/hunted.toml from all lines.
"""

from __future__ import annotations

import logging
import time
from itertools import islice
from pathlib import Path
from typing import Any

from harness.bugs_in_recordings import of_line, write
from harness.recorded_walks import Recording, recordings
from harness.seen_bugs import profile_for
from harness.walk_hunt import WITH_TRANSACTIONS, asked_for, grounds, lines, look, parser
from rota.generate.hunt import Grounds
from rota.generate.verdicts import Verdict
from rota.generate.verdicts import judged as walked
from rota.mutants.core import core_bugs
from rota.validate.account import Account

LINES = Path("build/recordings.jsonl")

ENOUGH = 3
"""Recordings in which a bug shows, with a seed."""


def hunted(name: str, seed: int) -> dict[str, Any]:
    """What became of a bug with a seed, as a line has it."""
    logging.disable()  # of the server, in which bugs raise
    bug = core_bugs()[name]
    since = time.process_time()
    ground = grounds(seed, profile_for(bug))
    found = [_judged(one, ground) for one in islice(recordings(bug, ground), ENOUGH)]
    if not found:
        ground = grounds(seed, profile_for(bug), transactional=True)
        shown = recordings(bug, ground, WITH_TRANSACTIONS)
        found = [_judged(one, ground) for one in islice(shown, ENOUGH)]
    return {
        "bug": name,
        "seed": seed,
        "transactional": bool(found) and ground.transactional,
        "recordings": found,
        "processor": round(time.process_time() - since, 2),
    }


def _judged(recording: Recording, grounds: Grounds) -> dict[str, Any]:
    told: dict[str, Any] = {
        "plan": recording.plan,
        "shown": str(recording.shown),
        "parted": recording.parted,
    }
    for name, fresh in (("fresh", True), ("middle", False)):
        told[name] = _brief(recording.judged(grounds, fresh))
    if told["fresh"]["verdict"] == "holds":
        told["explained"] = walked(recording.played).verdict is Verdict.PASS
    return told


def _brief(account: Account) -> dict[str, Any]:
    return {
        "verdict": account.verdict,
        "told": account.violations[0].rule if account.found else "",
        "why": account.violations[0].why[:200] if account.found else "",
        "undecided": [cause for _, cause in account.undecided],
    }


def told(line: dict[str, Any]) -> str:
    """A line for people."""
    became = " · ".join(f"{name} {value}" for name, value in vars(of_line(line)).items())
    return f"{became}, {line['processor']} s"


def main() -> None:
    """Look for each, and tell."""
    asked = asked_for(parser(__doc__), LINES)
    look(asked.names, asked.seeds, asked.lines, asked.processes, hunted, told)
    if asked.all:
        write(map(of_line, lines(asked.lines)))


if __name__ == "__main__":
    main()
