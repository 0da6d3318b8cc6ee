"""Whether planted bugs of the coordinator are found in recordings in whose answers they show.

    python tests/harness/recording_hunt.py [--seeds 1,2,3] [--lines FILE] [--processes N] [BUG ...]

plays walks of each seed with each bug in virtual time until it has shown in the answers of enough of them,
and judges what `rota record` would have written of these. It writes a line for each bug and seed to FILE as
it goes: what stands there already is not looked for again. Without a BUG it looks for all that a client can
see, and in the end it writes tests/validate/hunted.toml from all lines.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from harness.bugs_in_recordings import of_line, write
from harness.recorded_walks import Recording, recordings
from harness.seen_bugs import profile_for
from harness.walk_hunt import asked_for, grounds, lines, look, parser
from rota.generate.hunt import Grounds
from rota.generate.player import Played
from rota.generate.verdicts import Verdict
from rota.generate.verdicts import judged as walked
from rota.linearise import Restarted
from rota.mutants.core import core_bugs
from rota.validate.account import Account

LINES = Path("build/recordings.jsonl")

ENOUGH = 3
"""Recordings in which a bug shows, with a seed."""


def hunted(name: str, seed: int) -> dict[str, Any]:
    """What became of a bug with a seed, as a line has it."""
    logging.disable()  # of the server, in which bugs raise
    bug = core_bugs()[name]
    ground = grounds(seed, profile_for(bug))
    since = time.process_time()
    found = [_judged(one, ground) for one in islice(recordings(bug, ground), ENOUGH)]
    processor = round(time.process_time() - since, 2)
    return {"bug": name, "seed": seed, "recordings": found, "processor": processor}


def _judged(recording: Recording, grounds: Grounds) -> dict[str, Any]:
    told: dict[str, Any] = {
        "plan": recording.plan,
        "shown": str(recording.shown),
        "parted": recording.parted,
    }
    for name, fresh in (("fresh", True), ("middle", False)):
        told[name] = _brief(recording.judged(grounds, fresh))
    if told["fresh"]["verdict"] == "holds":
        told["explained"] = _is_explained(recording.played)
    return told


def _is_explained(played: Played) -> bool:
    """Whether it is one that the spec allows to the walks' judge, too, where it knows no more than a
    recording tells: not since when the coordinator has looked for what has expired, nor whether it was
    started anew where all connections ended."""
    events = (
        replace(one, sure=False) if isinstance(one, Restarted) else one for one in played.history.events
    )
    untold = replace(played, history=replace(played.history, started=None, events=tuple(events)))
    return any(walked(one).verdict is Verdict.PASS for one in (played, untold))


def _brief(account: Account) -> dict[str, Any]:
    return {
        "verdict": account.verdict,
        "told": account.violations[0].rule if account.found else "",
        "why": account.violations[0].why[:200] if account.found else "",
        "undecided": [cause for _, cause in account.undecided],
        "late": max(account.late.values(), default=0.0),
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
